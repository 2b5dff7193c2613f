"""Meters inside the desktop client's process: stalls of its event loop, frames, and how late input is painted."""

import random
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PyQt6.QtCore import QCoreApplication, QEvent, QObject, QPoint, QPointF, Qt, QTimer
from PyQt6.QtGui import QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PyQt6.QtWidgets import QWidget

PULSE_MS = 2
FRAME_MS = 16
"""What a frame view aims at: 60 frames a second."""
BETWEEN_INPUTS_S = (0.05, 0.15)


def share(times: list[float], part: float) -> float:
    """The value below which that part of them lies; milliseconds of seconds."""
    return round(1000 * float(np.quantile(times, part)), 1) if times else float("nan")


class Pulse(QObject):
    """A timer that is to fire every 2 ms: what comes between is a stall, by the wall clock and in CPU time."""

    def __init__(self) -> None:
        super().__init__()
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self._last = (time.perf_counter(), time.thread_time())
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._beat)
        self._timer.start(PULSE_MS)

    def begin(self) -> None:
        """Count from now on."""
        self.wall, self.cpu = [], []
        self._last = (time.perf_counter(), time.thread_time())

    def stop(self) -> None:
        self._timer.stop()

    def _beat(self) -> None:
        now = (time.perf_counter(), time.thread_time())
        self.wall.append(now[0] - self._last[0])
        self.cpu.append(now[1] - self._last[1])
        self._last = now

    def figures(self) -> dict[str, float]:
        """Longest stall and how much of the thread was used."""
        return {
            "longest_stall_ms": share(self.wall, 1.0),
            "longest_stall_cpu_ms": share(self.cpu, 1.0),
            "p99_stall_cpu_ms": share(self.cpu, 0.99),
            "thread_cpu_percent": round(100 * sum(self.cpu) / max(sum(self.wall), 1e-9), 1),
        }


class FrameView(QWidget):
    """An environment's picture that changes 60 times a second, over a corner of the window."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.setGeometry(window.width() - 420, window.height() - 340, 400, 300)
        rng = np.random.default_rng(0)
        self._frames = [
            rng.integers(0, 255, (300, 400, 3), dtype=np.uint8).tobytes() for _ in range(8)
        ]
        self.painted: list[float] = []
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self.update)
        self._timer.start(FRAME_MS)
        self.raise_()
        self.show()

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        """Draw the next picture."""
        data = self._frames[len(self.painted) % len(self._frames)]
        painter = QPainter(self)
        painter.drawImage(0, 0, QImage(data, 400, 300, 1200, QImage.Format.Format_RGB888))
        painter.end()
        self.painted.append(time.perf_counter())

    def figures(self) -> dict[str, float]:
        """Frames a second, and the longest a picture stood still."""
        gaps = np.diff(self.painted).tolist()
        span = self.painted[-1] - self.painted[0]
        return {
            "frames_per_s": round(len(gaps) / span, 1),
            "frame_gap_p99_ms": share(gaps, 0.99),
            "frame_gap_longest_ms": share(gaps, 1.0),
        }


class InputProbe(QObject):
    """Mouse moves over a widget or keys into it, from a thread of their own at random moments, until painted."""

    def __init__(self, target: QWidget, make: Callable[[int], QEvent]) -> None:
        super().__init__()
        self.lags: list[float] = []
        self._target, self._make = target, make
        self._sent_at: float | None = None
        self._painted = QTimer(self)
        self._painted.setSingleShot(True)
        self._painted.timeout.connect(self._on_painted)
        self._ends = threading.Event()
        make(0)  # the first one makes what Qt keeps of input devices, which belongs to this thread
        target.installEventFilter(self)
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ends.set()
        self._thread.join()
        self._target.removeEventFilter(self)

    def eventFilter(self, _target: QObject | None, event: QEvent | None) -> bool:
        """The widget is about to be painted: it is done with the next turn of the loop."""
        if (
            event is not None
            and event.type() == QEvent.Type.Paint
            and self._sent_at is not None
            and self._taken
        ):
            self._painted.start(0)
        elif event is not None and event.type() in (QEvent.Type.MouseMove, QEvent.Type.KeyPress):
            self._taken = True
        return False

    def _send(self) -> None:
        rng, n = random.Random(1), 0
        while not self._ends.wait(rng.uniform(*BETWEEN_INPUTS_S)):
            if self._sent_at is None:
                n += 1
                event = self._make(n)
                self._taken = False
                self._sent_at = time.perf_counter()
                QCoreApplication.postEvent(self._target, event)

    def _on_painted(self) -> None:
        if self._sent_at is not None:
            self.lags.append(time.perf_counter() - self._sent_at)
            self._sent_at = None


def mouse_over(widget: QWidget) -> Callable[[int], QEvent]:
    """Moves from left to right over a widget."""
    width, height = widget.width(), widget.height()

    def move(n: int) -> QEvent:
        place = QPoint(int(0.15 * width + 7 * n % max(1, int(0.7 * width))), height // 2)
        none = Qt.KeyboardModifier.NoModifier
        button = Qt.MouseButton.NoButton
        at = QPointF(place)
        return QMouseEvent(
            QEvent.Type.MouseMove, at, QPointF(widget.mapToGlobal(place)), button, button, none
        )

    return move


def key_into(_widget: QWidget) -> Callable[[int], QEvent]:
    """A letter and its removal in turns."""

    def press(n: int) -> QEvent:
        none = Qt.KeyboardModifier.NoModifier
        if n % 2:
            return QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_A, none, "a")
        return QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Backspace, none)

    return press


def allocated_mib() -> float:
    """Memory that this process has allocated: its anonymous pages, in MiB.

    Pages of libraries are not counted: they become private and shared again as other processes come and go.
    """
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    (anonymous,) = (line for line in lines if line.startswith("Anonymous:"))
    return int(anonymous.split()[1]) / 1024
