"""How the client stands to its stack."""

from dataclasses import dataclass
from enum import StrEnum


class Link(StrEnum):
    """The live connection."""

    IDLE = "idle"
    """No stack is chosen."""
    CONNECTING = "connecting"
    """Not yet answered, so nothing is shown."""
    LIVE = "live"
    STALE = "stale"
    """It was live and is lost: what is shown is old, and it is tried again."""


@dataclass(frozen=True)
class Connection:
    """One moment of it."""

    link: Link = Link.IDLE
    url: str = ""
    reason: str = ""
    """Why it is not live, in words."""
    retry_in_s: float | None = None
    stack_version: str = ""
    refused: bool = False
    """Trying again is of no use until the user changes something (a wrong token)."""
