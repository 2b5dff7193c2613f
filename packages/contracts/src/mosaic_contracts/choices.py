"""What a spec may choose from, and patterns of its names. Without pydantic, for programs that only ask or list."""

from mosaic_contracts.compat import StrEnum

RUN_ID_PATTERN = r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"
WORKER_ID_PATTERN = r"^[a-z][a-z0-9_]{0,39}$"
SECRET_NAME_PATTERN = r"^[A-Za-z][A-Za-z0-9_]{0,63}$"


class RunKind(StrEnum):
    """Everything that acts in an environment is a run; the kind says which."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    PLAY = "play"
    SWEEP = "sweep"
    REPLAY = "replay"
    DASHBOARD = "dashboard"

    @property
    def plays(self) -> bool:
        """Whether such a run shows what was learned before, and learns nothing: its worker gets the verb `play`."""
        return self in (RunKind.PLAY, RunKind.EVALUATE)


class RecordLevel(StrEnum):
    """How much of each step is kept; facts (config, episode, metric, artifact) always are."""

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
    """What a worker does when its outbox has reached its quota."""

    WAIT = "wait"
    THIN = "thin"


class RestartPolicy(StrEnum):
    """What follows when something outside MOSAIC stops a run (state `interrupted`)."""

    NEVER = "never"
    """It has ended; `resume` starts a new run from its newest checkpoint."""
    ON_INTERRUPT = "on_interrupt"
    """It is queued again and goes on as another attempt, from its newest checkpoint where its algorithm takes one."""
