"""The lines that say which event they are: `{"type": "metric", ...}`. Unknown keys are kept, not refused."""

from typing import Annotated, Any, ClassVar, Literal

import msgspec
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, TypeAdapter

from mosaic_contracts.wire import INTEGER_LIMIT

RETURN_KEYS = ("return", "episode_return", "episodic_return")
LENGTH_KEYS = ("length", "episode_length", "episodic_length")

_Count = Annotated[int, Field(ge=0, lt=INTEGER_LIMIT)]


class _LineModel(BaseModel):
    model_config = ConfigDict(extra="allow")


class MetricLine(_LineModel):
    """A line with one value of a metric."""

    type: Literal["metric"]
    name: Annotated[str, Field(min_length=1, max_length=500)]
    value: float
    """Value; NaN and infinities are permitted, bare or as "NaN", "Infinity", "-Infinity"."""
    step: _Count | None = None


class EpisodeStartLine(_LineModel):
    """A line for a reset; `reset` says how to rebuild it."""

    type: Literal["episode_start"]
    env: _Count = 0
    episode: _Count | None = None
    seed: int | None = None
    reset: dict[str, Any] = {}
    hash: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = None
    observation: Any = None


class StepLine(_LineModel):
    """A line for one environment step, recorded at levels `replay` and `full`."""

    type: Literal["step"]
    env: _Count = 0
    episode: _Count | None = None
    step: Annotated[int, Field(ge=1, lt=INTEGER_LIMIT)] | None = None
    """Number within the episode, from 1; None: the next number."""
    action: Any = None
    reward: float
    terminated: bool = False
    truncated: bool = False
    hash: Annotated[str, Field(pattern="^[0-9a-f]{16}$")] | None = None
    """16 hexadecimal digits; None: computed from `observation`."""
    observation: Any = None


class EpisodeLine(_LineModel):
    """A line for the end of an episode."""

    type: Literal["episode"]
    env: _Count = 0
    episode: _Count | None = None
    episode_return: Annotated[float, Field(validation_alias=AliasChoices(*RETURN_KEYS))]
    length: Annotated[
        int, Field(ge=0, lt=INTEGER_LIMIT, validation_alias=AliasChoices(*LENGTH_KEYS))
    ] = 0
    """Number of steps; 0: unknown."""
    terminated: bool = False
    truncated: bool = False
    duration_s: Annotated[float, Field(ge=0)] | None = None
    global_step: _Count | None = None


class LogLine(_LineModel):
    """A line that becomes a log event. All lines are in the run's log anyway."""

    type: Literal["log"]
    message: str
    level: Literal["debug", "info", "warning", "error"] = "info"


class CheckpointLine(_LineModel):
    """A line that announces a checkpoint which is complete on disk."""

    type: Literal["checkpoint"]
    path: str
    """Relative to the run folder, or absolute and inside it."""
    step: _Count
    reason: str = "periodic"


class ArtifactLine(_LineModel):
    """A line that announces another file or folder of the run."""

    type: Literal["artifact"]
    path: str
    kind: str = "file"


class ProgressLine(_LineModel):
    """A line that reports progress. It is not stored."""

    type: Literal["progress"]
    step: _Count
    total: _Count | None = None


class ConfigLine(_LineModel):
    """A line with the run's configuration, before every other event. Other keys are kept in the run's config."""

    type: Literal["config"]
    spaces: dict[str, Any] | None = None
    """`{"observation": SPACE, "action": SPACE}` of docs/interfaces.md."""


TypedLine = (
    MetricLine
    | EpisodeStartLine
    | StepLine
    | EpisodeLine
    | LogLine
    | CheckpointLine
    | ArtifactLine
    | ProgressLine
    | ConfigLine
)

typed_line: TypeAdapter[TypedLine] = TypeAdapter(Annotated[TypedLine, Field(discriminator="type")])
"""Validate a line with a `type`."""
TYPES = frozenset(
    {
        *("metric", "episode_start", "step", "episode", "log"),
        *("checkpoint", "artifact", "progress", "config"),
    }
)


class _Plain(msgspec.Struct, tag_field="type", forbid_unknown_fields=True):
    """A line in its usual form, without further keys. Whatever it refuses is read as its model above, which decides."""

    model_extra: ClassVar[None] = None


_PlainCount = Annotated[int, msgspec.Meta(ge=0, lt=INTEGER_LIMIT)]
_PlainHash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]


class PlainMetric(_Plain, tag="metric"):
    """A metric in its usual form, as `MetricLine`."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
    value: float
    step: _PlainCount | None = None


class PlainStep(_Plain, tag="step"):
    """A step in its usual form, as `StepLine`."""

    reward: float
    env: _PlainCount = 0
    episode: _PlainCount | None = None
    step: Annotated[int, msgspec.Meta(ge=1, lt=INTEGER_LIMIT)] | None = None
    action: Any = None
    terminated: bool = False
    truncated: bool = False
    hash: _PlainHash | None = None
    observation: Any = None


class PlainEpisode(_Plain, tag="episode"):
    """An episode in its usual form, as `EpisodeLine`."""

    episode_return: float = msgspec.field(name="return")
    env: _PlainCount = 0
    episode: _PlainCount | None = None
    length: _PlainCount = 0
    terminated: bool = False
    truncated: bool = False
    duration_s: Annotated[float, msgspec.Meta(ge=0)] | None = None
    global_step: _PlainCount | None = None


PlainLine = PlainMetric | PlainStep | PlainEpisode
_decode_plain: msgspec.json.Decoder[PlainLine] = msgspec.json.Decoder(PlainLine)


def plain_line(line: bytes) -> PlainLine | None:
    """Return a metric, step or episode in its usual form; None for any other line."""
    try:
        return _decode_plain.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def line_schema() -> dict[str, Any]:
    """Return the JSON Schema of lines with a `type`."""
    return typed_line.json_schema()
