"""Requests to the recorder and its answers. `services` has these models, too."""

from mosaic_contracts.models import PeerModel
from mosaic_contracts.store_upkeep import StoreSpace


class NoRequest(PeerModel):
    """Payload of a verb that takes no arguments."""


class RunRequest(PeerModel):
    """Names the run that a verb is about."""

    run_id: str


class StoredRequest(PeerModel):
    """Asks the recorder to answer when a message of the stream is in the store, or after a moment."""

    stream_seq: int


class StoredAnswer(PeerModel):
    """How far the recorder is."""

    cursor: int
    """Stream sequence of the last message in the store."""


class Pruned(PeerModel):
    """Result of a deletion from the store; the request may be repeated after a time-out."""

    run_id: str
    freed_bytes: int


class RecorderStatus(PeerModel):
    """State of the recorder."""

    version: str
    cursor: int
    """Stream sequence of the last message in the store."""
    stream_last: int
    lag: int
    """Messages in the stream that are not in the store yet."""
    accepting: bool
    """Whether the recorder stores messages. False: the disk is low or the store fails; see `reason`."""
    reason: str | None = None
    quarantined: int = 0
    disk_free_bytes: int = 0
    healed: int = 0
    """Number of times since the start that a deleted or older stream was noticed and repaired."""
    store: StoreSpace | None = None
    """Size of the store; None: there is none yet, or an older recorder."""
