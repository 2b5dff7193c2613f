"""What the reconciler decides, case by case."""

import signal
from dataclasses import replace

import pytest
from tests.records import NOW, make_record, make_report

from mosaic_contracts.launch import ExitPhase
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import EndCause, RunState
from mosaic_scheduler.disk.level import SpaceLimits
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.executors.protocol import (
    ABSENT,
    AttemptPhase,
    AttemptStatus,
    EngineEnd,
    EngineEndKind,
)
from mosaic_scheduler.executors.run_folder import DRAIN_S, NODE_DRAIN_S
from mosaic_scheduler.reconcile.decision import (
    KEEP,
    Action,
    AskEvents,
    Cancel,
    EndRun,
    Facts,
    Kill,
    LaunchAttempt,
    MarkRunning,
    MarkStarted,
    MarkUnresponsive,
    Requeue,
    Stop,
    decide,
)
from mosaic_scheduler.reconcile.facts import FactSource
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_scheduler.runs.outcome import StopOrigin, outcome_from_exit, outcome_from_loss

STARTING = make_record(RunState.STARTING)
RUNNING = make_record(RunState.RUNNING, first_event_at=NOW)
STOPPING = make_record(RunState.STOPPING, stop_requested=EndCause.STOPPED_BY_USER)
LIMITED = make_record(
    RunState.RUNNING,
    first_event_at=NOW,
    spec=make_record().spec.model_copy(update={"wall_time_s": 10.0}),
)
ALIVE = AttemptStatus(AttemptPhase.ALIVE)
LOST = AttemptStatus(AttemptPhase.LOST)
WAITING = STARTING.model_copy(update={"started_at": None})
AT_ENGINE = AttemptStatus(AttemptPhase.QUEUED, detail="queued at Slurm: others are before it")
ON_NODE = AttemptStatus(AttemptPhase.ALIVE, node="n1")
UNSEEN = AttemptStatus(
    AttemptPhase.UNSEEN,
    engine_end=EngineEnd(EngineEndKind.NODE_FAILED, "node n1 failed."),
)
WORKER_GONE = AttemptStatus(AttemptPhase.ALIVE, make_report())
REFUSED = AttemptStatus(AttemptPhase.REFUSED, detail="no such interpreter")


