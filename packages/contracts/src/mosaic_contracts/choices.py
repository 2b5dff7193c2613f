"""What a spec may choose from, and patterns of its names. Without pydantic, for programs that only ask or list."""

from mosaic_contracts.compat import StrEnum

RUN_ID_PATTERN = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
WORKER_ID_PATTERN = r"^[a-z][a-z0-9_]{0,39}$"
EXTRA_TYPE_PATTERN = r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)+$"
"""Type of an event that a worker defines itself: a name with a dot, for example `bdi.plan`."""
EVENT_TYPES = (
    "step",
    "episode_start",
    "episode",
    "metric",
    "log",
    "config",
    "lifecycle",
    "checkpoint",
    "artifact",
    "artifact_pruned",
)
"""Types of events that MOSAIC itself defines."""
BEST, LAST = "best", "last"
"""Names of a run's checkpoints: the one with the highest mean return, and the newest one."""
UNKNOWN_ENVIRONMENT = "unknown"
"""Environment of a spec whose program chooses it. The scheduler replaces it when the run's config names one."""
SECRET_NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"


class RunKind(StrEnum):
    """What a run does: train, evaluate, play and so on."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    PLAY = "play"
    SWEEP = "sweep"
    """It chooses parameters of other runs, its trials, and does no step itself."""
    REPLAY = "replay"
    DASHBOARD = "dashboard"
    SYNC = "sync"
    """Sends an ended run to W&B."""
    IMPORT = "import"
    """A checkpoint that came from a file. Such a run has no process: it has ended when it begins to exist."""

    @property
    def plays(self) -> bool:
        """Whether a run of this kind shows what was learned before and learns nothing. Its worker is called with
        `play`."""
        return self in (RunKind.PLAY, RunKind.EVALUATE)

    @property
    def is_derived(self) -> bool:
        """Whether a run of this kind only shows or sends other runs. It is in no list, takes no core of the queue, and
        is deleted an hour after its end."""
        return self in (RunKind.REPLAY, RunKind.DASHBOARD, RunKind.SYNC)

    @property
    def worker_verb(self) -> str:
        """Verb that the run's worker is called with: `train`, `play`, `sweep`, `replay`, `dashboard` or `sync`."""
        if self.is_derived or self is RunKind.SWEEP:
            return self.value
        return "play" if self.plays else "train"


class RecordLevel(StrEnum):
    """How much of each step is recorded. Configuration, metrics, checkpoints and artifacts always are."""

    METRICS = "metrics"
    EPISODES = "episodes"
    REPLAY = "replay"
    FULL = "full"

    @property
    def has_episodes(self) -> bool:
        """Whether episode events are written."""
        return self is not RecordLevel.METRICS

    @property
    def has_steps(self) -> bool:
        """Whether step events are written."""
        return self in (RecordLevel.REPLAY, RecordLevel.FULL)

    @property
    def has_observations(self) -> bool:
        """Whether step events carry the observation."""
        return self is RecordLevel.FULL


class FullOutboxPolicy(StrEnum):
    """What a worker does when its outbox has reached its size limit."""

    WAIT = "wait"
    THIN = "thin"


class RestartPolicy(StrEnum):
    """What happens when something outside MOSAIC stops a run (state `interrupted`)."""

    NEVER = "never"
    """The run has ended. `resume` starts a new run from its newest checkpoint."""
    ON_INTERRUPT = "on_interrupt"
    """The run is queued again and continues as another attempt, from its newest checkpoint if its algorithm takes
    one."""
