"""The published contract of an event: one pydantic model a type, and the JSON Schema made from them.

The wire form is in `mosaic_contracts.wire`; a test holds field names and types of the two equal.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from mosaic_contracts.choices import EXTRA_TYPE_PATTERN
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.models import PeerModel


class Envelope(PeerModel):
    """Fields that every event has."""

    v: Literal[1] = 1
    run_id: RunIdField
    attempt: int = Field(ge=1)
    source: Literal["worker", "supervisor"]
    seq: int = Field(ge=1)
    """Number of the event within its attempt and source, contiguous, from 1."""
    t: float
    """The writer's wall clock, seconds since the epoch; for display only."""


class StepEvent(Envelope):
    """One environment step."""

    type: Literal["step"] = "step"
    env: int
    episode: int
    step: int
    action: Any
    reward: float
    flags: int
    """Bit set: 1 terminated, 2 truncated."""
    hash: str
    """16 hex digits: blake2b over the raw observation, the reward and the flags."""
    actor: int = 0
    """Source of the action: 0 policy, 1 human, 2 script."""
    observation: Any = None


class EpisodeStartEvent(Envelope):
    """A reset of an environment, with the data that rebuilds it."""

    type: Literal["episode_start"] = "episode_start"
    env: int
    episode: int
    reset: dict[str, Any]
    hash: str
    observation: Any = None


class EpisodeEvent(Envelope):
    """The end of an episode."""

    type: Literal["episode"] = "episode"
    env: int
    episode: int
    length: int
    episode_return: float
    flags: int
    duration_s: float
    global_step: int


class MetricEvent(Envelope):
    """One value of a metric."""

    type: Literal["metric"] = "metric"
    name: str
    step: int | None
    value: float


class LogEvent(Envelope):
    """A log message that is worth an event of its own."""

    type: Literal["log"] = "log"
    level: str
    message: str
    data: dict[str, Any] = {}


class ConfigEvent(Envelope):
    """The configuration of a run, and the first event of its worker."""

    type: Literal["config"] = "config"
    data: dict[str, Any]


class LifecycleEvent(Envelope):
    """A phase of the worker, or, from the supervisor, a state of the run."""

    type: Literal["lifecycle"] = "lifecycle"
    phase: str
    data: dict[str, Any] = {}


class CheckpointEvent(Envelope):
    """A line that announces a checkpoint which is complete on disk."""

    type: Literal["checkpoint"] = "checkpoint"
    path: str
    step: int
    sha256: str
    bytes: int
    reason: str
    data: dict[str, Any] = {}


class ArtifactEvent(Envelope):
    """A file or folder of the run that is no checkpoint."""

    type: Literal["artifact"] = "artifact"
    path: str
    kind: str
    bytes: int
    sha256: str | None = None
    data: dict[str, Any] = {}


class ArtifactPrunedEvent(Envelope):
    """A file was deleted on purpose."""

    type: Literal["artifact_pruned"] = "artifact_pruned"
    path: str
    reason: str
    data: dict[str, Any] = {}


class ExtraEvent(Envelope):
    """A namespaced event. Types that a reader does not know are kept unchanged."""

    type: Annotated[str, Field(pattern=EXTRA_TYPE_PATTERN)]
    data: dict[str, Any]


KnownEvent = Annotated[
    StepEvent
    | EpisodeStartEvent
    | EpisodeEvent
    | MetricEvent
    | LogEvent
    | ConfigEvent
    | LifecycleEvent
    | CheckpointEvent
    | ArtifactEvent
    | ArtifactPrunedEvent,
    Field(discriminator="type"),
]
Event = KnownEvent | ExtraEvent

event_adapter: TypeAdapter[Event] = TypeAdapter(Event)
"""Validates and serialises events of every type."""


def event_schema() -> dict[str, Any]:
    """Return the JSON Schema of all events."""
    return event_adapter.json_schema()
