"""How far behind the stack the data of a run is, by this program's own clock."""

from collections import deque

from mosaic_contracts.cursor import Cursor

SHOWN_FROM_S = 2.0
"""The stack reports how far it is once a second, and a moment later the events up to there are here."""
_MOST = 600
"""Moments that are kept; the oldest one decides, so newer ones are left out."""


class Lag:
    """Remembers when the stack was known to have how much, until as much is here.

    It counts whatever delays an event on its way: the gateway, the network, and the queue of this program.
    """

    def __init__(self) -> None:
        self._reports: deque[tuple[float, Cursor]] = deque()

    def report(self, reached: Cursor, now_s: float) -> None:
        """The stack has events up to `reached`."""
        if len(self._reports) < _MOST:
            self._reports.append((now_s, reached))

    def behind_s(self, seen: Cursor, now_s: float) -> float:
        """Seconds since the stack had what is not here yet; 0 when all of it is."""
        while self._reports and _covers(seen, self._reports[0][1]):
            self._reports.popleft()
        return now_s - self._reports[0][0] if self._reports else 0.0

    def clear(self) -> None:
        """Everything is here, or nothing is waited for any more."""
        self._reports.clear()


def _covers(seen: Cursor, reached: Cursor) -> bool:
    return all(seen.get(key, 0) >= seq for key, seq in reached.items())
