"""How a run ended: from what the runner saw, what was asked for, and whether anything was recorded."""

import signal
from enum import StrEnum

from mosaic_contracts.launch import ExitReport
from mosaic_contracts.runs import RunEnd, RunRecord
from mosaic_contracts.spec import RestartPolicy
from mosaic_contracts.states import EndCause, RunState, StopStep
from mosaic_scheduler.executors.protocol import AttemptStatus, EngineEnd, EngineEndKind
from mosaic_scheduler.size_text import mib_text

_STOPS = {
    EndCause.STOPPED_BY_USER: (RunState.CANCELLED, "Stopped on request."),
    EndCause.WALL_TIME: (
        RunState.TIMED_OUT,
        "The wall-time limit of the run was reached (wall_time_s).",
    ),
    EndCause.START_DEADLINE: (
        RunState.TIMED_OUT,
        "The worker recorded nothing before the start deadline (start_deadline_s); "
        "its log says how far it got.",
    ),
    EndCause.DISK_LOW: (
        RunState.INTERRUPTED,
        "Interrupted: the disk was nearly full, so MOSAIC stopped the run before it was.",
    ),
}

_SHELL_SIGNAL_BASE = 128
"""A shell exits with this plus the number of the signal that ended its command."""


class StopOrigin(StrEnum):
    """What stopped a run that no user of MOSAIC asked to stop."""

    SOMEBODY = "somebody"
    """By hand, or nobody knows."""
    MOSAIC = "mosaic"
    """A verb of MOSAIC, while there was no scheduler to tell."""
    REBOOT = "reboot"
    """The machine went down since."""
    ENGINE = "engine"
    """The container engine, under a scheduler that went on."""
    RESTORED = "restored"
    """Nothing here: the stack was restored from a backup that was made while the run went on."""
    SHUTDOWN = "shutdown"
    """Whatever had stopped the scheduler as well: the engine's, the stack's or the session's end."""


_INTERRUPTIONS = {
    StopOrigin.REBOOT: "the machine was shut down or restarted.",
    StopOrigin.ENGINE: "the container engine stopped its container (its own shutdown, or `docker stop`).",
    StopOrigin.RESTORED: (
        "this stack was restored from a backup that was made while the run went on. Its processes and what it did "
        "after that are not here."
    ),
    StopOrigin.SHUTDOWN: "it was stopped while no scheduler ran, by a shutdown of engine, stack or session.",
}
_UNSAVED = " It was killed before it could save."

RunOutcome = tuple[RunState, RunEnd]


def outcome_from_stop(record: RunRecord, report: ExitReport | None) -> RunOutcome:
    """The run was asked to stop, and has ended."""
    if record.stop_requested is None:
        raise ValueError(f"{record.run_id} was not asked to stop")
    state, message = _STOPS[record.stop_requested]
    message += _how_it_stopped(record, report)
    if record.stop_requested is EndCause.DISK_LOW:
        message += _when_there_is_room(record)
    return state, _end(record.stop_requested, message, report)


def _how_it_stopped(record: RunRecord, report: ExitReport | None) -> str:
    if report is None:
        return ""
    if report.oom:
        return " It was killed for lack of memory before it had stopped."
    match _stop_step(report):
        case StopStep.KILLED:
            return f" It did not end within {record.spec.grace_s:g} s and was killed."
        case StopStep.TERMINATED:
            return (
                " SIGTERM itself ended it: it was still starting, or does not handle that signal."
            )
        case StopStep.ASKED:
            meaning = _as_a_shell_reports(report.code)
            return f" The worker ended by itself when asked, with exit code {report.code}{meaning}"
        case None:
            return " Its worker had not been started yet." if report.start_error else ""


def _stop_step(report: ExitReport) -> StopStep | None:
    if not report.stop_signal_sent or report.start_error is not None:
        return None
    if report.killed_after_grace:
        return StopStep.KILLED
    if report.signal == signal.SIGTERM:
        return StopStep.TERMINATED
    return StopStep.ASKED if report.signal is None else None


