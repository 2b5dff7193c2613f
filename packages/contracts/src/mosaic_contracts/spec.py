"""What a person asks for: one run."""

from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, field_validator

from mosaic_contracts.branches import BranchPoint
from mosaic_contracts.choices import (
    SECRET_NAME_PATTERN,
    FullOutboxPolicy,
    RecordLevel,
    RestartPolicy,
    RunKind,
)
from mosaic_contracts.dashboards import DashboardSource
from mosaic_contracts.field_checks import not_a_bool, plain_parameter, without_nul
from mosaic_contracts.id_fields import RunIdField, WorkerIdField
from mosaic_contracts.models import UserModel
from mosaic_contracts.replays import ReplaySource
from mosaic_contracts.rule_texts import RuleTexts
from mosaic_contracts.storage import ProfileName
from mosaic_contracts.sweeps import SweepSpec
from mosaic_contracts.sync_source import SyncSource

__all__ = [
    "SECRET_NAME_PATTERN",
    "FullOutboxPolicy",
    "Name",
    "Note",
    "ParameterValue",
    "Priority",
    "RecordLevel",
    "RestartPolicy",
    "RunKind",
    "RunSpec",
    "SecretName",
    "Tag",
    "Tags",
    "not_a_bool",
    "plain_parameter",
    "without_nul",
]

ParameterValue = bool | int | float | str | None

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]

Tag = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, min_length=1, max_length=64, pattern=r"^[^,\x00-\x1f]+$"
    ),
]
"""A word to find runs by: text without commas and control characters."""
Tags = Annotated[list[Tag], Field(max_length=32)]
Note = Annotated[str, StringConstraints(max_length=16_384)]
Priority = Annotated[int, Field(ge=-1000, le=1000)]
"""Priority in the queue. A higher one starts earlier; equal ones keep their order."""

SecretName = Annotated[str, StringConstraints(pattern=SECRET_NAME_PATTERN)]


_NUMBERS = (
    *("seed", "steps", "episodes", "pace", "replay_every", "clip_every", "checkpoint_every_steps"),
    *("wall_time_s", "start_deadline_s", "grace_s", "cpus", "gpus", "gpu_memory_mb"),
    *("memory_mb", "shm_mb", "outbox_bytes", "priority"),
)
GivenParameter = Annotated[ParameterValue, AfterValidator(plain_parameter)]


