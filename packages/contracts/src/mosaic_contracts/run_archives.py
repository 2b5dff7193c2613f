"""Archives of runs: what one file says of the runs in it (docs/archive.md)."""

from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, Field, StringConstraints

from mosaic_contracts.archive_words import ARCHIVE_VERSION
from mosaic_contracts.compat import StrEnum
from mosaic_contracts.exported import FileName
from mosaic_contracts.groups import GROUP_ID_PATTERN, GroupSpec
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.store_upkeep import KnownThinning

ARCHIVE_FORMAT: Literal["mosaic.archive"] = "mosaic.archive"


class GitState(PeerModel):
    """State of a git checkout."""

    commit: str
    dirty: bool
    """Whether files differed from the commit."""


class ArchiveHead(PeerModel):
    """First entry of an archive."""

    format: Literal["mosaic.archive"] = ARCHIVE_FORMAT
    version: int = ARCHIVE_VERSION
    created_at: AwareDatetime
    mosaic: str
    """Version of MOSAIC that wrote it."""
    checkout: GitState | None = None
    """The checkout of MOSAIC that wrote it; None: an installed package, or no git there."""
    runs: list[RunIdField] = Field(min_length=1)


class ArchivedGroup(PeerModel):
    """A group of which the archive has runs. An archive of an older version has none."""

    group_id: Annotated[str, StringConstraints(pattern=GROUP_ID_PATTERN)]
    name: Annotated[str, Field(max_length=1000)]
    created_at: AwareDatetime
    spec: GroupSpec
    """What was asked for."""


class ArchivedSource(PeerModel):
    """Events of one source of an attempt."""

    attempt: int = Field(ge=1)
    source: str
    events: int = Field(ge=1)
    last_seq: int = Field(ge=1)


class ArchivedFile(PeerModel):
    """A file of the run that is in the archive."""

    path: str
    """Path in the run's folder."""
    kind: str
    bytes: int = Field(ge=0)
    sha256: str


class LeftOutFile(PeerModel):
    """A file of the run that is not in the archive."""

    path: str
    kind: str
    bytes: int = Field(ge=0)
    reason: str


class ArchivedRun(PeerModel):
    """What an archive has of one run."""

    run_id: RunIdField
    events: int = Field(ge=0)
    sources: list[ArchivedSource]
    files: list[ArchivedFile]
    left_out: list[LeftOutFile] = Field(default_factory=list)
    without: list[str] = Field(default_factory=list)
    """Kinds of files, and forms of events, that were not wanted."""
    worker: str
    worker_version: str | None = None
    worker_lock: str | None = None
    """SHA-256 of the worker's locks of dependencies."""
    image: str | None = None
    """Digest of the image that the run used; None: it ran as processes."""
    thinned: KnownThinning | None = None
    """Steps that were removed from the store before; None: none were, or events are missing for other reasons too."""
    packages: dict[str, str] = Field(default_factory=dict)
    """Versions of packages that affected the run, as it recorded them."""


class ArchiveQuery(UserModel):
    """Query of `POST /archives`, whose body is the archive."""

    file: FileName
    """Name of the file, for messages and notes."""


class ArchiveOrder(PeerModel):
    """Import the runs of an uploaded archive. The gateway has written the file and hashed it."""

    upload: str
    """Name of the file in `UPLOADS_DIR`."""
    sha256: str
    bytes: int
    file: str


class FreeRequest(UserModel):
    """Body of `POST /runs/{id}/free`: remove files and steps of an archived run."""

    file: FileName
    """Name of the archive that has them, for the run's notes."""
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """Digest of the archive."""
    paths: Annotated[
        list[Annotated[str, StringConstraints(max_length=4096)]], Field(max_length=20_000)
    ]
    """Files that the archive has. No others are removed."""


class FreeOrder(PeerModel):
    """Remove files and steps of an archived run."""

    run_id: str
    asked: dict[str, Any]
    """A FreeRequest as the user sent it."""


class FreedRun(PeerModel):
    """What was removed of an archived run."""

    run_id: str
    files: int = 0
    bytes: int = 0
    """Moved to the trash."""
    undo_until: AwareDatetime | None = None
    """Time until which files can be brought back from the trash; None: none were removed."""
    steps: int = 0
    """Step events removed from the store."""
    freed_bytes: int = 0
    """Given back by the store."""
    kept: list[str] = Field(default_factory=list)
    """Why files stay although the archive has them, in words."""


class ImportOutcome(StrEnum):
    """What an import did with one run."""

    IMPORTED = "imported"
    """It was not here."""
    RESTORED = "restored"
    """It was here, without files or events that the archive has."""
    PRESENT = "present"
    """It is here already with all that the archive has; nothing was changed."""


class ImportedRun(PeerModel):
    """What became of one run of an archive."""

    run_id: str
    name: str
    outcome: ImportOutcome
    events: int
    files: int
    left_out: int = 0
    """Number of files that the archive does not have."""


class ArchiveImport(PeerModel):
    """Answer to an imported archive."""

    sha256: str
    """Digest of the archive, as the stack received it."""
    runs: list[ImportedRun]
