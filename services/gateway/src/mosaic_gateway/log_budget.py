"""A bound on log lines that somebody without a token can cause."""

import logging
import time
from collections.abc import Callable

from mosaic_servicekit.logging import get_log

LINES = 20
WINDOW_S = 10.0


class LogBudget:
    """So many lines in each window of time; those beyond it are counted."""

    def __init__(
        self,
        lines: int = LINES,
        window_s: float = WINDOW_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.window_s = window_s
        self._lines = lines
        self._clock = clock
        self._began = clock()
        self._written = 0
        self._dropped = 0

    def take(self) -> int | None:
        """Ask for one line. Return how many were left out before it; None: this one is left out, too."""
        now = self._clock()
        if now - self._began >= self.window_s:
            self._began, self._written = now, 0
        if self._written >= self._lines:
            self._dropped += 1
            return None
        self._written += 1
        dropped, self._dropped = self._dropped, 0
        return dropped


class LibraryLog(logging.Handler):
    """Warnings of libraries (uvicorn, asyncio) as lines of the gateway's log, a bounded number from each place."""

    def __init__(self, window_s: float = WINDOW_S) -> None:
        super().__init__(logging.WARNING)
        self._window_s = window_s
        self._budgets: dict[tuple[str, int], LogBudget] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        place = (record.pathname, record.lineno)
        budget = self._budgets.setdefault(place, LogBudget(window_s=self._window_s))
        dropped = budget.take()
        if dropped is None:
            return
        more = {"not_logged": dropped} if dropped else {}
        get_log().warning(
            "library.warning",
            library=record.name,
            message=record.getMessage(),
            exc_info=record.exc_info or None,
            **more,
        )
