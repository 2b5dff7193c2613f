"""What the store holds of a run: its summary, episodes, curves, events and files. `runs` has these models, too."""

from typing import Any

from pydantic import Field

from mosaic_contracts.models import PeerModel
from mosaic_contracts.shipper_messages import SourceMark


class RunSummary(PeerModel):
    """Figures of a run, as the recorder stores them."""

    run_id: str
    events: int = 0
    steps: int = 0
    """Number of step events that were recorded."""
    thinned_steps: int = 0
    """Number of those that were removed from the store since, to free space."""
    thinned_by: str = ""
    """What asked for that, e.g. a storage profile with its rule."""
    global_step: int = 0
    """Highest environment step of any event."""
    episodes: int = 0
    """Number of finished episodes in the store. The returns below are of these."""
    episodes_played: int = 0
    """Number of episodes that were finished; more than `episodes` if the worker reports a sample of them."""
    last_return: float | None = None
    best_return: float | None = None
    mean_return: float | None = None
    """Mean over the last 20 episodes in the store."""
    gaps: int = 0
    """Number of events that are known to be missing from the store."""
    dropped: int = 0
    """Number of step events that were not recorded: thinned at a full outbox, or refused by the pipe."""
    quarantined: int = 0
    """Number of batches of this run that did not validate."""
    checkpoints: int = 0
    artifacts: int = 0
    first_t: float | None = None
    """Wall clock of the first event, seconds since the epoch."""
    last_t: float | None = None
    span_s: float | None = None
    """Seconds from the worker's first event to its last, by the clock of the events."""
    sources: list[SourceMark] = Field(default_factory=list)

    @property
    def is_sample(self) -> bool:
        """Whether more episodes were played than the store has."""
        return self.episodes_played > self.episodes


class EpisodeRow(PeerModel):
    """One finished or running episode."""

    attempt: int
    env: int
    episode: int
    """Number within (attempt, env), from 0."""
    length: int | None = None
    episode_return: float | None = Field(default=None, alias="return")
    terminated: bool | None = None
    truncated: bool | None = None
    global_step: int | None = None
    t_start: float | None = None
    t_end: float | None = None
    start_seq: int | None = None
    end_seq: int | None = None
    recorded_steps: int = 0
    """Number of its steps that are in the store."""
    thinned_steps: int = 0
    """Number of its steps that were removed from the store, to free space."""

    model_config = {**PeerModel.model_config, "populate_by_name": True}


class EpisodePage(PeerModel):
    """One page of episodes in the order in which they began."""

    episodes: list[EpisodeRow]
    next_cursor: str | None = None


class EventPage(PeerModel):
    """One page of events as plain JSON objects (see `mosaic_contracts.events`)."""

    events: list[dict[str, Any]]
    cursor: str
    """Cursor of the next page. It is never None, so that a reader can wait at the end for more."""
    has_more: bool


class CurveBucket(PeerModel):
    """Points of one range of steps. NaN and infinities are counted, but are not in the mean."""

    step0: int
    step1: int
    n: int
    min: float | None
    """Lowest finite value; None if there is none."""
    max: float | None
    mean: float | None
    last: float
    nan: int = 0
    inf: int = 0
    """Number of +Infinity and -Infinity values."""
    pass_number: int = 0
    """Which pass over the steps, from 0: another one begins where steps go back, as after a resume from a checkpoint.
    A curve of more than 64 passes, or of more than half as many as buckets, has one."""


class Curve(PeerModel):
    """A metric of a run, as raw points or reduced to buckets."""

    run_id: str
    name: str
    points: int
    """Number of points in the requested range, before reduction."""
    buckets: list[CurveBucket] = Field(default_factory=list)
    """Buckets, ordered by pass and then by step."""
    steps: list[int | None] | None = None
    """Steps of the raw points, if they were requested with `last`."""
    values: list[float] | None = None
    t: list[float] | None = None


class MetricName(PeerModel):
    """A metric of a run with its newest point."""

    name: str
    points: int
    last_step: int | None
    last_value: float


class ArtifactRow(PeerModel):
    """A file that a run announced."""

    path: str
    """Relative to the run folder."""
    kind: str
    """`checkpoint`, `tensorboard`, `video`, ..."""
    bytes: int
    sha256: str | None = None
    step: int | None = None
    env: int | None = None
    """Sub-environment that a video shows."""
    episode: int | None = None
    """Episode that a video shows."""
    reason: str | None = None
    t: float | None = None
    exists: bool = True