@pytest.mark.parametrize(
    ("record", "facts", "action"),
    [
        pytest.param(STARTING, Facts(ABSENT), LaunchAttempt(), id="decided but never started"),
        pytest.param(
            STARTING,
            Facts(ABSENT, restored=True),
            EndRun(
                *outcome_from_loss(STARTING, ABSENT, StopOrigin.RESTORED), telemetry_pending=True
            ),
            id="left behind by a backup, before its folder was made",
        ),
        pytest.param(
            RUNNING,
            Facts(LOST, restored=True, rebooted=True, unwatched=True),
            EndRun(
                *outcome_from_loss(RUNNING, LOST, StopOrigin.RESTORED),
                telemetry_pending=True,
                sweep=True,
                status=LOST,
            ),
            id="left behind by a backup of another machine",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report()), restored=True, rebooted=True),
            EndRun(
                *outcome_from_exit(RUNNING, make_report(), has_events=True),
                telemetry_pending=False,
                status=AttemptStatus(AttemptPhase.ENDED, make_report()),
            ),
            id="had ended when its folder was copied",
        ),
        pytest.param(STARTING, Facts(ALIVE), KEEP, id="no event yet"),
        pytest.param(STARTING, Facts(ALIVE, has_events=True), MarkRunning(), id="first event"),
        pytest.param(WAITING, Facts(AT_ENGINE, start_age_s=10**6), KEEP, id="waits at the engine"),
        pytest.param(
            WAITING.model_copy(
                update={"state": RunState.STOPPING, "stop_requested": EndCause.STOPPED_BY_USER}
            ),
            Facts(AT_ENGINE, stop_age_s=10**6),
            Cancel(),
            id="stopped while it waits at the engine",
        ),
        pytest.param(WAITING, Facts(ON_NODE), MarkStarted(), id="the engine has started it"),
        pytest.param(
            WAITING,
            Facts(ON_NODE, has_events=True, start_age_s=10**6),
            MarkStarted(),
            id="the engine has started it long ago",
        ),
        pytest.param(RUNNING, Facts(UNSEEN, silence_s=89.0), KEEP, id="heartbeats veto a node"),
        pytest.param(RUNNING, Facts(UNSEEN), KEEP, id="without a broker nothing is known"),
        pytest.param(
            RUNNING,
            Facts(UNSEEN, silence_s=91.0),
            EndRun(
                *outcome_from_loss(RUNNING, UNSEEN),
                telemetry_pending=True,
                sweep=True,
                status=UNSEEN,
            ),
            id="a node that is gone, and its run is silent",
        ),
        pytest.param(
            STARTING,
            Facts(ALIVE, start_age_s=121),
            Stop(EndCause.START_DEADLINE),
            id="start deadline",
        ),
        pytest.param(
            STARTING,
            Facts(WORKER_GONE, start_age_s=121),
            KEEP,
            id="a worker that has ended has no deadline",
        ),
        pytest.param(STARTING, Facts(REFUSED), Requeue("no such interpreter"), id="one retry"),
        pytest.param(RUNNING, Facts(ALIVE, silence_s=1.0), KEEP, id="all is well"),
        pytest.param(
            RUNNING, Facts(ALIVE, silence_s=16.0), MarkUnresponsive(True), id="unresponsive"
        ),
        pytest.param(
            RUNNING.model_copy(update={"unresponsive": True}),
            Facts(ALIVE, silence_s=0.1),
            MarkUnresponsive(False),
            id="responsive again",
        ),
        pytest.param(
            RUNNING.model_copy(update={"unresponsive": True}),
            Facts(ALIVE, silence_s=None),
            KEEP,
            id="without a broker the flag stays",
        ),
        pytest.param(
            LIMITED, Facts(ALIVE, start_age_s=11), Stop(EndCause.WALL_TIME), id="wall time"
        ),
        pytest.param(LIMITED, Facts(ALIVE, start_age_s=9), KEEP, id="within the wall time"),
        pytest.param(
            RUNNING,
            Facts(ALIVE, disk_full="no space"),
            Stop(EndCause.DISK_LOW, "no space"),
            id="a disk that is nearly full",
        ),
        pytest.param(
            RUNNING,
            Facts(WORKER_GONE, disk_full="no space"),
            KEEP,
            id="a worker that has ended writes no more",
        ),
        pytest.param(
            STOPPING, Facts(ALIVE, disk_full="no space"), Cancel(), id="it is stopped already"
        ),
        pytest.param(STOPPING, Facts(ALIVE, stop_age_s=1), Cancel(), id="stop is passed on"),
        pytest.param(STOPPING, Facts(ALIVE, stop_age_s=66), Kill(), id="a runner that hangs"),
        pytest.param(
            STOPPING,
            Facts(ALIVE, stop_age_s=630, drain_s=600.0),
            Cancel(),
            id="a runner on a node that still uploads",
        ),
        pytest.param(
            STOPPING,
            Facts(ALIVE, stop_age_s=636, drain_s=600.0),
            Kill(),
            id="a runner on a node that hangs",
        ),
        pytest.param(
            STARTING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report())),
            AskEvents(),
            id="exit 0, unknown whether anything was recorded",
        ),
    ],
)
def test_a_run_that_has_not_ended(record: RunRecord, facts: Facts, action: Action) -> None:
    """Record and facts lead to this action."""
    assert decide(record, facts) == action


