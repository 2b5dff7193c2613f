"""What to do with a run, from its record and the facts. Pure: a table of cases tests it."""

from dataclasses import dataclass

from mosaic_contracts.launch import ExitPhase, ExitReport
from mosaic_contracts.runs import RunEnd, RunRecord
from mosaic_contracts.spec import RestartPolicy, RunKind
from mosaic_contracts.states import EndCause, RunState
from mosaic_scheduler.executors.protocol import ABSENT, AttemptPhase, AttemptStatus
from mosaic_scheduler.executors.run_folder import DRAIN_S
from mosaic_scheduler.runs import outcome
from mosaic_scheduler.runs.heartbeats import UNRESPONSIVE_AFTER_S

MAX_ATTEMPTS = 2
"""One retry, and only when the launch failed before the first event: no data can be mixed. Attempts that follow an
interruption do not count."""
MAX_SWEEP_RESTARTS = 20
"""A sweep that was killed goes on in its folder so often."""
KILL_MARGIN_S = 15.0
"""Beyond grace and drain; a runner that still lives then does not work."""
UNSEEN_S = 90.0
"""Without a heartbeat, before an attempt whose node is gone counts as lost. More than a restart of the broker takes."""
EVENTS_ANSWER_S = 60.0
"""For the recorder to say whether an ended worker recorded anything."""


@dataclass(frozen=True)
class Facts:
    """What is known of a run with processes at this moment. Ages are in seconds, on our monotonic clock."""

    status: AttemptStatus
    has_events: bool = False
    """The worker is known to have recorded something."""
    events_denied: bool = False
    """The recorder was asked and has nothing of this worker."""
    start_age_s: float = 0.0
    stop_age_s: float = 0.0
    end_age_s: float = 0.0
    """Since its end was first seen."""
    silence_s: float | None = None
    """Time without a heartbeat; None: it is not known."""
    rebooted: bool = False
    """The machine was booted since the attempt began."""
    restored: bool = False
    """This stack was restored from a backup that was made while the attempt ran."""
    unwatched: bool = False
    """It began under an earlier scheduler, and this one never saw it alive."""
    disk_full: str | None = None
    """Why it must stop before its disk is full, as a note; None: there is space enough."""
    drain_s: float = DRAIN_S
    """So long its runner may send what is left after the worker's end."""


class Action:
    """Something to be done."""


@dataclass(frozen=True)
class Keep(Action):
    """Nothing is to be done."""


@dataclass(frozen=True)
class LaunchAttempt(Action):
    """Submit the attempt: it was decided on, but never started."""


@dataclass(frozen=True)
class Requeue(Action):
    """Give it its second attempt."""

    why: str


@dataclass(frozen=True)
class MarkStarted(Action):
    """The engine, which had it in its queue, has started it."""


@dataclass(frozen=True)
class MarkRunning(Action):
    """The first event is there."""


@dataclass(frozen=True)
class MarkUnresponsive(Action):
    """Set or clear the flag."""

    unresponsive: bool


@dataclass(frozen=True)
class Stop(Action):
    """Ask it to stop, for this cause."""

    cause: EndCause
    note: str = ""
    """What the run's notes say of it."""


@dataclass(frozen=True)
class Cancel(Action):
    """Pass the stop on (once, the executor sees to that): it may have come before there was a runner."""


@dataclass(frozen=True)
class Kill(Action):
    """End a runner that does not obey."""


@dataclass(frozen=True)
class AskEvents(Action):
    """Find out from the recorder whether anything was recorded."""


@dataclass(frozen=True)
class EndRun(Action):
    """The run has ended."""

    state: RunState
    end: RunEnd
    telemetry_pending: bool
    sweep: bool = False
    """Processes may be left: end them first."""
    status: AttemptStatus | None = None
    """How the executor saw the end; None: it ends at this moment."""
    notes: tuple[str, ...] = ()
    """What the runner reported that stays with the run."""


@dataclass(frozen=True)
class Restart(Action):
    """It was interrupted, and goes on as another attempt."""

    why: str
    telemetry_pending: bool
    sweep: bool = False
    notes: tuple[str, ...] = ()


KEEP = Keep()
_KILLED = (EndCause.SIGNAL, EndCause.RUNNER_LOST)


def decide(record: RunRecord, facts: Facts) -> Action:
    """What to do with a run in `starting`, `running` or `stopping`."""
    match facts.status.phase:
        case AttemptPhase.ABSENT:
            return _decide_absent(record, facts)
        case AttemptPhase.REFUSED:
            return _decide_refused(record, facts)
        case AttemptPhase.QUEUED:
            return KEEP if record.stop_requested is None else Cancel()
        case AttemptPhase.UNSEEN if facts.silence_s is None or facts.silence_s < UNSEEN_S:
            return KEEP  # heartbeats veto the engine's word; without a broker nothing is known
        case AttemptPhase.LOST | AttemptPhase.UNSEEN:
            state, end = outcome.outcome_from_loss(record, facts.status, _outside(record, facts))
            lost = EndRun(state, end, telemetry_pending=True, sweep=True, status=facts.status)
            return _or_restart(record, lost)
        case AttemptPhase.ENDED:
            return _decide_ended(record, facts)
        case AttemptPhase.ALIVE:
            return _decide_alive(record, facts)


