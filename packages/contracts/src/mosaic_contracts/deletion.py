"""What the deletion of a run frees, and what speaks against it."""

from typing import Literal

from pydantic import Field

from mosaic_contracts.models import PeerModel

EVENTS_KIND = "events"
"""Kind of the bytes that a run has in the telemetry store."""
OUTBOX_KIND = "outbox"
"""Kind of the bytes of a run's private folders: events on their way, sockets, access data."""


class DeletionReport(PeerModel):
    """What the deletion of a run would free, or has freed, and what speaks against it."""

    run_id: str
    state: Literal["kept", "archived", "going", "gone"] = "kept"
    """`archived`: deleted, and can be restored; `going`: being removed; `gone`: `freed_bytes` was measured."""
    freed_bytes: int = 0
    """Bytes that the disk has more after the deletion: blocks of the files in the run's folder, and its events in the
    store, without those of their index."""
    bytes_by_kind: dict[str, int] = Field(default_factory=dict)
    """The same by kind of file, as in a manifest. `events` is what the telemetry store has."""
    against: list[str] = Field(default_factory=list)
    """Why it should stay, in words: other runs need it, or it is pinned. Then a deletion needs `force`."""
    is_store_known: bool = True
    """Whether the recorder answered. Otherwise the bytes of events are missing."""
