"""Work that is done in short turns of the event loop, so that the window never stands still."""

import time
from collections.abc import Iterator

from PyQt6.QtCore import QObject

from mosaic_gui.timers import single_shot_timer

TURN_S = 0.004
"""Time budget of one turn of the event loop."""
_PAUSE_MS = 1
"""Between two turns, so that painting and input are not added to both."""


class WorkInTurns(QObject):
    """One piece of work at a time; another one takes the place of what is left."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._steps: Iterator[bool] | None = None
        self._turn = single_shot_timer(self, self._on_turn)

    @property
    def is_working(self) -> bool:
        """Whether steps are left."""
        return self._steps is not None

    def begin(self, steps: Iterator[bool], *, at_once: bool) -> None:
        """Do the steps of an iterator in place of those that are left.

        Args:
            steps: It yields after each step; True where the next one needs a turn of its own.
            at_once: Do all of it now.
        """
        self._steps = steps
        self._turn.stop()
        if at_once:
            self.finish()
        else:
            self._turn.start(_PAUSE_MS)  # what asked for it has used a part of this turn

    def finish(self) -> None:
        """Do at once what is left."""
        if self._steps is not None:
            for _ in self._steps:
                pass

    def stop(self) -> None:
        """Do nothing more."""
        self._turn.stop()
        self._steps = None

    def end(self) -> None:
        """Note that the last step is being done: what follows it may begin other work."""
        self._steps = None

    def _on_turn(self) -> None:
        if self._steps is None:
            return
        ends = time.perf_counter() + TURN_S
        for needs_turn in self._steps:
            if needs_turn or time.perf_counter() > ends:
                self._turn.start(_PAUSE_MS)
                return