def _outside(record: RunRecord, facts: Facts) -> outcome.StopOrigin:
    """What stopped the run, if no user asked MOSAIC to."""
    if facts.status.asked_here:
        return outcome.StopOrigin.MOSAIC
    if facts.restored and facts.status.report is None:
        return outcome.StopOrigin.RESTORED
    if facts.rebooted and not facts.restored:
        return outcome.StopOrigin.REBOOT
    if facts.unwatched and not facts.restored:
        return outcome.StopOrigin.SHUTDOWN
    # Nobody signals the processes of a container by hand: the engine does, asked or not. On a node it is no container.
    is_container = record.image is not None and not record.node
    return outcome.StopOrigin.ENGINE if is_container else outcome.StopOrigin.SOMEBODY


def _or_restart(record: RunRecord, end: EndRun) -> Action:
    is_interrupted = end.state is RunState.INTERRUPTED or _is_killed_sweep(record, end)
    if not is_interrupted or record.spec.restart is not RestartPolicy.ON_INTERRUPT:
        return end
    return Restart(end.end.message, end.telemetry_pending, end.sweep, end.notes)


def _is_killed_sweep(record: RunRecord, end: EndRun) -> bool:
    """Whether a sweep was killed: its study holds all that it knew, so that it can go on."""
    is_killed = end.state is RunState.CRASHED and end.end.cause in _KILLED
    is_sweep = record.spec.kind is RunKind.SWEEP
    return is_sweep and is_killed and len(record.resumptions) < MAX_SWEEP_RESTARTS


def _decide_absent(record: RunRecord, facts: Facts) -> Action:
    if facts.restored:
        state, end = outcome.outcome_from_loss(record, ABSENT, outcome.StopOrigin.RESTORED)
        return _or_restart(record, EndRun(state, end, telemetry_pending=True))
    if record.stop_requested is not None:
        state, end = outcome.outcome_from_stop(record, None)
        return _or_restart(record, EndRun(state, end, telemetry_pending=False))
    if record.state is RunState.STARTING:
        return LaunchAttempt()
    # It ran, and now there is no trace of it: somebody deleted its folder.
    state, end = outcome.outcome_from_loss(record, ABSENT)
    return EndRun(state, end, telemetry_pending=False, sweep=True)


def _decide_refused(record: RunRecord, facts: Facts) -> Action:
    may_retry = (
        record.state is RunState.STARTING
        and record.attempt - len(record.resumptions) < MAX_ATTEMPTS
        and record.stop_requested is None
    )
    if may_retry:
        return Requeue(facts.status.detail)
    state, end = outcome.outcome_from_failed_launch(record, facts.status.detail)
    return _or_restart(record, EndRun(state, end, telemetry_pending=False, sweep=True))


def _decide_ended(record: RunRecord, facts: Facts) -> Action:
    report = facts.status.report
    if report is None:
        raise ValueError(f"{record.run_id} has ended without a report")
    has_events = _has_events(record, facts, report)
    if _needs_events(record, report) and has_events is None and facts.end_age_s < EVENTS_ANSWER_S:
        return AskEvents()
    outside, by_engine = _outside(record, facts), facts.status.engine_end
    state, end = outcome.outcome_from_exit(record, report, has_events, outside, by_engine)
    pending = report.phase is not ExitPhase.DRAINED
    # A runner that was killed between the worker's end and its own may have left strays.
    sweep = report.phase is ExitPhase.WORKER_ENDED
    notes = tuple(report.notes)
    found = EndRun(state, end, pending, sweep=sweep, status=facts.status, notes=notes)
    return _or_restart(record, found)


def _needs_events(record: RunRecord, report: ExitReport) -> bool:
    """Whether it matters for the ending if anything was recorded."""
    is_stopped = record.stop_requested is not None or report.stop_signal_sent
    return not is_stopped and report.code == 0 and report.start_error is None


def _has_events(record: RunRecord, facts: Facts, report: ExitReport) -> bool | None:
    if facts.has_events or record.first_event_at is not None:
        return True
    if facts.events_denied:
        return False
    # The shipper had something that it could not deliver.
    return True if report.phase is ExitPhase.NOT_DRAINED else None


def _decide_alive(record: RunRecord, facts: Facts) -> Action:
    if record.started_at is None:
        return MarkStarted()
    if record.state is RunState.STOPPING:
        limit_s = record.spec.grace_s + facts.drain_s + KILL_MARGIN_S
        return Kill() if facts.stop_age_s > limit_s else Cancel()
    if record.state is RunState.STARTING and facts.has_events:
        return MarkRunning()
    if facts.status.report is not None:
        return KEEP  # the worker has ended, and what is left is being sent
    if facts.disk_full is not None:
        return Stop(EndCause.DISK_LOW, facts.disk_full)
    if record.state is RunState.STARTING and facts.start_age_s > record.spec.start_deadline_s:
        return Stop(EndCause.START_DEADLINE)
    if record.spec.wall_time_s is not None and facts.start_age_s > record.spec.wall_time_s:
        return Stop(EndCause.WALL_TIME)
    unresponsive = facts.silence_s is not None and facts.silence_s > UNRESPONSIVE_AFTER_S
    # Without a broker the silence is not known, so that the flag stays as it is.
    if facts.silence_s is not None and unresponsive is not record.unresponsive:
        return MarkUnresponsive(unresponsive)
    return KEEP