@pytest.mark.parametrize(
    ("shares_folder", "kind", "drain_s"),
    [
        (True, RunKind.TRAIN, DRAIN_S),
        (False, RunKind.TRAIN, NODE_DRAIN_S),
        (False, RunKind.REPLAY, DRAIN_S),
    ],
)
def test_how_long_what_is_left_may_be_sent(
    shares_folder: bool, kind: RunKind, drain_s: float
) -> None:
    """Long on a node whose folder goes with it; a run of a kind that is never a job is here in any case."""
    facts = FactSource(
        HeartbeatTracker(),
        VolumeWatch({}, SpaceLimits(0, 0)),
        lambda _: False,
        runs_elsewhere=True,
        shares_folder=shares_folder,
    )
    record = STOPPING.model_copy(update={"spec": STOPPING.spec.model_copy(update={"kind": kind})})
    assert facts.gather(record, ALIVE).drain_s == drain_s


@pytest.mark.parametrize(
    ("record", "facts", "state", "cause", "pending"),
    [
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report())),
            RunState.SUCCEEDED,
            EndCause.COMPLETED,
            False,
            id="exit 0 after events",
        ),
        pytest.param(
            STARTING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report()), events_denied=True),
            RunState.FAILED,
            EndCause.NO_EVENTS,
            False,
            id="exit 0 without any event",
        ),
        pytest.param(
            STARTING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report()), end_age_s=61),
            RunState.SUCCEEDED,
            EndCause.COMPLETED,
            False,
            id="exit 0, and the recorder never answered",
        ),
        pytest.param(
            STARTING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(phase=ExitPhase.NOT_DRAINED))),
            RunState.SUCCEEDED,
            EndCause.COMPLETED,
            True,
            id="what could not be shipped was recorded",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(3))),
            RunState.FAILED,
            EndCause.EXIT_CODE,
            False,
            id="exit 3",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(None, signal=signal.SIGSEGV))),
            RunState.CRASHED,
            EndCause.SIGNAL,
            False,
            id="a signal",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(None, signal=9, oom=True))),
            RunState.CRASHED,
            EndCause.OUT_OF_MEMORY,
            False,
            id="out of memory",
        ),
        pytest.param(
            STARTING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(None, start_error="no such file"))),
            RunState.FAILED,
            EndCause.PLACEMENT_FAILED,
            False,
            id="the worker cannot be executed",
        ),
        pytest.param(
            STOPPING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(None, signal=9, oom=True))),
            RunState.CANCELLED,
            EndCause.STOPPED_BY_USER,
            False,
            id="a stop explains every exit",
        ),
        pytest.param(
            STOPPING.model_copy(update={"stop_requested": EndCause.WALL_TIME}),
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report())),
            RunState.TIMED_OUT,
            EndCause.WALL_TIME,
            False,
            id="stopped for wall time",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.LOST)),
            RunState.CRASHED,
            EndCause.RUNNER_LOST,
            True,
            id="the runner was killed",
        ),
        pytest.param(
            STOPPING,
            Facts(AttemptStatus(AttemptPhase.LOST)),
            RunState.CANCELLED,
            EndCause.STOPPED_BY_USER,
            True,
            id="the runner was killed during a stop",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.LOST, oom=True)),
            RunState.CRASHED,
            EndCause.OUT_OF_MEMORY,
            True,
            id="the whole container was ended for memory",
        ),
        pytest.param(
            STOPPING,
            Facts(AttemptStatus(AttemptPhase.LOST, oom=True)),
            RunState.CANCELLED,
            EndCause.STOPPED_BY_USER,
            True,
            id="ended for memory during a stop",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(1, oom=True))),
            RunState.CRASHED,
            EndCause.OUT_OF_MEMORY,
            False,
            id="a worker that failed over its helper's death for memory",
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, make_report(1, oom=False))),
            RunState.FAILED,
            EndCause.EXIT_CODE,
            False,
            id="a plain failure in a container",
        ),
        pytest.param(
            STOPPING,
            Facts(ABSENT),
            RunState.CANCELLED,
            EndCause.STOPPED_BY_USER,
            False,
            id="stopped before anything was started",
        ),
        pytest.param(
            RUNNING,
            Facts(ABSENT),
            RunState.CRASHED,
            EndCause.RUNNER_LOST,
            False,
            id="its folder was deleted",
        ),
        pytest.param(
            STARTING.model_copy(update={"attempt": 2}),
            Facts(REFUSED),
            RunState.FAILED,
            EndCause.PLACEMENT_FAILED,
            False,
            id="the second attempt fails too",
        ),
    ],
)
def test_a_run_that_has_ended(
    record: RunRecord, facts: Facts, state: RunState, cause: EndCause, pending: bool
) -> None:
    """Record and facts lead to this end."""
    action = decide(record, facts)
    assert isinstance(action, EndRun)
    assert (action.state, action.end.cause, action.telemetry_pending) == (state, cause, pending)


