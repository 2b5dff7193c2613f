"""What disks hold, what would be removed and why, and what was removed."""

from typing import Any

from pydantic import AwareDatetime, Field

from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.storage import FileKind, StorageProfiles
from mosaic_contracts.storage_words import VolumeLevel


class StorageQuery(UserModel):
    """Which runs a storage report has rows of."""

    run: RunIdField | None = None
    """Only this run."""
    limit: int = Field(default=200, ge=1, le=5000)
    """Number of rows: runs with most bytes first."""


class PruneRequest(UserModel):
    """What to plan or to remove. Without a filter: all that the profiles say."""

    run_ids: list[RunIdField] | None = Field(default=None, max_length=1000)
    """Only files of these runs."""
    kinds: list[FileKind] | None = Field(default=None, max_length=64)
    """Only files of these kinds."""
    limit: int = Field(default=1000, ge=1, le=5000)
    """Number of items in the answer; the others are counted."""
    empty_trash: bool = False
    """Whether files in the trash are deleted now, too."""


class UndoRequest(UserModel):
    """Which removed files are brought back. Without a filter: all that are in the trash."""

    run_ids: list[RunIdField] | None = Field(default=None, max_length=1000)
    items: list[int] | None = Field(default=None, max_length=5000)
    """Numbers of removed files (`TrashItem.id`)."""


class PruneOrder(PeerModel):
    """Plan or remove files."""

    asked: dict[str, Any]
    """A PruneRequest as the user sent it; the scheduler validates it, once."""


class UndoOrder(PeerModel):
    """Bring back removed files."""

    asked: dict[str, Any]
    """An UndoRequest, as `PruneOrder.asked`."""


class PruneItem(PeerModel):
    """A file that goes."""

    run_id: str | None = None
    """None: it belongs to no run."""
    run_name: str = ""
    path: str
    """Relative to the run's folder, of an orphan relative to MOSAIC_HOME; empty for steps."""
    kind: str
    bytes: int
    """For steps an estimate of their compressed bytes in the store."""
    files: int = 1
    steps: int = 0
    """Number of steps that go, an estimate; of files 0."""
    rule: str
    """The rule in words."""
    reason: str
    """Why, in words."""
    profile: str = ""
    rebuildable: bool = False
    """Whether it can be made again from recorded steps."""
    undoable: bool = True
    """Whether it rests in the trash first. Step events do not."""


class KeptCount(PeerModel):
    """Files that a rule would remove and that stay."""

    reason: str
    """A `KeptReason`."""
    text: str
    """The same in words."""
    files: int
    bytes: int


class PrunePlan(PeerModel):
    """What would go now. Nothing is changed."""

    items: list[PruneItem]
    """In the order in which they go, the least valuable first."""
    files: int = 0
    steps: int = 0
    """Steps of episodes that would be removed from the store, an estimate."""
    bytes: int = 0
    """All items, also those beyond the limit."""
    bytes_by_kind: dict[str, int] = Field(default_factory=dict)
    unlisted: int = 0
    """Number of items beyond the limit."""
    kept: list[KeptCount] = Field(default_factory=list)
    trash_bytes: int = 0
    """Bytes in the trash that would be deleted with it."""
    planned_at: AwareDatetime
    took_s: float = 0.0
    notes: list[str] = Field(default_factory=list)
    """What is wrong and what to do, e.g. that the profiles file is not valid."""


class PruneResult(PeerModel):
    """What one step removed. Repeat the request while `left` is not 0."""

    files: int = 0
    steps: int = 0
    """Steps of episodes that were removed from the store, for good."""
    bytes: int = 0
    """Moved to the trash."""
    freed_bytes: int = 0
    """Given back to the disk now: from the trash, and by the store, which gives back whole pages of its file."""
    bytes_by_kind: dict[str, int] = Field(default_factory=dict)
    """What was removed; of steps their compressed bytes."""
    left: int = 0
    """Number of files that the same request would still remove now."""
    kept: list[KeptCount] = Field(default_factory=list)
    undo_until: AwareDatetime | None = None
    """Time until which this can be undone; None: nothing was moved to the trash."""


class UndoResult(PeerModel):
    """What was brought back. Repeat the request while `left` is not 0."""

    files: int = 0
    bytes: int = 0
    left: int = 0
    refused: list[str] = Field(default_factory=list)
    """Files that could not be brought back, with why, in words."""


class TrashItem(PeerModel):
    """A removed file that can be brought back."""

    id: int
    run_id: str | None = None
    run_name: str = ""
    path: str
    kind: str
    bytes: int
    rule: str
    removed_at: AwareDatetime
    expires_at: AwareDatetime


class TrashReport(PeerModel):
    """What is in the trash."""

    files: int = 0
    bytes: int = 0
    items: list[TrashItem] = Field(default_factory=list)
    """The newest ones first, at most as many as the report has rows."""
    next_expiry_at: AwareDatetime | None = None


class StorageVolume(PeerModel):
    """A disk that the stack uses."""

    label: str
    """What lies on it, e.g. `runs, store, broker`."""
    path: str
    free_bytes: int
    total_bytes: int
    level: VolumeLevel = VolumeLevel.OK
    used_bytes: int = 0
    """What this stack has on it, as far as this report counts it."""
    message: str = ""
    """What is wrong and what to do; empty when the level is ok."""


class KindUse(PeerModel):
    """Files of one kind."""

    kind: str
    files: int = 0
    bytes: int = 0
    allowed: int | None = None
    """Number that the run's profile lets it have; None: no limit."""


class NextRemoval(PeerModel):
    """What goes next of a run."""

    path: str
    kind: str
    bytes: int
    at: AwareDatetime | None = None
    """When; None: with the next look."""
    rule: str


class RunStorage(PeerModel):
    """What one run has on disk and in the store."""

    run_id: str
    name: str
    state: str
    worker: str = ""
    algorithm: str = ""
    environment: str = ""
    bytes: int = 0
    """Files in its folder and events in the store."""
    event_bytes: int = 0
    kinds: list[KindUse] = Field(default_factory=list)
    """The largest first."""
    profile: str = ""
    pinned: bool = False
    pinned_files: list[str] = Field(default_factory=list)
    """Files that stay one by one, relative to its folder."""
    archived: bool = False
    kept_because: str = ""
    """Why nothing of it goes now, in words; empty: its profile applies."""
    next_removal: NextRemoval | None = None


class StorageReport(PeerModel):
    """What the stack has on its disks."""

    volumes: list[StorageVolume] = Field(default_factory=list)
    kinds: list[KindUse] = Field(default_factory=list)
    """All runs together, the largest first."""
    runs: list[RunStorage] = Field(default_factory=list)
    """The largest first."""
    run_count: int = 0
    """All runs, also those without a row."""
    run_bytes: int = 0
    trash: TrashReport = Field(default_factory=TrashReport)
    store_bytes: int = 0
    broker_bytes: int = 0
    other_bytes: int = 0
    """Logs, uploads and databases of the stack."""
    planned_files: int = 0
    planned_bytes: int = 0
    """What would go now."""
    planned_steps: int = 0
    """Steps of episodes that would be removed now, an estimate; their bytes are in `planned_bytes`."""
    checked_at: AwareDatetime
    notes: list[str] = Field(default_factory=list)
    """What is wrong and what to do."""


class StorageProfileList(PeerModel):
    """Profiles as they are in force."""

    path: str
    """File of the user's profiles; it need not exist."""
    exists: bool
    problem: str = ""
    """Why the file's newest content is not in force; empty: it is."""
    content: StorageProfiles
