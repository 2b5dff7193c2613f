"""The gateway's `/frames` in this process, which sends the frames that a test makes."""

import json
import time
from typing import Any

import zstandard
from PyQt6.QtCore import QBuffer, QIODevice, QObject, pyqtSignal
from PyQt6.QtGui import QColor, QImage
from PyQt6.QtNetwork import QHostAddress
from PyQt6.QtWebSockets import QWebSocket, QWebSocketServer

from mosaic_contracts.frames import SUBPROTOCOL, EnvironmentFrame, encode_frame


class FramesStub(QObject):
    """`asked` holds what clients said."""

    joined = pyqtSignal()

    def __init__(self) -> None:
        super().__init__()
        self._server = QWebSocketServer("stub", QWebSocketServer.SslMode.NonSecureMode, self)
        self._server.setSupportedSubprotocols([SUBPROTOCOL])
        self._server.newConnection.connect(self._on_connection)
        self.clients: list[QWebSocket] = []
        self.asked: list[dict[str, Any]] = []
        self.lost = 0
        self.port = 0

    def listen(self) -> str:
        """Open the port, the same one again after `close`; the address for HTTP."""
        opened = self._server.listen(QHostAddress(QHostAddress.SpecialAddress.LocalHost), self.port)
        assert opened, self._server.errorString()
        self.port = self._server.serverPort()
        return f"http://127.0.0.1:{self.port}"

    def send(self, *frames: EnvironmentFrame) -> None:
        """Send frames to every client."""
        for frame in frames:
            self.send_raw(encode_frame(frame))

    def send_raw(self, data: bytes) -> None:
        """Send bytes that may be no frame."""
        for client in self.clients:
            client.sendBinaryMessage(data)

    def say(self, **words: Any) -> None:
        """Send a text message."""
        for client in self.clients:
            client.sendTextMessage(json.dumps(words))

    def drop(self) -> None:
        """Break every connection without a word."""
        for client in self.clients:
            client.blockSignals(True)
            client.abort()
            client.deleteLater()
        self.clients.clear()

    def close(self) -> None:
        """Nobody listens any more."""
        self.drop()
        self._server.close()

    def _on_connection(self) -> None:
        client = self._server.nextPendingConnection()
        assert client is not None
        client.textMessageReceived.connect(lambda text: self.asked.append(json.loads(text)))
        client.disconnected.connect(lambda: self._on_lost(client))
        self.clients.append(client)
        self.joined.emit()

    def _on_lost(self, client: QWebSocket) -> None:
        self.lost += 1
        if client in self.clients:
            self.clients.remove(client)
        client.deleteLater()


def frame(run_id: str, number: int = 1, **fields: Any) -> EnvironmentFrame:
    """A frame without a picture."""
    known: dict[str, Any] = {"env": 0, "episode": 3, "step": number, "action": 1, "reward": 1.0}
    known |= {"t_us": time.time_ns() // 1000, "episode_return": float(number)}
    return EnvironmentFrame(run_id=run_id, number=number, **(known | fields))


def raw(width: int, height: int, channels: int = 3, value: int = 0) -> dict[str, Any]:
    """Fields of a frame of one colour, as compressed raw bytes."""
    data = zstandard.ZstdCompressor(level=1).compress(bytes([value]) * (width * height * channels))
    return {
        "encoding": "zstd",
        "width": width,
        "height": height,
        "channels": channels,
        "data": data,
    }


def jpeg(width: int, height: int, colour: str = "#ff0000") -> dict[str, Any]:
    """Fields of a frame of one colour, as JPEG."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    return {"encoding": "jpeg", "width": width, "height": height, "data": jpeg_bytes(image)}


def jpeg_bytes(image: QImage) -> bytes:
    """A picture as JPEG."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert image.save(buffer, "JPG", 85)
    return bytes(buffer.data().data())
