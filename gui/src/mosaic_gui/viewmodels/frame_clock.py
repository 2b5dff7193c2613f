"""Two clocks for everything that is drawn: changes are gathered and sent at most 20 times a second; and what is costly
to draw is drawn one after the other, with time for the user in between."""

import time
from collections.abc import Callable, Iterator
from typing import Final

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state.store import NOTHING, Changes
from mosaic_gui.timers import single_shot_timer

TICK_MS = 50
LEAST_REST_MS: Final = 10
REST_SHARE: Final = 3.0
"""Pause after a drawing as a multiple of its time, so that charts use a quarter of the thread."""
LONGEST_REST_MS: Final = 250
SLICE_S: Final = 0.003
"""Time for the steps of a drawing in one turn; the last step ends later."""


class FrameClock(QObject):
    """Gathers changes; the first of a burst is emitted with the next turn of the event loop."""

    ticked = pyqtSignal(object)
    """Changes since the last tick."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting = NOTHING
        self._rest = single_shot_timer(self, self._on_rested)

    def note(self, changes: Changes) -> None:
        """Take changes for the next tick."""
        if not changes:
            return
        self._waiting = self._waiting | changes
        if not self._rest.isActive():
            self._rest.start(0)

    def stop(self) -> None:
        """Emit nothing more."""
        self._rest.stop()
        self._waiting = NOTHING

    def _on_rested(self) -> None:
        if not self._waiting:
            return
        changes, self._waiting = self._waiting, NOTHING
        # what comes while the views draw is part of the next frame
        self._rest.start(TICK_MS)
        self.ticked.emit(changes)


class DrawQueue(QObject):
    """Draws one thing a turn. What is asked for again while it waits is drawn once; what is slow waits longer."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: dict[object, Callable[[], Iterator[None] | None]] = {}
        self._steps: Iterator[None] | None = None
        """Steps of the drawing that was begun."""
        self._began = 0.0
        self._rested_at = 0.0
        """When the pause after the last drawing ends."""
        self._turn = single_shot_timer(self, self._draw)
        self._painted = single_shot_timer(self, self._on_painted)

    def ask(self, key: object, draw: Callable[[], Iterator[None] | None]) -> None:
        """Draw this when its turn comes. What returns steps is drawn in several turns, each of a few milliseconds."""
        self._waiting.setdefault(key, draw)
        if not self._turn.isActive() and not self._painted.isActive():
            self._turn.start(max(0, round(1000 * (self._rested_at - time.perf_counter()))))

    @property
    def is_busy(self) -> bool:
        """Whether something waits to be drawn, or is drawn in steps."""
        return bool(self._waiting) or self._steps is not None

    def stop(self) -> None:
        """Draw nothing more."""
        self._turn.stop()
        self._painted.stop()
        self._waiting.clear()
        self._steps = None

    def _draw(self) -> None:
        if self._steps is None and not self._waiting:
            return
        self._began = time.perf_counter()
        if self._steps is None:
            self._steps = self._waiting.pop(next(iter(self._waiting)))()
        if self._steps is not None:
            for _ in self._steps:
                if time.perf_counter() - self._began >= SLICE_S:
                    break
            else:
                self._steps = None
        # the window paints before the loop's next turn: that is part of what it costs
        self._painted.start(0)

    def _on_painted(self) -> None:
        took_ms = 1000 * (time.perf_counter() - self._began)
        if self._steps is not None:  # what the user waits for takes half of the thread
            self._turn.start(round(min(took_ms, LONGEST_REST_MS)))
            return
        rest_ms = min(max(LEAST_REST_MS, REST_SHARE * took_ms), LONGEST_REST_MS)
        # what is asked for next waits for the end of the pause; with nothing to draw no timer runs
        self._rested_at = time.perf_counter() + rest_ms / 1000
        if self._waiting:
            self._turn.start(round(rest_ms))
