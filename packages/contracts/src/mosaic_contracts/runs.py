"""What is known of a run: the scheduler's record, the recorder's summary, and both merged."""

from typing import Any

from pydantic import AwareDatetime, Field, field_validator

from mosaic_contracts.clock import ClockReading
from mosaic_contracts.figures import steps_done, steps_in_all
from mosaic_contracts.models import PeerModel
from mosaic_contracts.spec import ParameterValue, RunSpec
from mosaic_contracts.states import EndCause, RunState, StopStep


class StoredSpec(RunSpec):
    """A spec read back: a newer version's fields must not make an old run unreadable."""

    model_config = {**RunSpec.model_config, "extra": "allow"}

    parameters: dict[str, ParameterValue] = Field(default_factory=dict)

    @field_validator("algorithm", "environment", "name", "note", "consent")
    @classmethod
    def _refuse_nul(cls, value: str | None) -> str | None:
        """Take what an older version let pass."""
        return value


class RunEnd(PeerModel):
    """How a run ended. Written once."""

    cause: EndCause
    message: str
    """In words, with what to do next where there is something to do."""
    exit_code: int | None = None
    signal: int | None = None
    oom: bool | None = None
    """True where a cgroup says so; None: unknown here."""
    stop_step: StopStep | None = None
    """Which step of a stop ended the worker; None: it was not stopped, or had not been started yet."""
    last_lines: list[str] = Field(default_factory=list)
    """Last lines of the worker's output, progress bars collapsed."""


class Progress(PeerModel):
    """The trainer's own word of how far it is."""

    step: int = 0
    total: int | None = None
    age_s: float | None = None
    """Seconds since the trainer moved, on the receiver's clock."""


class Resumption(PeerModel):
    """Where an attempt after an interruption goes on."""

    attempt: int
    checkpoint: str | None = None
    """Relative to the run folder; None: it begins from the start."""
    step: int = 0
    """Environment steps of the whole run that were done at this checkpoint; the attempt counts its own from 0."""


class RunRecord(PeerModel):
    """A run as the scheduler knows it."""

    run_id: str
    name: str
    spec: StoredSpec
    state: RunState
    revision: int
    """Grows with every write of the state; progress, notes and queue place change under an equal revision, so a
    reader takes what is equal or higher."""
    attempt: int = 1
    resumptions: list[Resumption] = Field(default_factory=list)
    """One for each interruption that was followed by another attempt."""
    waiting_reason: str | None = None
    position: int | None = None
    """Place in the queue, 1 is next."""
    expected_start_at: AwareDatetime | None = None
    """A rough guess from how far the runs before it are and how long such runs took; None: nothing to go by."""
    unresponsive: bool = False
    stop_requested: EndCause | None = None
    created_at: AwareDatetime
    started_at: AwareDatetime | None = None
    first_event_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    """When its worker ended, by the wall clock of that moment."""
    end_recorded_at: AwareDatetime | None = None
    """When the scheduler wrote the end down: later than `ended_at` where no scheduler was there to see it."""
    started_clock: ClockReading | None = None
    """The monotonic clock at the start; None: not started, or started by an older scheduler."""
    elapsed_s: float | None = None
    """Seconds since the start, of an ended run how long it took. By the monotonic clock: `ended_at - started_at`
    is wrong where the wall clock was set meanwhile. None: not started, or ended under an older scheduler."""
    end: RunEnd | None = None
    progress: Progress | None = None
    run_dir: str
    """Relative to MOSAIC_HOME."""
    telemetry_pending: bool = False
    """True while events of an ended run, or of its interrupted attempt, still wait for broker or recorder."""
    worker_version: str | None = None
    image: str | None = None
    """Digest of the image that the attempt runs in, pinned at its start; None: in no container."""
    notes: list[str] = Field(default_factory=list)
    """What the user should know, e.g. `waiting for the outbox`."""
    tags: list[str] = Field(default_factory=list)
    note: str = ""
    """The user's own words."""
    dry_run: str = ""
    """The plan that the user looked at before the launch, as text. It is neither searched nor cloned."""
    priority: int = 0
    held: bool = False
    """Waits in the queue until it is released."""
    deleted_at: AwareDatetime | None = None
    """Archived by the user: hidden from lists, and deleted when its time is over (see `restore`)."""


