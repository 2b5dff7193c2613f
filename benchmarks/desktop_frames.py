"""How late the window paints a live frame: from the time in the frame to the end of its painting.

A process of its own sends frames at 30 a second through a WebSocket, as the gateway does; the window's own stream,
decoder, view model and stage show them, offscreen. Each kind of frame is sent for `--seconds`. In the middle the window
stands still for a second: frames of that second are skipped, and the next one is as new as before.

    var/venvs/gui/bin/python benchmarks/desktop_frames.py
"""

import argparse
import json
import os
import subprocess
import sys
import time
from itertools import count
from statistics import median, quantiles

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import numpy as np
import zstandard
from PyQt6.QtCore import QBuffer, QIODevice, QObject, QTimer
from PyQt6.QtGui import QImage
from PyQt6.QtNetwork import QHostAddress
from PyQt6.QtWebSockets import QWebSocketServer
from PyQt6.QtWidgets import QApplication, QMainWindow

from mosaic_contracts.frames import SUBPROTOCOL, EnvironmentFrame, WatchFrames, encode_frame
from mosaic_gui.net.frames_link import FramesLink
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.pictures import PictureDecoder
from mosaic_gui.state.store import Store
from mosaic_gui.theme.apply import apply_theme, load_fonts
from mosaic_gui.theme.tokens import DARK
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.stage import StageView

RUN = "01M8GP00000000000000000000"
FPS = 30
PAUSE_S = 1.0
SIZES = {"flat 600x400": (600, 400), "game 160x210": (160, 210), "texture 640x360": (640, 360)}


def encoded(kind: str) -> dict[str, object]:
    """Fields of a frame of this kind, encoded as a worker does."""
    width, height = SIZES[kind]
    rng = np.random.default_rng(1)
    if kind.startswith("texture"):
        coarse = rng.integers(0, 255, (height // 8 + 1, width // 8 + 1, 3), np.uint8)
        pixels = np.repeat(np.repeat(coarse, 8, 0), 8, 1)[:height, :width]
        image = QImage(pixels.tobytes(), width, height, width * 3, QImage.Format.Format_RGB888)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        image.save(buffer, "JPG", 85)
        return {"encoding": "jpeg", "width": width, "height": height, "data": bytes(buffer.data())}
    pixels = np.full((height, width, 3), 230, np.uint8)
    for n in range(40):
        top, left = (n * 37) % height, (n * 91) % width
        pixels[top : top + 20, left : left + 30] = rng.integers(0, 255, 3)
    data = zstandard.ZstdCompressor(level=1).compress(pixels.tobytes())
    return {"encoding": "zstd", "width": width, "height": height, "data": data}


def send(kind: str) -> None:
    """Send frames to the client that comes; runs in a process of its own."""
    app = QApplication(sys.argv[:1])
    server = QWebSocketServer("frames", QWebSocketServer.SslMode.NonSecureMode)
    server.setSupportedSubprotocols([SUBPROTOCOL])
    server.listen(QHostAddress(QHostAddress.SpecialAddress.LocalHost))
    fields, numbers, sockets = encoded(kind), count(1), []

    def tick() -> None:
        for socket in sockets:
            number = next(numbers)
            frame = EnvironmentFrame(
                RUN, 0, number, episode=0, step=number, t_us=time.time_ns() // 1000, **fields
            )
            socket.sendBinaryMessage(encode_frame(frame))

    server.newConnection.connect(lambda: sockets.append(server.nextPendingConnection()))
    timer = QTimer()
    timer.timeout.connect(tick)
    timer.start(1000 // FPS)
    print(server.serverPort(), flush=True)
    app.exec()


def show(kind: str, seconds: float) -> dict[str, object]:
    """Show frames of this kind, and return what it took."""
    command = [sys.executable, __file__, "--send", kind]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sender:
        port = int(sender.stdout.readline())  # type: ignore[union-attr]  # a pipe
        try:
            return _watch(f"http://127.0.0.1:{port}", kind, seconds)
        finally:
            sender.kill()


def _watch(url: str, kind: str, seconds: float) -> dict[str, object]:
    parent, store = QObject(), Store()
    watch = WatchModel(store, parent)
    watch.run_id = RUN
    stage, decoder = StageModel(store, watch, parent), PictureDecoder(parent)
    view = StageView(stage)
    window = QMainWindow()
    window.setCentralWidget(view)
    window.resize(480, 420)
    window.show()
    link = FramesLink(StackLocation(url, "none"), parent)
    link.received.connect(decoder.take)
    decoder.decoded.connect(stage.take_frame)
    delays: list[float] = []
    shown = [0]

    def painted() -> None:
        if stage.frame is not None and stage.frame.number != shown[0]:
            shown[0] = stage.frame.number
            delays.append(time.time() * 1e3 - stage.frame.t_us / 1e3)

    view.canvas.painted.connect(painted)
    link.watch(WatchFrames(run_id=RUN))
    _run(2.0)
    delays.clear()
    cpu, began = time.process_time(), time.monotonic()
    _run(seconds / 2)
    time.sleep(PAUSE_S)
    skipped = link.skipped
    _run(seconds / 2)
    wall = time.monotonic() - began
    found = {
        "frames": kind,
        "painted_per_s": round(len(delays) / (wall - PAUSE_S), 1),
        "delay_ms_p50": round(median(delays), 1),
        "delay_ms_p95": round(quantiles(delays, n=20)[18], 1),
        "skipped_in_pause": link.skipped - skipped,
        "cpu_percent": round(100 * (time.process_time() - cpu) / wall),
    }
    link.stop()
    decoder.stop()
    window.close()
    return found


def _run(seconds: float) -> None:
    QTimer.singleShot(round(seconds * 1000), QApplication.exit)  # quit would close the window
    QApplication.exec()


def main() -> None:
    """Run the benchmark, or its sender."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--send", choices=SIZES)
    given = parser.parse_args()
    if given.send:
        send(given.send)
        return
    app = QApplication(sys.argv[:1])
    load_fonts()
    apply_theme(app, DARK)
    for kind in SIZES:
        print(json.dumps(show(kind, given.seconds)), flush=True)


if __name__ == "__main__":
    main()
