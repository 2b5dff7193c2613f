"""Exit codes of every verb; docs/reference/exit_codes.md publishes them."""

from enum import IntEnum

from mosaic_contracts.problem_codes import ProblemCode
from mosaic_contracts.states import RunState


class ExitCode(IntEnum):
    """Exit codes of a verb, for scripts."""

    DONE = 0
    RUN_FAILED = 1
    USAGE = 2
    NO_STACK = 3
    UNKNOWN = 4
    CANCELLED = 5
    NOT_NOW = 6
    DIFFERENT = 7
    SIMILAR = 8
    INTERRUPTED = 130

    @property
    def meaning(self) -> str:
        """One line for `--help`."""
        return _MEANING[self]


_MEANING = {
    ExitCode.DONE: "done; a followed run succeeded",
    ExitCode.RUN_FAILED: "the run failed, crashed, timed out or was interrupted; a check says blocking",
    ExitCode.USAGE: "usage: unknown option, bad value, spec refused",
    ExitCode.NO_STACK: "no stack reachable, or it refused the token",
    ExitCode.UNKNOWN: "no such run, episode, metric, artifact, secret",
    ExitCode.CANCELLED: "the run was cancelled",
    ExitCode.NOT_NOW: "it cannot be done now (broker away, disk low, the stack does not start, the run has not ended)",
    ExitCode.DIFFERENT: "a replayed episode or the file of a checkpoint differs from its record",
    ExitCode.SIMILAR: "a reproduced run is statistically the same, and not identical",
    ExitCode.INTERRUPTED: "Ctrl-C; `demo` has stopped its run by then",
}

EPILOG = "Exit codes:\n" + "\n".join(f"{int(c):>4}  {c.meaning}" for c in ExitCode)

_OF_PROBLEM = {
    ProblemCode.WORKER_NOT_READY: ExitCode.NOT_NOW,
    ProblemCode.XMPP_UNAVAILABLE: ExitCode.NOT_NOW,
    ProblemCode.RUN_UNKNOWN: ExitCode.UNKNOWN,
    ProblemCode.EPISODE_UNKNOWN: ExitCode.UNKNOWN,
    ProblemCode.METRIC_UNKNOWN: ExitCode.UNKNOWN,
    ProblemCode.ARTIFACT_UNKNOWN: ExitCode.UNKNOWN,
    ProblemCode.NOT_FOUND: ExitCode.UNKNOWN,
    ProblemCode.SECRET_UNKNOWN: ExitCode.UNKNOWN,
    ProblemCode.RUN_ENDED: ExitCode.RUN_FAILED,
    ProblemCode.RUN_LIVE: ExitCode.NOT_NOW,
    ProblemCode.RUN_NEEDED: ExitCode.NOT_NOW,
    ProblemCode.RUN_PROTECTED: ExitCode.NOT_NOW,
    ProblemCode.RUN_NOT_STARTED: ExitCode.NOT_NOW,
    ProblemCode.SYNC_IMPOSSIBLE: ExitCode.NOT_NOW,
    ProblemCode.FRAMES_UNAVAILABLE: ExitCode.NOT_NOW,
    ProblemCode.UNAUTHORIZED: ExitCode.NO_STACK,
    ProblemCode.HOST_REFUSED: ExitCode.NO_STACK,
    ProblemCode.ORIGIN_REFUSED: ExitCode.NO_STACK,
    ProblemCode.DISK_LOW: ExitCode.NOT_NOW,
    ProblemCode.BROKER_UNAVAILABLE: ExitCode.NOT_NOW,
    ProblemCode.SERVICE_UNAVAILABLE: ExitCode.NOT_NOW,
    ProblemCode.STORE_UNAVAILABLE: ExitCode.NOT_NOW,
    ProblemCode.INTERNAL: ExitCode.NOT_NOW,
}


def code_of_problem(code: ProblemCode) -> ExitCode:
    """Exit code for a refused request; what is not listed is the caller's fault."""
    return _OF_PROBLEM.get(code, ExitCode.USAGE)


def code_of_state(state: RunState) -> ExitCode:
    """Exit code for a run that ended so."""
    if state is RunState.SUCCEEDED:
        return ExitCode.DONE
    return ExitCode.CANCELLED if state is RunState.CANCELLED else ExitCode.RUN_FAILED
