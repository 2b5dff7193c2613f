"""Run states and how a run may end. The scheduler alone writes them (architecture, "Run states")."""

from mosaic_contracts.compat import StrEnum


class RunState(StrEnum):
    """State of a run."""

    QUEUED = "queued"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CRASHED = "crashed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    INTERRUPTED = "interrupted"
    """Something that no user of MOSAIC asked for stopped the run: a shutdown of the machine or the engine, a power cut,
    `docker stop`, a disk that was nearly full."""

    @property
    def is_final(self) -> bool:
        """Whether this state is final. A final state is written once and never changes."""
        return self in _FINAL

    @property
    def has_process(self) -> bool:
        """Whether a runner may be alive in this state."""
        return self in _WITH_PROCESS

    def may_become(self, other: "RunState") -> bool:
        """Report whether the state machine has a transition.

        Args:
            other: the next state.

        Returns:
            Whether a run in this state may go into `other`.
        """
        return other in _NEXT[self]


class EndCause(StrEnum):
    """Why a run ended. The message next to it describes it in words."""

    COMPLETED = "completed"
    STOPPED_BY_USER = "stopped_by_user"
    INTERRUPTED = "interrupted"
    DISK_LOW = "disk_low"
    """MOSAIC asked the run to stop before its disk was full."""
    WALL_TIME = "wall_time"
    START_DEADLINE = "start_deadline"
    EXIT_CODE = "exit_code"
    NO_EVENTS = "no_events"
    SIGNAL = "signal"
    OUT_OF_MEMORY = "out_of_memory"
    RUNNER_LOST = "runner_lost"
    PLACEMENT_FAILED = "placement_failed"
    WORKER_NOT_READY = "worker_not_ready"


class StopStep(StrEnum):
    """The step of a stop that ended the worker."""

    ASKED = "asked"
    """The worker received SIGTERM and ended by itself, with a checkpoint if it makes any."""
    TERMINATED = "terminated"
    """SIGTERM itself ended the worker: it was still starting, or has no handler."""
    KILLED = "killed"
    """SIGKILL ended the worker after its grace time."""


def shown_state(state: RunState, started_at: object | None) -> RunState:
    """Return the state that lists show, and that filters and counts go by.

    A run that was passed to an engine with a queue of its own is `starting` from then on (ADR 0046). Until the engine
    has started it, people read that it is queued.

    Args:
        state: the run's state.
        started_at: when its processes were started; None: they were not.

    Returns:
        `queued` for a run that waits in the queue of its engine, else `state`.
    """
    if state is RunState.STARTING and started_at is None:
        return RunState.QUEUED
    return state


_FINAL = frozenset(
    {
        RunState.SUCCEEDED,
        RunState.FAILED,
        RunState.CRASHED,
        RunState.CANCELLED,
        RunState.TIMED_OUT,
        RunState.INTERRUPTED,
    }
)
_WITH_PROCESS = frozenset({RunState.STARTING, RunState.RUNNING, RunState.STOPPING})
_NEXT: dict[RunState, frozenset[RunState]] = {
    # A queued run may end before it starts: cancelled, or its placement cannot be made.
    RunState.QUEUED: frozenset({RunState.STARTING, RunState.CANCELLED, RunState.FAILED}),
    # Back to queued: a placement that failed before the first event is retried once, and a run that was interrupted is
    # started again where its spec says so.
    RunState.STARTING: frozenset({RunState.RUNNING, RunState.STOPPING, RunState.QUEUED}) | _FINAL,
    RunState.RUNNING: frozenset({RunState.STOPPING, RunState.QUEUED}) | _FINAL,
    # Back to queued: the disk guard stopped it, and its spec says that it continues.
    RunState.STOPPING: frozenset({RunState.QUEUED}) | _FINAL,
    **{state: frozenset[RunState]() for state in _FINAL},
}