class SourceMark(PeerModel):
    """How far one source of one attempt is in the store."""

    attempt: int
    source: str
    last_seq: int
    """Highest seq in the store."""
    next_seq: int
    """First seq that is not in the store; all below it are."""
    missing: int
    """Seqs below `last_seq` that are not in the store."""


class RunSummary(PeerModel):
    """A run as the recorder knows it."""

    run_id: str
    events: int = 0
    steps: int = 0
    """Step events in the store."""
    global_step: int = 0
    """Highest environment step that any event names."""
    episodes: int = 0
    """Finished episodes in the store. The returns below are theirs."""
    episodes_played: int = 0
    """Finished episodes by their numbers: more than `episodes` where the worker reports a sample of them."""
    last_return: float | None = None
    best_return: float | None = None
    mean_return: float | None = None
    """Mean over the last 20 episodes in the store."""
    gaps: int = 0
    """Events known to be missing from the store (holes in seq)."""
    dropped: int = 0
    """Step events that the worker counted and did not record: thinned at a full outbox, or refused by the pipe."""
    quarantined: int = 0
    """Batches of this run that were set aside."""
    checkpoints: int = 0
    artifacts: int = 0
    first_t: float | None = None
    """Wall clock of the first event, seconds since the epoch."""
    last_t: float | None = None
    span_s: float | None = None
    """Seconds from the first to the last event of the worker, by the clock that its events share."""
    sources: list[SourceMark] = Field(default_factory=list)

    @property
    def is_sample(self) -> bool:
        """Whether more episodes were played than the store has."""
        return self.episodes_played > self.episodes


class RunView(RunRecord):
    """A run as a client sees it."""

    summary: RunSummary | None = None
    sps: float | None = None
    """Environment steps per second, recent while the run lives, overall when it has ended."""
    eta_s: float | None = None
    stale: bool = False
    """The scheduler does not answer: this is what was last known, or what telemetry store and run folder tell."""

    @property
    def step(self) -> int:
        """Environment steps done: the trainer's word, or the store's where that has more."""
        return steps_done(self.progress, self.summary)

    @property
    def total_steps(self) -> int | None:
        """How many there will be, as the trainer says or else as was asked for; None where nobody knows."""
        return steps_in_all(self.progress, self.spec.steps)


class RunPage(PeerModel):
    """One page of the run list, newest first."""

    runs: list[RunView]
    next_cursor: str | None = None


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

    model_config = {**PeerModel.model_config, "populate_by_name": True}


class EpisodePage(PeerModel):
    """One page of episodes in the order in which they began."""

    episodes: list[EpisodeRow]
    next_cursor: str | None = None


class EventPage(PeerModel):
    """One page of events as plain JSON objects (see `mosaic_contracts.events`)."""

    events: list[dict[str, Any]]
    cursor: str
    """Pass it back to go on from here; never None, so that a follower can wait at the end."""
    has_more: bool


class CurveBucket(PeerModel):
    """Points of one step range. NaN and infinities are counted, never averaged in or clamped."""

    step0: int
    step1: int
    n: int
    min: float | None
    """Over finite values; None when the bucket has none."""
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
    """A metric of a run, reduced to at most the asked number of buckets, or raw points."""

    run_id: str
    name: str
    points: int
    """Number of points in the asked range before reduction."""
    buckets: list[CurveBucket] = Field(default_factory=list)
    """By pass, then by step."""
    steps: list[int | None] | None = None
    """Raw points, when asked for with `last`."""
    values: list[float] | None = None
    t: list[float] | None = None


class MetricName(PeerModel):
    """One metric of a run with its newest point."""

    name: str
    points: int
    last_step: int | None
    last_value: float


class ArtifactRow(PeerModel):
    """One file that a run announced."""

    path: str
    """Relative to the run folder."""
    kind: str
    """`checkpoint`, `tensorboard`, `video`, ..."""
    bytes: int
    sha256: str | None = None
    step: int | None = None
    reason: str | None = None
    t: float | None = None
    exists: bool = True
