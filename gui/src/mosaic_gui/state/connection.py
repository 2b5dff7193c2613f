"""The connection to a stack: its state, and how far behind the stack its data is."""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from mosaic_contracts.cursor import Cursor

SHOWN_FROM_S = 2.0
"""The stack reports how far it is once a second, and a moment later the events up to there are here."""
_MOST = 600
"""Moments that are kept; the oldest one decides, so newer ones are left out."""


class LinkState(StrEnum):
    """The live connection."""

    IDLE = "idle"
    """No stack is chosen."""
    CONNECTING = "connecting"
    """Not yet answered, so nothing is shown."""
    LIVE = "live"
    STALE = "stale"
    """It was live and is lost: what is shown is old, and it is tried again."""


@dataclass(frozen=True)
class ConnectionStatus:
    """One moment of it."""

    link: LinkState = LinkState.IDLE
    url: str = ""
    reason: str = ""
    """Why it is not live, in words."""
    retry_in_s: float | None = None
    stack_version: str = ""
    refused: bool = False
    """Trying again is of no use until the user changes something (a wrong token)."""


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
