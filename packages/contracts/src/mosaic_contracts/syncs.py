"""Sending an ended run to W&B later, by a run of kind `sync`."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.preflight import PreflightLine
from mosaic_contracts.runs import RunView
from mosaic_contracts.sync_source import WANDB_NAME_PATTERN, SyncWay
from mosaic_contracts.tracking import TrackedRun, TrackedUpload, is_proxy, without_userinfo

WANDB_DIR = "wandb"
"""Folder in a run's folder in which wandb keeps its own folders, one for each W&B run."""
WANDB_NOT_SENT = frozenset({"logs", "tmp"})
"""Folders of a W&B folder that `wandb sync` does not read."""
SYNC_SOCKET = "control/sync.sock"
"""Unix socket in the folder of a sync, on which it takes what the gateway sends."""
FEED_PATH = "/mosaic/feed"
"""Path on the socket: GET answers a `FeedState`, POST takes a `FeedPage`."""
FEED_FILE_PATH = "/mosaic/files"
"""Path on the socket: PUT takes a file's bytes, whose path in the run's folder is the query `path`."""
SYNC_RESULT_FILE = "control/tracked.json"
"""File in the folder of a sync that succeeded: the `TrackedRun`, which the scheduler records as an event of the run
that was sent."""
MAX_SYNCS = 2
"""Syncs that run at once. Others wait."""
SYNC_WALL_TIME_S = 21_600.0
"""Time limit of a sync in seconds."""
MAX_FEED_PAGE_BYTES = 16 * 2**20
"""Maximum size of one `FeedPage`."""


def _plain_address(value: str) -> str:
    """Refuse what is no address, or has a name and password; it is not quoted."""
    if value and (not is_proxy(value) or without_userinfo(value) != value):
        raise ValueError("must be http(s)://HOST[:PORT] without a name and password")
    return value


PlainAddress = Annotated[str, StringConstraints(max_length=300), AfterValidator(_plain_address)]
"""Address without a name and password; empty: none is named."""
WandbName = Annotated[str, StringConstraints(pattern=WANDB_NAME_PATTERN)]


class SyncRequest(UserModel):
    """Body of `POST /runs/{id}/syncs`: send this run to W&B."""

    project: WandbName | None = None
    """Project at W&B; None: that of the run's own W&B folder, else `mosaic`."""
    entity: WandbName | None = None
    """User or team at W&B; None: that of the run's own W&B folder, else the default of the key."""
    group: Annotated[str, StringConstraints(min_length=1, max_length=128)] | None = None
    """Group at W&B of a run that did not use W&B itself; None: no group."""
    checkpoints: bool = True
    """Whether checkpoints of a run that did not use W&B itself are sent, as artifacts."""
    videos: bool = True
    """Whether videos of a run that did not use W&B itself are sent."""
    address: PlainAddress | None = None
    """Address of the W&B server; None: that of the run's parameters, else the stack's."""
    http_proxy: PlainAddress = ""
    """Empty: the stack's."""
    https_proxy: PlainAddress = ""
    again: bool = False
    """Whether to send a run that is at W&B already."""
    consent: Annotated[str, StringConstraints(max_length=100)] | None = None
    """Digest of the plan (`SyncPlan.digest`) that the user agrees to."""

    @field_validator("consent", "address")
    @classmethod
    def _empty_is_none(cls, value: str | None) -> str | None:
        return value or None


class SyncPlan(PeerModel):
    """What a sync would send, and where to. Nothing is sent before the user agrees."""

    run_id: str
    way: SyncWay
    address: str
    """Address of the W&B server."""
    project: str | None
    """None: as the run's own W&B folder says."""
    entity: str | None
    files: int
    """Number of files: those of the run's own W&B folders, or its checkpoints and videos."""
    file_bytes: int
    lines: list[PreflightLine] = Field(default_factory=list)
    """What was checked: the key, and whether W&B answers."""
    needs: list[str] = Field(default_factory=list)
    """What the user agrees to with `digest`."""
    digest: str = ""


class SyncStatus(PeerModel):
    """What of a run is at W&B."""

    tracked: TrackedRun | None = None
    """What the run reported, or its newest sync; None: nothing of it is at W&B."""
    upload: TrackedUpload | None = None
    """What has become of its upload; None: unknown."""
    syncs: list[RunView] = Field(default_factory=list)
    """Syncs of the run, newest first. One that has ended is kept for an hour."""


class FeedState(PeerModel):
    """How far a sync has what it needs of the run."""

    cursor: str = ""
    """Cursor of the next page of events; "": the beginning."""
    files: dict[str, int] = Field(default_factory=dict)
    """Size of each file that it has, by its path in the run's folder."""
    is_complete: bool = False


class FeedFile(PeerModel):
    """A file that was sent to a sync."""

    path: str
    """Relative to the run's folder."""
    kind: Literal["checkpoint", "video", "wandb"]
    step: int | None = None
    reason: str | None = None
    env: int | None = None
    episode: int | None = None


class RunAbout(PeerModel):
    """What W&B shows of a run in addition to its metrics."""

    name: str
    kind: str
    worker: str
    state: str
    started_at: float
    """Seconds since the epoch."""
    tags: list[str] = Field(default_factory=list)
    note: str = ""
    step_offsets: dict[int, int] = Field(default_factory=dict)
    """Environment steps of the whole run that were done before an attempt, by attempt."""


class FeedPage(PeerModel):
    """Body of a POST to `FEED_PATH`: stored events of the run, in order."""

    cursor: str = ""
    """How far the sync must be already."""
    next_cursor: str = ""
    events: list[dict[str, Any]] = Field(default_factory=list)
    """Events of type `config` and `metric` as plain objects (`mosaic_contracts.events`)."""
    about: RunAbout | None = None
    """With the last page."""
    files: list[FeedFile] = Field(default_factory=list)
    """With the last page: every file that was sent."""
    is_last: bool = False

    model_config = {**PeerModel.model_config, "ser_json_inf_nan": "constants"}
