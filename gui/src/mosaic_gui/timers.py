"""Makes timers as children of the object whose method they call."""

from collections.abc import Callable

from PyQt6.QtCore import QObject, QTimer


def interval_timer(parent: QObject, interval_ms: int, act: Callable[[], object]) -> QTimer:
    """A stopped timer that calls `act` at each interval once it is started."""
    timer = QTimer(parent)
    timer.setInterval(interval_ms)
    timer.timeout.connect(act)
    return timer


def single_shot_timer(parent: QObject, act: Callable[[], object], interval_ms: int = 0) -> QTimer:
    """A stopped timer that calls `act` once for each start."""
    timer = interval_timer(parent, interval_ms, act)
    timer.setSingleShot(True)
    return timer


def run_while(timer: QTimer, wanted: bool) -> None:
    """Start a timer that is wanted and stands still; stop one that is not wanted."""
    if wanted and not timer.isActive():
        timer.start()
    elif not wanted:
        timer.stop()
