"""The manifest of a run: every file that it has or had, and what belongs to it and is no file (ADR 0027)."""

from pydantic import Field

from mosaic_contracts.clips import CLIP_KIND, CLIPS_DIR, parse_clip_name
from mosaic_contracts.launch import INPUTS_DIR, MANIFEST_FILE, OUTBOX_DIR, SPEC_FILE
from mosaic_contracts.manifest_words import FileState, FileType, LinkKind
from mosaic_contracts.models import PeerModel
from mosaic_contracts.tracking import TrackedRun

CONTROL_DIR = "control"
PRIVATE_DIRS = frozenset({CONTROL_DIR, OUTBOX_DIR})
"""Folders of a run that are in no manifest and that nobody downloads: credentials, sockets, events on their way."""

MAX_LISTED = 10_000
"""Maximum number of files in a report, and of files in a manifest that the run did not announce; others are counted."""
OTHER = "other"
_KINDS = {
    "logs": "log",
    "tensorboard": "tensorboard",
    "wandb": "wandb",
    "study": "study",
    INPUTS_DIR: "input",
}
"""Kind of what lies below a folder of this name."""
_RECORDS = frozenset({SPEC_FILE, MANIFEST_FILE})


class ReportedFile(PeerModel):
    """A file that a run's folder has after its end."""

    path: str
    """Relative to the run folder; bytes that are no UTF-8 are written as `\\xNN`."""
    kind: str
    bytes: int = Field(ge=0)
    mtime_us: int
    """Time of its last change, microseconds since the epoch."""
    sha256: str | None = None
    """None: not hashed yet, it changed meanwhile, or it is no regular file."""
    type: FileType = FileType.FILE
    name_hex: str | None = None
    """The path as the disk has it, in hexadecimal digits; None: `path` is it."""


class FileReport(PeerModel):
    """What a run's folder has after its end."""

    files: list[ReportedFile]
    unhashed: int = 0
    """Number of regular files whose digests follow in another report."""
    unlisted_files: int = 0
    unlisted_bytes: int = 0
    """Number and size of files beyond the limits of a report."""


class ManifestEntry(PeerModel):
    """A file or folder of a run."""

    path: str
    """Relative to the run folder; bytes that are no UTF-8 are written as `\\xNN`."""
    kind: str
    """`checkpoint`, `video`, `tensorboard`, `wandb`, `study`, `log`, ..., or `other`."""
    type: FileType = FileType.FILE
    bytes: int
    """Size; of a folder, of all regular files in it; of a file that is gone, its last known size."""
    sha256: str | None = None
    """None: it is a folder or no regular file, or was not hashed yet."""
    created: float | None = None
    """When it was announced, else its last change, seconds since the epoch."""
    step: int | None = None
    """Environment steps of the run when it was announced."""
    env: int | None = None
    """Sub-environment that a video shows."""
    episode: int | None = None
    """Episode that a video shows."""
    reason: str | None = None
    """Why a checkpoint was saved, or why a file was deleted."""
    state: FileState = FileState.PRESENT
    announced: bool = False
    """Whether the run announced it. Otherwise it was found in the folder."""
    name_hex: str | None = None
    """The path as the disk has it, in hexadecimal digits; None: `path` is it. Such a file cannot be downloaded."""


class ManifestLink(PeerModel):
    """Something that belongs to a run and is no file of it."""

    kind: LinkKind
    run_id: str | None = None
    """The run that serves the dashboard, or whose sweep it is."""
    path: str | None = None
    """Path of the study's file in the folder of `run_id`."""
    tracked: TrackedRun | None = None
    """Id and address at the tracker."""


class KindTotal(PeerModel):
    """All files of one kind."""

    kind: str
    files: int
    bytes: int
    gone: int = 0
    """Number of files that were deleted or are missing."""


class RunManifest(PeerModel):
    """All that a run has."""

    run_id: str
    entries: list[ManifestEntry]
    """Announced files in the order of their announcements, then the others by path."""
    links: list[ManifestLink] = Field(default_factory=list)
    totals: list[KindTotal] = Field(default_factory=list)
    """By kind, the largest first. Folders count by their files."""
    reported_at: float | None = None
    """When the folder was looked at after the run's end, seconds since the epoch; None: not yet."""
    unlisted_files: int = 0
    unlisted_bytes: int = 0
    """Number and size of files beyond the limits of a manifest."""


def kind_of(path: str) -> str:
    """Return the kind of a file that the run did not announce.

    Args:
        path: relative to the run folder.
    """
    first, _, rest = path.partition("/")
    if not rest:
        return "record" if path in _RECORDS else _kind_by_name(path)
    if first == CLIPS_DIR and parse_clip_name(rest) is not None:
        return CLIP_KIND
    return _KINDS.get(first) or _kind_by_name(path)


def _kind_by_name(path: str) -> str:
    name = path.rpartition("/")[2]
    if name.startswith(".") and name.endswith(".draft"):
        return "draft"
    return "tensorboard" if ".tfevents." in name else OTHER
