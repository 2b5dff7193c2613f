"""What is known of a run: the scheduler's record, the recorder's summary, and both merged."""

from pydantic import AwareDatetime, Field

from mosaic_contracts.alerts import RaisedAlert
from mosaic_contracts.clock import ClockReading
from mosaic_contracts.figures import steps_done, steps_in_all
from mosaic_contracts.models import PeerModel
from mosaic_contracts.replays import ReplayResult
from mosaic_contracts.run_data import ArtifactRow as ArtifactRow
from mosaic_contracts.run_data import Curve as Curve
from mosaic_contracts.run_data import CurveBucket as CurveBucket
from mosaic_contracts.run_data import EpisodePage as EpisodePage
from mosaic_contracts.run_data import EpisodeRow as EpisodeRow
from mosaic_contracts.run_data import EventPage as EventPage
from mosaic_contracts.run_data import MetricName as MetricName
from mosaic_contracts.run_data import RunSummary as RunSummary
from mosaic_contracts.shipper_messages import Progress as Progress
from mosaic_contracts.shipper_messages import SourceMark as SourceMark
from mosaic_contracts.spec import ParameterValue
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_contracts.stored_spec import StoredSpec as StoredSpec


class RunEnd(PeerModel):
    """How a run ended. It is written once."""

    cause: EndCause
    message: str
    """Description in words, with what to do next if there is something to do."""
    exit_code: int | None = None
    signal: int | None = None
    oom: bool | None = None
    """Whether the kernel killed the run for lack of memory; None: unknown."""
    stop_step: StopStep | None = None
    """Step of the stop that ended the worker; None: it was not stopped, or had not started."""
    last_lines: list[str] = Field(default_factory=list)
    """Last lines of the worker's output, progress bars collapsed."""


class Resumption(PeerModel):
    """Where an attempt continues after an interruption."""

    attempt: int
    checkpoint: str | None = None
    """Path relative to the run folder; None: the attempt starts from the beginning."""
    step: int = 0
    """Environment steps of the whole run that were done at this checkpoint; the attempt counts its own from 0."""


class GroupPlace(PeerModel):
    """The place of a run in a group (`mosaic_contracts.groups`)."""

    group_id: str
    name: str
    """Name of the group."""
    place: int
    """Number of its combination of seed, environment and parameters, from 0. If several runs have one number, the
    newest counts: it is another try."""


class RunRecord(PeerModel):
    """A run as the scheduler stores it."""

    run_id: str
    name: str
    spec: StoredSpec
    state: RunState
    revision: int
    """Grows with every write of the state; progress, notes and queue place change under an equal revision, so a
    reader takes what is equal or higher."""
    attempt: int = 1
    resumptions: list[Resumption] = Field(default_factory=list)
    """Interruptions that were followed by another attempt."""
    waiting_reason: str | None = None
    """What the run waits for. In state `starting`: it waits in the queue of a cluster."""
    position: int | None = None
    """Place in the queue, 1 is next."""
    expected_start_at: AwareDatetime | None = None
    """Rough estimate of the start, from the progress of earlier runs; None: no estimate."""
    unresponsive: bool = False
    stop_requested: EndCause | None = None
    created_at: AwareDatetime
    started_at: AwareDatetime | None = None
    first_event_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    """Wall clock time at which the worker ended."""
    end_recorded_at: AwareDatetime | None = None
    """Time at which the scheduler recorded the end; later than `ended_at` if no scheduler ran then."""
    started_clock: ClockReading | None = None
    """Monotonic clock at the start; None: not started, or started by an older scheduler."""
    elapsed_s: float | None = None
    """Seconds since the start; of an ended run its duration. Measured by the monotonic clock, because `ended_at -
    started_at` is wrong if the wall clock was changed. None: not started, or ended under an older scheduler."""
    end: RunEnd | None = None
    progress: Progress | None = None
    run_dir: str
    """Path of the run folder relative to MOSAIC_HOME."""
    telemetry_pending: bool = False
    """Whether events of an ended run, or of an interrupted attempt, are still on their way to the store."""
    worker_version: str | None = None
    worker_lock: str | None = None
    """SHA-256 of the worker's locks of dependencies, those of its installed bundles included, when the run was
    submitted; None: it has none, or an older scheduler took the run."""
    node: str | None = None
    """Machine of a cluster on which the attempt runs, as the cluster names it; None: this one, or not started."""
    image: str | None = None
    """Digest of the image of the attempt, fixed at its start; None: no container."""
    notes: list[str] = Field(default_factory=list)
    """Messages for the user, e.g. `waiting for the outbox`."""
    tags: list[str] = Field(default_factory=list)
    note: str = ""
    """The user's own words."""
    dry_run: str = ""
    """Plan that the user saw before the launch, as text. It is not searched and not cloned."""
    priority: int = 0
    held: bool = False
    """Whether the run waits in the queue until it is released."""
    trial: str | None = None
    """Key of this run in the sweep that started it (`parent`), e.g. `12/CartPole-v1/1`: number, environment, seed.
    Such a run is stopped with its sweep. None: it is no run of a trial."""
    alerts: list[RaisedAlert] = Field(default_factory=list)
    """Alerts that have not cleared."""
    pinned: bool = False
    """Whether the user keeps all of its files, whatever its storage profile says."""
    pinned_files: list[str] = Field(default_factory=list)
    """Paths of files in its folder that the user keeps one by one, e.g. a checkpoint that is in use elsewhere."""
    storage_profile: str | None = None
    """Storage profile that says which of its files are kept; None: the default one."""
    group: GroupPlace | None = None
    """Its place in the group that it was started with; None: it was started alone, or by a sweep (`trial`)."""
    defaults: dict[str, ParameterValue] = Field(default_factory=dict)
    """Parameters that the spec does not give, with the values that the worker's description had when the run was
    submitted. Empty: the worker names none, or an older scheduler took the run."""
    deleted_at: AwareDatetime | None = None
    """Time at which the user deleted the run. It is hidden, and removed after a day (see `restore`)."""


class RunView(RunRecord):
    """A run as clients see it."""

    summary: RunSummary | None = None
    sps: float | None = None
    """Environment steps per second: recent ones of a live run, all of an ended one."""
    eta_s: float | None = None
    stale: bool = False
    """Whether the scheduler does not answer, so that these are the last known values."""

    @property
    def step(self) -> int:
        """Environment steps done, as the trainer reports, or as the store has if that is more."""
        return steps_done(self.progress, self.summary)

    @property
    def total_steps(self) -> int | None:
        """Environment steps in all, as the trainer reports, else as requested; None if unknown."""
        return steps_in_all(self.progress, self.spec.steps)


class RunPage(PeerModel):
    """One page of the run list, newest first."""

    runs: list[RunView]
    next_cursor: str | None = None


class ReplayEntry(PeerModel):
    """A replay of a run's episode: the run that rebuilds it, and how the two compare."""

    run: RunView
    result: ReplayResult | None = None
    """None: not every step has been compared yet, or the replay failed before that."""


class DashboardEntry(PeerModel):
    """A dashboard: the run that serves it, and the link that opens it."""

    run: RunView
    is_ready: bool = False
    """Whether it answers. False: it is starting, or waits; ask again."""
    url: str = ""
    """Path with a ticket that opens it, to be joined to the stack's address; empty until it is ready."""
    expires_at: AwareDatetime | None = None
    """Time until which the link can be used for the first time."""
