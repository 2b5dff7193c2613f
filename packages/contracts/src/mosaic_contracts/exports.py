"""Orders to the exporter and what it reports.

The exporter (`python -m mosaic_exporter`, in an environment of its own) is started by the command line and by the
desktop client. It reads one `ExportOrder` as a line of JSON on its standard input, which stays open: when it is closed,
because the export is cancelled or the program that started it has died, the exporter removes what it has begun and
ends. It writes one `ExporterLine` a line on its standard output: progress, and at the end a report or a problem.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from mosaic_contracts.compat import StrEnum
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.problem_codes import ProblemCode
from mosaic_contracts.replays import ReplayResult

EXPORTER = "exporter"
"""Component that has the exporter."""
EXPORTER_PATIENCE_S = 5.0
"""Seconds in which a cancelled exporter removes what it has begun."""
DATASETS_VARIABLE = "MINARI_DATASETS_PATH"
UNFINISHED = ".part"
"""Ending of the folder of a dataset that is not finished."""
SLOWEST, FASTEST = 0.05, 100.0
"""Bounds of the speed of a video."""
_DATASET = re.compile(r"([\w-]+/)*[\w-]+-v\d+")
_VERSIONED = re.compile(r".*-v\d+")
_Number = Annotated[int, Field(ge=0, lt=2**62)]
VideoForm = Literal["mp4", "gif"]


class StackAddress(UserModel):
    """The stack that has the run."""

    url: str
    token: Annotated[str, Field(repr=False)]
    ca_file: str | None = None


class EpisodeRef(UserModel):
    """One recorded episode."""

    run_id: RunIdField
    attempt: Annotated[int, Field(ge=1)]
    env: _Number
    episode: _Number


class EpisodeRange(UserModel):
    """Episodes by their numbers, both ends included."""

    first: _Number
    last: _Number
    env: _Number | None = None
    """Sub-environment; None: all."""
    attempt: Annotated[int, Field(ge=1)] | None = None
    """Attempt of the run; None: all."""


class VideoExport(UserModel):
    """A video of an episode, which is rebuilt and compared with the record."""

    kind: Literal["video"] = "video"
    episode: EpisodeRef
    target: str
    """File to write, an absolute path. An existing one is replaced once the new one is complete."""
    form: VideoForm = "mp4"
    speed: Annotated[float, Field(ge=SLOWEST, le=FASTEST)] = 1.0
    """Times the environment's own frame rate."""
    title: str = ""
    """Written into an MP4; how the episode compares with the record is added."""


class StepsExport(UserModel):
    """Beginning and steps of an episode as JSON lines."""

    kind: Literal["steps"] = "steps"
    episode: EpisodeRef
    target: str


class DatasetExport(UserModel):
    """Whole episodes of a run as a Minari dataset."""

    kind: Literal["dataset"] = "dataset"
    run_id: RunIdField
    name: str
    """As `dataset_name` gives it."""
    ranges: list[EpisodeRange] = Field(default_factory=list)
    """Which episodes; empty: all."""
    allow_unverified: bool = False
    """Whether rebuilt episodes that differ from the record are kept."""


class EventFileExport(UserModel):
    """The metrics, configuration and hyperparameters of a run as a TensorBoard event file."""

    kind: Literal["tensorboard"] = "tensorboard"
    run_id: RunIdField
    target: str
    """Folder to make, an absolute path. It is there once the file is complete."""


class ExportOrder(UserModel):
    """What the exporter is to make."""

    stack: StackAddress
    export: Annotated[
        VideoExport | StepsExport | DatasetExport | EventFileExport, Field(discriminator="kind")
    ]


class ExportPhase(StrEnum):
    """What an export does at the moment."""

    QUEUED = "queued"
    """The replay waits for its turn; `detail` says why."""
    STARTING = "starting"
    REBUILDING = "rebuilding"
    """Steps of the replay."""
    DRAWING = "drawing"
    """Frames of the video."""
    READING = "reading"
    """Recorded steps or metrics that were read."""
    CHECKING = "checking"
    """The written dataset is loaded back."""


