"""Upkeep of the telemetry store: thinning of steps, the room that runs take, checkpoints of the write-ahead log."""

from datetime import datetime
from typing import Annotated

from pydantic import Field

from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel
from mosaic_contracts.wire import INTEGER_LIMIT

RULE_LENGTH = 200
"""Maximum number of characters of the rule that a thinning names."""


class ThinRequest(PeerModel):
    """Asks the recorder to remove steps of an ended run from the store, for ever.

    The steps of every ended episode go, except those of every n-th episode. Episodes, metrics, configs, checkpoints,
    evaluations and all other events stay. The recorder does not know whether the run lives: the scheduler asks only
    for runs that have ended and whose events are all stored.
    """

    run_id: RunIdField
    every: Annotated[int, Field(ge=0, lt=2**31)]
    """Steps stay of the episodes whose number is a multiple of this: 1 keeps all, 0 keeps none."""
    rule: Annotated[str, Field(min_length=1, max_length=RULE_LENGTH)]
    """What asked for it, in words that follow `thinned by`, e.g. `storage profile small (steps of every 10th episode)`.
    Users read it where the steps are missing."""
    within_s: Annotated[float, Field(gt=0, le=20)] = 2.0
    """Seconds after which the recorder answers although more is left: ask again to go on."""


class ThinResult(PeerModel):
    """What one request removed. The job goes on where it was with the next request, also after a kill."""

    run_id: str
    removed_steps: int = 0
    removed_bytes: int = 0
    """Compressed bytes of the removed steps; `RunSpace.estimate_freed` estimates these."""
    freed_bytes: int = 0
    """Bytes of pages that were freed in the store's file. They go back to the disk in steps too, before `done`."""
    kept_steps: int = 0
    """Steps of the run that are stored now."""
    done: bool = False


class KnownThinning(PeerModel):
    """Steps of a run that another stack removed from its store before the run was archived."""

    steps: Annotated[int, Field(ge=1, lt=INTEGER_LIMIT)]
    """How many."""
    rule: Annotated[str, Field(min_length=1, max_length=RULE_LENGTH)]
    """What asked for it, as `ThinRequest.rule`."""


class KnownThinningRequest(PeerModel):
    """Asks the recorder to count the missing events of an imported run as thinned steps.

    All events that the archive has are stored. Nothing changes unless exactly so many events are missing.
    """

    run_id: RunIdField
    thinning: KnownThinning


class KnownThinningResult(PeerModel):
    """Whether the missing events of a run are counted as thinned steps now."""

    run_id: str
    noted: bool


class RunSpace(PeerModel):
    """Room that a run takes in the store."""

    run_id: str
    bytes: int
    """Compressed bytes of its events."""
    events: int
    """Events that are stored now."""
    steps: int
    """Steps that are stored now."""
    thinned_steps: int = 0
    """Steps that were removed by thinning."""
    thinned_every: int | None = None
    """`ThinRequest.every` of the newest thinning; None: never thinned."""
    thinned_by: str = ""
    """`ThinRequest.rule` of the newest thinning."""
    is_thinning: bool = False
    """Whether the newest thinning has not removed all that it shall."""

    def estimate_freed(self, every: int) -> int:
        """Estimate the compressed bytes that a thinning would remove. The file gives back whole pages: fewer.

        Args:
            every: as `ThinRequest.every`.

        Returns:
            Bytes, as if all events were of one size and all episodes of one length; 0 where nothing is left to thin.
        """
        known = self.thinned_every
        if known is not None and not self.is_thinning:
            is_covered = known == 0 or (every > 0 and known % every == 0)
            if is_covered:
                return 0
        share = self.steps / self.events if self.events else 0.0
        kept = 1 / every if every else 0.0
        return int(self.bytes * share * (1 - kept))


class WalCheckpoint(PeerModel):
    """A checkpoint of the store's write-ahead log, as SQLite reports it."""

    at: datetime
    busy: bool
    """Whether a reader held it back."""
    frames: int
    """Pages in the log."""
    done: int
    """Pages of the log that are in the store's file."""


class StoreSpace(PeerModel):
    """Size of the store's file."""

    file_bytes: int
    free_bytes: int
    """Bytes in the file that hold nothing; new events use them, and the recorder gives them back in steps."""
    wal_bytes: int
    """Size of the write-ahead log next to the file."""
    can_shrink: bool = True
    """False: the file was made without incremental vacuum, and `python -m mosaic_store.compact` would change that."""
    checkpoint: WalCheckpoint | None = None
    """The newest one since the recorder started."""


class RunSpaces(PeerModel):
    """Room that every run takes in the store, and the size of its file."""

    store: StoreSpace
    runs: list[RunSpace]