def test_the_workers_last_words_are_told() -> None:
    """Why a worker says that it failed is written in the run's end; it may be the only place that had room for it."""
    report = make_report(code=1, last_words="OutboxWriteFailed: the disk has no room")
    state, end = outcome_from_exit(RUNNING, report, True)
    assert state is RunState.FAILED
    assert end.message.endswith("exit code 1: OutboxWriteFailed: the disk has no room")


@pytest.mark.parametrize(
    ("code", "ending"),
    [
        (137, "a shell reports for a command ended by signal 9 (SIGKILL). Lack of memory is"),
        (143, "a shell reports for a command ended by signal 15 (SIGTERM)."),
        (139, "a shell reports for a command ended by signal 11 (SIGSEGV)."),
        (163, "a shell reports for a command ended by signal 35."),
        (1, "with exit code 1."),
        (128, "with exit code 128."),
        (193, "with exit code 193."),
        (255, "with exit code 255."),
    ],
)
def test_an_exit_code_above_128_names_its_signal(code: int, ending: str) -> None:
    """A program's own exit code is explained as a shell would mean it, and other codes are left alone."""
    state, end = outcome_from_exit(RUNNING, make_report(code), True)
    assert (state, end.cause) == (RunState.FAILED, EndCause.EXIT_CODE)
    assert f"exit code {code}" in end.message
    assert ending in end.message


def test_last_words_take_precedence_over_the_signal_of_an_exit_code() -> None:
    """Where the worker said why it failed, nothing is guessed from its exit code."""
    _, end = outcome_from_exit(RUNNING, make_report(137, last_words="no licence"), True)
    assert end.message == "The worker ended by itself with exit code 137: no licence"


def test_what_the_engine_says_of_a_loss_is_told() -> None:
    """The end of a run whose container is gone says so, and what to do."""
    _, end = outcome_from_loss(
        RUNNING, AttemptStatus(AttemptPhase.LOST, detail="Its container was removed.")
    )
    assert end.message.endswith(
        "Its container was removed. What was recorded until then is kept. Start the run again."
    )


@pytest.mark.parametrize(
    "engine_end", [None, EngineEnd(EngineEndKind.NODE_FAILED, "Its node failed.")]
)
def test_the_end_of_a_run_that_was_cut_off_names_what_is_left(engine_end: EngineEnd | None) -> None:
    """Its folder is on its node alone, and what had not been sent can be copied from there."""
    lost = AttemptStatus(AttemptPhase.LOST, node="node7", is_cut_off=True, engine_end=engine_end)
    _, end = outcome_from_loss(RUNNING, lost)
    assert f"on its node node7, in runs/{RUNNING.run_id} below" in end.message
    assert "checkpoints import" in end.message
    assert ("cut off from the broker" in end.message) is (engine_end is None)
    _, end = outcome_from_loss(RUNNING, replace(lost, is_cut_off=False))
    assert "node7" not in end.message


@pytest.mark.parametrize(
    ("image", "says"),
    [("sha256:1", "more than the 512 MiB of memory"), (None, "more memory than this machine had")],
)
def test_a_limit_is_named_only_where_it_holds(image: str | None, says: str) -> None:
    """The end names `memory_mb` for a run in a container; elsewhere it was not the limit that ended it."""
    spec = RUNNING.spec.model_copy(update={"memory_mb": 512})
    record = RUNNING.model_copy(update={"spec": spec, "image": image})
    state, end = outcome_from_exit(record, make_report(None, signal=9, oom=True), True)
    assert state is RunState.CRASHED
    assert says in end.message