class ExportProgress(PeerModel):
    """How far an export is."""

    phase: ExportPhase
    done: int = 0
    total: int | None = None
    """None: unknown."""
    detail: str = ""


class EpisodeId(NamedTuple):
    """Which episode of a run."""

    attempt: int
    env: int
    episode: int


class VideoReport(PeerModel):
    """What became of a video."""

    file: str
    frames: int = 0
    fps: float = 0.0
    every: int = 1
    """Each n-th step is shown."""
    width: int = 0
    height: int = 0
    approximate_from: int | None = None
    """First step from which on the frames are approximate; None: every frame is as recorded."""
    without_picture: int = 0
    """Frames that had no picture and show the one before."""
    replay: ReplayResult | None = None
    """How the rebuilt episode compares with the record."""


class StepsReport(PeerModel):
    """What became of an episode's steps."""

    file: str
    steps: int


class DatasetReport(PeerModel):
    """What became of a dataset."""

    name: str
    folder: str = ""
    episodes: int = 0
    steps: int = 0
    is_rebuilt: bool = False
    """Whether the observations come from replays, because the run recorded none."""
    left_out: list[EpisodeId] = Field(default_factory=list)
    """Episodes without a recorded end, or with missing steps."""
    unverified: list[EpisodeId] = Field(default_factory=list)
    """Rebuilt episodes that differ from the record. They are in the dataset only if that was allowed."""
    has_environment: bool = False
    """Whether Minari can make the environment again from the dataset."""


class EventFileReport(PeerModel):
    """What became of an event file."""

    folder: str
    points: int = 0
    metrics: int = 0
    """Number of different metrics."""


class ExporterLine(PeerModel):
    """One line of the exporter's output. It has one of these fields."""

    progress: ExportProgress | None = None
    video: VideoReport | None = None
    steps: StepsReport | None = None
    dataset: DatasetReport | None = None
    events: EventFileReport | None = None
    problem: str = ""
    """Why the export cannot be made, in words. Nothing was written."""
    code: ProblemCode | None = None
    """Code of a refusal by the stack."""


def exporter_argv(python: str) -> list[str]:
    """Return the command that starts the exporter.

    Args:
        python: interpreter of its environment.
    """
    return python_module(python, "mosaic_exporter")


def export_file_name(episode: EpisodeRef, suffix: str) -> str:
    """Return a name for a file of an episode.

    Args:
        episode: the episode.
        suffix: of the file, without a dot.
    """
    attempt = f"-attempt{episode.attempt}" if episode.attempt > 1 else ""
    return f"{episode.run_id}{attempt}-env{episode.env}-episode{episode.episode}.{suffix}"


def dataset_name(text: str) -> str:
    """Return a name with its version: `cartpole` becomes `cartpole-v0`.

    Raises:
        ValueError: Minari takes no such name.
    """
    name = text if _VERSIONED.fullmatch(text) else f"{text}-v0"
    if not _DATASET.fullmatch(name):
        raise ValueError(
            f"{text!r} is no name of a dataset. Use letters, digits, '-' and '_', e.g. cartpole/ppo-v0."
        )
    return name


def unfinished_dataset(folder: Path, pid: int) -> Path:
    """Return the hidden folder in which an exporter makes a dataset, before it gets its name.

    Args:
        folder: the dataset's folder.
        pid: process of the exporter.

    Returns:
        Its path.
    """
    return folder.with_name(f".{folder.name}.{pid}{UNFINISHED}")


def datasets_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of Minari's datasets: MINARI_DATASETS_PATH, or `~/.minari/datasets`.

    Args:
        environ: environment variables.
    """
    named = environ.get(DATASETS_VARIABLE)
    return Path(named) if named else Path("~/.minari/datasets").expanduser()
