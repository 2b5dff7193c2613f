"""A WebSocket server and an HTTP server in this process, which send the answers that a test sets."""

import json
import ssl
import threading
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgspec
from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtNetwork import QHostAddress, QSslConfiguration
from PyQt6.QtWebSockets import QWebSocket, QWebSocketServer

from mosaic_contracts.live import SUBPROTOCOL_MSGPACK


class LiveStub(QObject):
    """The gateway's `/live`. `asked` holds what clients said, decoded."""

    joined = pyqtSignal()

    def __init__(self, tls: QSslConfiguration | None = None) -> None:
        super().__init__()
        modes = QWebSocketServer.SslMode
        self._scheme = "http" if tls is None else "https"
        mode = modes.NonSecureMode if tls is None else modes.SecureMode
        self._server = QWebSocketServer("stub", mode, self)
        if tls is not None:
            self._server.setSslConfiguration(tls)
        self._server.setSupportedSubprotocols([SUBPROTOCOL_MSGPACK])
        self._server.newConnection.connect(self._on_connection)
        self.says_hello = True
        self.clients: list[QWebSocket] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.port = 0

    def listen(self) -> str:
        """Open the port, the same one again after `close`; the address for HTTP."""
        opened = self._server.listen(QHostAddress(QHostAddress.SpecialAddress.LocalHost), self.port)
        assert opened, self._server.errorString()
        self.port = self._server.serverPort()
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def say(self, frame: dict[str, Any]) -> None:
        """Send a frame to every client."""
        self.say_raw(msgspec.msgpack.encode(frame))

    def say_raw(self, data: bytes) -> None:
        """Send bytes that may be no frame."""
        for client in self.clients:
            client.sendBinaryMessage(data)

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
        request = client.request()
        self.headers.append(
            {
                bytes(name.data()).decode().lower(): bytes(request.rawHeader(name).data()).decode()
                for name in request.rawHeaderList()
            }
        )
        client.binaryMessageReceived.connect(
            lambda data: self.asked.append(msgspec.msgpack.decode(bytes(data)))
        )
        self.clients.append(client)
        if self.says_hello:
            self.say({"op": "hello", "version": "0.1.0"})
        self.joined.emit()


@dataclass
class Answer:
    """One answer of the HTTP stub."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    length: int | None = None
    """Bytes that it promises, where those are not the bytes that come before the line breaks."""


@dataclass
class Asked:
    """One request that it got."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class HttpStub:
    """Answers requests one after another from a list, on a thread of its own."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.answers: deque[Answer] = deque()
        self.asked: list[Asked] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def handle_any(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                data = self.rfile.read(length)
                is_file = self.headers.get("Content-Type") == "application/octet-stream"
                body = data if is_file else json.loads(data) if data else None
                headers = {k.lower(): v for k, v in self.headers.items()}
                stub.asked.append(Asked(self.command, self.path, headers, body))
                answer = stub.answers.popleft()
                is_bytes = isinstance(answer.body, bytes)
                data = answer.body if is_bytes else json.dumps(answer.body).encode()
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                length = len(data) if answer.length is None else answer.length
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self) -> None:
                self.handle_any()

            def do_POST(self) -> None:
                self.handle_any()

            def log_message(self, *_args: object) -> None:
                """Silence: what was asked is kept."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._server.server_port}"
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.01,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
