"""The connection to a stack: its state, and how far behind the stack its data is."""

from collections import deque
from dataclasses import dataclass
from enum import StrEnum

from mosaic_contracts.cursor import Cursor

SHOWN_FROM_S = 2.0
"""Lag from which it is shown: the stack reports its position once a second."""
_MOST = 600
"""Reports that are kept; the oldest one decides, so newer ones are skipped."""


class LinkState(StrEnum):
    """The live connection."""

    IDLE = "idle"
    """No stack is chosen."""
    CONNECTING = "connecting"
    """There was no answer yet, so nothing is shown."""
    LIVE = "live"
    STALE = "stale"
    """The connection was lost: the data shown is old, and the client tries again."""


@dataclass(frozen=True)
class ConnectionStatus:
    """State of the connection at one moment."""

    link: LinkState = LinkState.IDLE
    url: str = ""
    reason: str = ""
    """Why the connection is not live, in words."""
    retry_in_s: float | None = None
    stack_version: str = ""
    refused: bool = False
    """Trying again is of no use until the user changes something (a wrong token)."""


class Lag:
    """Measures how many seconds the client's data is behind the stack.

    It counts whatever delays an event on its way: the gateway, the network, and the queue of this program.
    """

    def __init__(self) -> None:
        self._reports: deque[tuple[float, Cursor]] = deque()

    def report(self, reached: Cursor, now_s: float) -> None:
        """The stack has events up to `reached`."""
        if len(self._reports) < _MOST:
            self._reports.append((now_s, reached))

    def behind_s(self, seen: Cursor, now_s: float) -> float:
        """Seconds since the stack reported events that are not here yet; 0 when there are none."""
        while self._reports and _covers(seen, self._reports[0][1]):
            self._reports.popleft()
        return now_s - self._reports[0][0] if self._reports else 0.0

    def clear(self) -> None:
        """Forget all reports."""
        self._reports.clear()


def _covers(seen: Cursor, reached: Cursor) -> bool:
    return all(seen.get(key, 0) >= seq for key, seq in reached.items())