def outcome_from_exit(
    record: RunRecord,
    report: ExitReport,
    has_events: bool | None,
    outside: StopOrigin = StopOrigin.SOMEBODY,
    engine_end: EngineEnd | None = None,
) -> RunOutcome:
    """The worker has ended.

    Args:
        record: the run.
        report: what its runner saw.
        has_events: whether it recorded anything; None: it could not be found out.
        outside: whose a stop is that no user asked for.
        engine_end: why the engine ended it, if it did.
    """
    if record.stop_requested is not None:
        return outcome_from_stop(record, report)
    if report.stop_signal_sent and engine_end is not None and outside is not StopOrigin.MOSAIC:
        return _outcome_from_engine(record, report, engine_end)
    if report.stop_signal_sent:
        return _outcome_from_outside_stop(record, report, outside)
    if report.start_error is not None:
        message = f"The worker could not be started: {report.start_error}"
        return RunState.FAILED, _end(EndCause.PLACEMENT_FAILED, message, report)
    if report.signal is not None:
        return RunState.CRASHED, _outcome_from_signal(record, report, report.signal)
    if report.code != 0 and report.oom:
        message = (
            f"{_out_of_memory(record)} One of the worker's own processes was ended for that, and the worker then "
            f"ended with exit code {report.code}."
        )
        return RunState.CRASHED, _end(EndCause.OUT_OF_MEMORY, message, report)
    if report.code != 0:
        message = f"The worker ended by itself with exit code {report.code}"
        message += (
            f": {report.last_words}" if report.last_words else _as_a_shell_reports(report.code)
        )
        return RunState.FAILED, _end(EndCause.EXIT_CODE, message, report)
    if has_events is False:
        message = "The worker ended with exit code 0, but recorded nothing at all."
        return RunState.FAILED, _end(EndCause.NO_EVENTS, message, report)
    message = "Completed."
    if has_events is None:
        message += " The recorder did not answer, so it is unknown whether anything was recorded."
    return RunState.SUCCEEDED, _end(EndCause.COMPLETED, message, report)


def _outcome_from_outside_stop(
    record: RunRecord, report: ExitReport | None, outside: StopOrigin
) -> RunOutcome:
    how = _how_it_stopped(record, report)
    if outside is StopOrigin.MOSAIC:
        message = "Stopped on request, while no stack was up."
        return RunState.CANCELLED, _end(EndCause.STOPPED_BY_USER, message + how, report)
    if outside is StopOrigin.SOMEBODY:
        message = "Its runner was asked to stop (SIGTERM) from outside MOSAIC."
        return RunState.CANCELLED, _end(EndCause.STOPPED_BY_USER, message + how, report)
    unsaved = "" if outside is StopOrigin.RESTORED else _UNSAVED
    message = f"Interrupted: {_INTERRUPTIONS[outside]}{how or unsaved}{_next_step(record)}"
    return RunState.INTERRUPTED, _end(EndCause.INTERRUPTED, message, report)


def _outcome_from_engine(
    record: RunRecord, report: ExitReport | None, end: EngineEnd
) -> RunOutcome:
    """An engine with a queue ended the run by itself."""
    how = _how_it_stopped(record, report)
    match end.kind:
        case EngineEndKind.CANCELLED:
            return RunState.CANCELLED, _end(EndCause.STOPPED_BY_USER, end.words + how, report)
        case EngineEndKind.TIME_LIMIT:
            return RunState.TIMED_OUT, _end(EndCause.WALL_TIME, end.words + how, report)
        case EngineEndKind.PREEMPTED | EngineEndKind.NODE_FAILED | EngineEndKind.RESTARTED:
            message = f"Interrupted: {end.words}{how or _UNSAVED}{_next_step(record)}"
            return RunState.INTERRUPTED, _end(EndCause.INTERRUPTED, message, report)


def _when_there_is_room(record: RunRecord) -> str:
    if record.spec.restart is RestartPolicy.ON_INTERRUPT:
        return " It continues when there is room."
    return f" Free some space (`./mosaic disk`).{_next_step(record)}"


def _next_step(record: RunRecord) -> str:
    if record.spec.restart is RestartPolicy.ON_INTERRUPT:
        return ""
    return (
        f" `./mosaic resume {record.run_id}` goes on from its newest checkpoint, where its algorithm takes one; "
        "`./mosaic retry` begins again."
    )