class RunSpec(UserModel):
    """Request for a run. It is stored as given, with every default filled in."""

    worker: WorkerIdField
    """Id of a registered worker, e.g. `cleanrl`."""
    algorithm: Name
    """One of the worker's algorithms, e.g. `ppo`."""
    environment: Name
    """Environment id, e.g. `CartPole-v1`."""
    kind: RunKind = RunKind.TRAIN
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 1
    """Seed of the run; 32 bits, for that is what numpy's legacy seeding accepts."""
    steps: Annotated[int, Field(gt=0, le=2**53)] | None = None
    """Environment steps in all; None: the algorithm's default."""
    episodes: Annotated[int, Field(gt=0, le=2**31)] | None = None
    """Number of episodes of a run that plays or evaluates; None: as many as its steps permit."""
    pace: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)] | None = None
    """Maximum steps per second of a run that plays or evaluates; None: no limit."""
    parameters: dict[str, GivenParameter] = Field(default_factory=dict)
    """Parameters of the algorithm by name, checked against its schema before the launch."""
    record: RecordLevel = RecordLevel.REPLAY
    replay_every: Annotated[int, Field(ge=1)] = 1
    """Record the steps of every n-th episode only; 1 records all."""
    clip_every: Annotated[int, Field(ge=1)] | None = None
    """Record a video of the first 200 steps of every n-th episode of the first environment; None: no videos."""
    checkpoint_every_steps: Annotated[int, Field(ge=1)] | None = None
    """Environment steps between checkpoints; None: the worker's default, about 10 checkpoints in a run."""
    wall_time_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Time limit in seconds from the start. At the limit the run is stopped and ends as `timed_out`."""
    start_deadline_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 120.0
    """Maximum seconds from the start to the first event."""
    grace_s: Annotated[float, Field(ge=0, le=3600, allow_inf_nan=False)] = 20.0
    """Seconds between the request to stop and SIGKILL."""
    restart: RestartPolicy = RestartPolicy.NEVER
    """What follows an interruption (shutdown, power cut, a signal to the runner). `on_interrupt`: the run continues
    as another attempt, from its newest checkpoint if its algorithm takes one."""
    cpus: Annotated[int, Field(ge=1, le=1024)] = 1
    """Cores reserved in the queue; also the thread count of the worker's numeric libraries."""
    gpus: Annotated[int, Field(ge=0, le=64)] = 0
    """Number of GPUs (or MIG slices) leased to the run for its lifetime; 0: the run sees no GPU."""
    gpu_memory_mb: Annotated[int, Field(ge=64, le=2**24)] | None = None
    """MiB that the run needs on each GPU, which it then shares with other runs that set this. It is a reservation;
    no limit is enforced. None: the run has its GPUs to itself."""
    memory_mb: Annotated[int, Field(ge=64, le=2**24)] | None = None
    """Limit of memory for all processes of the run, in MiB, /dev/shm and /tmp included; None: no limit. It is
    enforced in containers, without swap, and not for processes of the embedded stack."""
    shm_mb: Annotated[int, Field(ge=1, le=2**20)] = 1024
    """MiB of /dev/shm in a container, which data loaders use to pass batches."""
    internet: bool = False
    """Whether the run may reach the internet, which needs consent. Without it, a container has no network."""
    outbox_bytes: Annotated[int, Field(ge=16 * 2**20)] = 2**30
    """Maximum size of the outbox. At the limit, `when_outbox_full` applies."""
    when_outbox_full: FullOutboxPolicy = FullOutboxPolicy.WAIT
    name: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = None
    """Display name; None: `<env>__<algo>__<seed>__<time>`."""
    parent: RunIdField | None = None
    """The run that this one continues, repeats or varies."""
    tags: Tags = Field(default_factory=list)
    """Tags at the start. They can be changed later (`RunPatch`)."""
    note: Note = ""
    """The user's note. It can be changed later."""
    priority: Priority = 0
    storage_profile: ProfileName | None = None
    """Storage profile of the run's files (`storage_profiles.yaml`); None: the default one. It can be changed later."""
    alerts: RuleTexts = Field(default_factory=list)
    """Alert rules of this run (`alert_rules`), in addition to those for all runs."""
    hold: bool = False
    """Whether the run stays in the queue until it is released."""
    secrets: Annotated[list[SecretName], Field(max_length=32)] = Field(default_factory=list)
    """Names of secrets that the run receives as files. Their values are in no spec."""
    consent: Annotated[str, StringConstraints(max_length=100)] | None = None
    """Digest of the preflight (`PreflightReport.digest`) whose needs the user agrees to."""
    replay: ReplaySource | None = None
    """The recorded episode that a run of kind `replay` rebuilds; None for every other kind."""
    dashboard: DashboardSource | None = None
    """The runs that a run of kind `dashboard` shows; None for every other kind."""
    sweep: SweepSpec | None = None
    """What a run of kind `sweep` searches; None for every other kind."""
    sync: SyncSource | None = None
    """The run that a run of kind `sync` sends to W&B; None for every other kind."""
    start_from: BranchPoint | None = None
    """The step of a recorded episode at which a run of kind `play` begins; None: it begins with a reset."""

    @field_validator(*_NUMBERS, mode="before")
    @classmethod
    def _refuse_bool(cls, value: object) -> object:
        return not_a_bool(value)

    @field_validator("algorithm", "environment", "name", "note", "consent")
    @classmethod
    def _refuse_nul(cls, value: str | None) -> str | None:
        return without_nul(value)

    @property
    def rebuilt_episode(self) -> ReplaySource | None:
        """The recorded episode whose events the run is given; None: it needs none."""
        return self.replay if self.start_from is None else self.start_from.source
