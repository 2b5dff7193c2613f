"""Telling shippers how far they are in the store: at most four times a second a run, and always at last."""

from collections.abc import Callable, Iterable

INTERVAL_S = 0.25


class Announcer:
    """Which runs are due to hear of their marks."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._told_at: dict[str, float] = {}
        self._waiting: set[str] = set()

    def note(self, run_ids: Iterable[str]) -> None:
        """These runs were touched by a commit."""
        self._waiting.update(run_ids)

    def take_due(self, last_call: bool = False) -> list[str]:
        """Return the runs whose marks are due, and record them as announced. `last_call`: all that wait."""
        now = self._clock()
        self._forget(now)
        due = [run for run in self._waiting if last_call or run not in self._told_at]
        self._waiting.difference_update(due)
        self._told_at |= dict.fromkeys(due, now)
        return due

    def _forget(self, now: float) -> None:
        over = [run for run, told_at in self._told_at.items() if now - told_at >= INTERVAL_S]
        for run in over:
            del self._told_at[run]