def outcome_from_loss(
    record: RunRecord, status: AttemptStatus, outside: StopOrigin = StopOrigin.SOMEBODY
) -> RunOutcome:
    """The runner was killed, and with it the worker; nobody saw the exit."""
    if record.stop_requested is not None:
        return outcome_from_stop(record, None)
    left = _left_on_node(record, status)
    if status.engine_end is not None:
        state, end = _outcome_from_engine(record, None, status.engine_end)
        return state, end.model_copy(update={"message": end.message + left})
    if outside in (StopOrigin.REBOOT, StopOrigin.RESTORED) or (
        status.stop_noted and outside is not StopOrigin.SOMEBODY
    ):
        return _outcome_from_outside_stop(record, None, outside)
    if status.oom:
        message = f"{_out_of_memory(record, is_limited=True)} All of its processes were ended."
        return RunState.CRASHED, RunEnd(cause=EndCause.OUT_OF_MEMORY, message=message, oom=True)
    how = "was killed from outside, and the worker with it."
    if left:
        how = (
            "has ended without a word here: it was killed from outside, and the worker with it, or its node was cut "
            "off from the broker for longer than the run waits."
        )
    message = (
        f"The process that ran the worker (its runner) {how} {status.detail} What was recorded until then is kept. "
        f"Start the run again.{left}"
    ).replace("  ", " ")
    return RunState.CRASHED, _end(EndCause.RUNNER_LOST, message, None)


def _left_on_node(record: RunRecord, status: AttemptStatus) -> str:
    """Where the rest of a run is that could not say its end; empty: nowhere else."""
    if not status.is_cut_off:
        return ""
    node = status.node or record.node
    return (
        f" What it had not sent is on its node{f' {node}' if node else ''}, in runs/{record.run_id} below the "
        "`--node-home` of the stack: copy checkpoints from there (`./mosaic checkpoints import FILE`)."
    )


def outcome_from_failed_launch(record: RunRecord, why: str) -> RunOutcome:
    """The run's processes could not be started."""
    if record.stop_requested is not None:
        return outcome_from_stop(record, None)
    tries = "" if record.attempt == 1 else f" ({record.attempt} attempts)"
    message = f"The run could not be started{tries}: {why}"
    return RunState.FAILED, _end(EndCause.PLACEMENT_FAILED, message, None)


def outcome_from_unready_worker(record: RunRecord, why: str) -> RunOutcome:
    """The worker cannot be used any more: its environment went away while the run waited."""
    message = f"The worker {record.spec.worker} is not ready: {why}"
    return RunState.FAILED, _end(EndCause.WORKER_NOT_READY, message, None)


def _outcome_from_signal(record: RunRecord, report: ExitReport, number: int) -> RunEnd:
    if number == signal.SIGKILL and report.oom:
        message = f"{_out_of_memory(record)} The worker was killed by the system."
        return _end(EndCause.OUT_OF_MEMORY, message, report)
    message = f"The worker was ended by {_signal_name(number)}."
    if number == signal.SIGKILL and report.oom is None:
        message += " MOSAIC did not ask for that; lack of memory is the usual reason."
    if number == signal.SIGBUS and record.image is not None and not record.node:
        message += f" A full /dev/shm is the usual reason: it has {record.spec.shm_mb} MiB here (`shm_mb`)."
    return _end(EndCause.SIGNAL, message, report)


def _as_a_shell_reports(code: int | None) -> str:
    """The signal that an exit code above 128 means by the convention of shells."""
    number = (code or 0) - _SHELL_SIGNAL_BASE
    if number not in signal.valid_signals():
        return "."
    name = _signal_name(number)
    named = f"signal {number}" if name == f"signal {number}" else f"signal {number} ({name})"
    message = f", the code that a shell reports for a command ended by {named}."
    if number == signal.SIGKILL:
        message += " Lack of memory is the usual reason."
    return message


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _out_of_memory(record: RunRecord, *, is_limited: bool = False) -> str:
    """`is_limited`: it is known to have run in a container."""
    limit_mb = record.spec.memory_mb
    if limit_mb is None and record.node:
        return "The run needed more memory than the cluster gives a job that asks for none. Give it `memory_mb`."
    if limit_mb is None or not (is_limited or record.image or record.node):
        return "The run needed more memory than this machine had left."
    return (
        f"The run needed more than the {mib_text(limit_mb)} of memory that it was given (`memory_mb`). "
        "Give it more, or make it need less."
    )


def _end(cause: EndCause, message: str, report: ExitReport | None) -> RunEnd:
    return RunEnd(
        cause=cause,
        message=message,
        exit_code=report.code if report else None,
        signal=report.signal if report else None,
        oom=report.oom if report else None,
        stop_step=_stop_step(report) if report else None,
    )
