"""Runs that something outside MOSAIC stops: they are interrupted, and go on where their spec or their user says so."""

import json
import signal
from functools import partial
from typing import Any

import pytest
from tests.records import NOW, make_record, make_report
from tests.stack import SPEC, Stack, until

from mosaic_base import procfs
from mosaic_contracts.launch import RUNNER_FILE, SPEC_FILE, ExitPhase
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import Resumption, RunRecord, StoredSpec
from mosaic_contracts.services import RunRequest
from mosaic_contracts.spec import RestartPolicy
from mosaic_contracts.stack_files import STOP_MARK
from mosaic_contracts.states import EndCause, RunState
from mosaic_scheduler.executors import proc
from mosaic_scheduler.executors.protocol import AttemptPhase, AttemptStatus
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE
from mosaic_scheduler.reconcile.decision import EndRun, Facts, Restart, decide

pytestmark = pytest.mark.shared_stack

SAVES = {"rate": 500.0, "save_every": 100}
RUNNING = make_record(RunState.RUNNING, first_event_at=NOW)
CONTAINED = RUNNING.model_copy(update={"image": "sha256:0"})
STOPPING = make_record(RunState.STOPPING, stop_requested=EndCause.STOPPED_BY_USER)
ASKED = AttemptStatus(AttemptPhase.ENDED, make_report(stop_signal_sent=True))
KILLED = AttemptStatus(AttemptPhase.LOST)
KILLED_IN_GRACE = AttemptStatus(AttemptPhase.LOST, stop_noted=True)


def _restarting(record: RunRecord) -> RunRecord:
    policy = {"restart": RestartPolicy.ON_INTERRUPT}
    spec = StoredSpec.model_validate({**record.spec.model_dump(), **policy})
    return record.model_copy(update={"spec": spec})


@pytest.mark.parametrize(
    ("record", "facts", "state", "says"),
    [
        pytest.param(
            CONTAINED, Facts(ASKED), RunState.INTERRUPTED, "engine stopped", id="docker stop"
        ),
        pytest.param(
            CONTAINED,
            Facts(ASKED, unwatched=True),
            RunState.INTERRUPTED,
            "no scheduler ran",
            id="the engine's shutdown takes the scheduler as well",
        ),
        pytest.param(
            RUNNING,
            Facts(ASKED, rebooted=True),
            RunState.INTERRUPTED,
            "shut down or restarted",
            id="the machine's shutdown",
        ),
        pytest.param(
            RUNNING,
            Facts(KILLED, rebooted=True),
            RunState.INTERRUPTED,
            "before it could save",
            id="a power cut",
        ),
        pytest.param(
            CONTAINED,
            Facts(KILLED_IN_GRACE),
            RunState.INTERRUPTED,
            "before it could save",
            id="killed when the engine's patience was over",
        ),
        pytest.param(
            RUNNING, Facts(ASKED), RunState.CANCELLED, "from outside MOSAIC", id="a signal by hand"
        ),
        pytest.param(
            RUNNING,
            Facts(AttemptStatus(AttemptPhase.ENDED, ASKED.report, asked_here=True), unwatched=True),
            RunState.CANCELLED,
            "Stopped on request",
            id="stopped by a verb of MOSAIC without a stack",
        ),
        pytest.param(
            STOPPING,
            Facts(ASKED, rebooted=True),
            RunState.CANCELLED,
            "Stopped on request",
            id="a user's stop stays one, whatever comes then",
        ),
        pytest.param(
            CONTAINED,
            Facts(AttemptStatus(AttemptPhase.LOST, oom=True)),
            RunState.CRASHED,
            "memory",
            id="lack of memory is no interruption",
        ),
        pytest.param(
            CONTAINED, Facts(KILLED), RunState.CRASHED, "killed from outside", id="docker kill"
        ),
    ],
)
def test_an_interruption_is_told_apart(
    record: RunRecord, facts: Facts, state: RunState, says: str
) -> None:
    """Whose a stop was follows from what is known; only what nobody asked MOSAIC for can be an interruption."""
    action = decide(record, facts)
    assert isinstance(action, EndRun)
    assert action.state is state
    assert says in action.end.message
    assert (state is RunState.INTERRUPTED) == ("mosaic resume" in action.end.message)


@pytest.mark.parametrize(
    ("facts", "pending"),
    [
        (Facts(ASKED, rebooted=True), False),
        (Facts(KILLED, rebooted=True), True),
        (
            Facts(
                AttemptStatus(
                    AttemptPhase.ENDED,
                    make_report(stop_signal_sent=True, phase=ExitPhase.NOT_DRAINED),
                ),
                unwatched=True,
            ),
            True,
        ),
    ],
)
def test_a_run_that_is_to_go_on_is_not_ended(facts: Facts, pending: bool) -> None:
    """`restart: on_interrupt` makes another attempt of an interruption, and of nothing else."""
    action = decide(_restarting(RUNNING), facts)
    assert isinstance(action, Restart)
    assert action.telemetry_pending is pending
    for other in (
        Facts(KILLED),
        Facts(ASKED),
        Facts(AttemptStatus(AttemptPhase.ENDED, make_report(3))),
    ):
        assert isinstance(decide(_restarting(RUNNING), other), EndRun)
    assert isinstance(decide(_restarting(STOPPING), facts), EndRun)


def test_a_restarted_run_may_fail_to_start_once_more() -> None:
    """The one retry of a start that failed belongs to each attempt after an interruption."""
    refused = Facts(AttemptStatus(AttemptPhase.REFUSED, detail="no such interpreter"))
    third = make_record(RunState.STARTING, attempt=2, resumptions=[Resumption(attempt=2)])
    assert not isinstance(decide(third, refused), EndRun)


async def _running(stack: Stack, **fields: Any) -> RunRecord:
    """A run that has saved a checkpoint and goes on."""
    run = await stack.submit(**{"parameters": SAVES, "steps": 100_000, **fields})
    await stack.wait_state(run.run_id, RunState.RUNNING)

    async def has_saved() -> bool:
        return bool(list((stack.home / "runs" / run.run_id).glob("checkpoints/*.txt")))

    await until(has_saved)
    return run


def _runs_as(attempt: int, record: RunRecord) -> bool:
    return record.attempt == attempt and record.state is RunState.RUNNING


async def _shut_down(stack: Stack, run_id: str, number: signal.Signals = signal.SIGTERM) -> None:
    """What a shutdown does: scheduler and runner are signalled at the same moment."""
    runner = stack.process(run_id, RUNNER_MODULE)
    await stack.kill_scheduler(signal.SIGTERM)
    proc.send_signal(runner, number)

    async def gone() -> bool:
        return procfs.start_ticks(runner.pid) != runner.start_ticks

    await until(gone)


@pytest.mark.nightly
@pytest.mark.broker
async def test_a_shutdown_interrupts(stack: Stack) -> None:
    """A run that saved in time is `interrupted`; `resume` starts one that makes the steps that are left."""
    run = await _running(stack)
    await _shut_down(stack, run.run_id)
    await stack.start_scheduler()
    ended = await stack.wait_end(run.run_id)
    assert ended.end is not None
    assert (ended.state, ended.end.cause) == (RunState.INTERRUPTED, EndCause.INTERRUPTED)
    assert ended.end.exit_code == 0
    manifest = json.loads(stack.worker_file(run.run_id, "manifest.json").read_text())
    newest = manifest["artifacts"][-1]
    resumed = await stack.ask("resume", RunRequest(run_id=run.run_id))
    assert resumed.spec.parent == run.run_id
    assert resumed.spec.parameters["start"] == f"{run.run_id}/{newest['path']}"
    assert resumed.spec.steps == 100_000 - newest["step"]
    await stack.wait_state(resumed.run_id, RunState.RUNNING)
    with pytest.raises(ProblemError) as caught:
        await stack.ask("resume", RunRequest(run_id=resumed.run_id))
    assert caught.value.problem.code == ProblemCode.RUN_LIVE


@pytest.mark.broker
async def test_a_run_goes_on_after_each_shutdown(stack: Stack) -> None:
    """Each attempt begins with the newest checkpoint and the steps that are left of the whole run.

    Nothing that an attempt recorded is lost, and the run ends as any other does.
    """
    run = await _running(stack, restart="on_interrupt")
    done = 0
    for attempt in (2, 3):
        await _shut_down(stack, run.run_id)
        stored = stack.worker_file(run.run_id, "manifest.json").read_text()
        newest = max(json.loads(stored)["artifacts"], key=lambda e: (e["attempt"], e["step"]))
        done += newest["step"]
        await stack.start_scheduler()
        again = await stack.wait(run.run_id, partial(_runs_as, attempt))
        assert again.resumptions[-1] == Resumption(
            attempt=attempt, checkpoint=newest["path"], step=done
        )
        assert "interrupted" in " ".join(again.notes).lower()
        told = json.loads(stack.worker_file(run.run_id, SPEC_FILE).read_text())
        assert told["attempt"] == attempt
        assert told["spec"]["steps"] == 100_000 - done
        assert stack.worker_file(run.run_id, told["spec"]["parameters"]["start"]).exists()
        assert again.spec.steps == 100_000, "the spec of the run itself stays as it was given"
    await stack.stop(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, ended.attempt) == (RunState.CANCELLED, 3)
    await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    for attempt in (1, 2, 3):
        seqs = [
            e["seq"] for e in stack.recorder.of(run.run_id, "worker") if e["attempt"] == attempt
        ]
        assert seqs == list(range(1, len(seqs) + 1))
        assert seqs


@pytest.mark.broker
@pytest.mark.pace({"events.drain.RETRY_S": [0.3] * 5})
async def test_the_next_attempt_waits_for_what_was_recorded(stack: Stack) -> None:
    """While nobody takes what the interrupted attempt left, the run waits and says why; then it goes on."""
    run = await _running(stack, restart="on_interrupt")
    await stack.recorder.close()
    await _shut_down(stack, run.run_id, signal.SIGKILL)
    # The shipper learns it from its runner's death; the file says what a runner that had been asked would have left.
    info = stack.worker_file(run.run_id, RUNNER_FILE)
    info.write_text(json.dumps({**json.loads(info.read_text()), "stop_asked": True}))
    await stack.start_scheduler()
    waiting = await stack.wait_state(run.run_id, RunState.QUEUED)
    assert waiting.attempt == 2
    waiting = await stack.wait(run.run_id, lambda record: record.waiting_reason is not None)
    assert (
        waiting.waiting_reason == "continues when the events of its interrupted attempt are stored"
    )
    await stack.recorder.open()
    await stack.wait(
        run.run_id,
        partial(_runs_as, 2),
        deadline_s=60,
    )


@pytest.mark.broker
async def test_a_stop_without_a_stack_is_no_interruption(stack: Stack) -> None:
    """`down --stop-runs` leaves its mark before it signals: the next scheduler says who it was."""
    run = await _running(stack, restart="on_interrupt")
    stack.worker_file(run.run_id, STOP_MARK).touch()
    await _shut_down(stack, run.run_id)
    await stack.start_scheduler()
    ended = await stack.wait_end(run.run_id)
    assert ended.end is not None
    assert (ended.state, ended.end.cause) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)


@pytest.mark.nightly(by_day=["parameters0-has no checkpoint"])
@pytest.mark.broker
@pytest.mark.parametrize(
    ("parameters", "says"),
    [({"events": 1_000, "rate": 0.0}, "has no checkpoint"), ({"events": 300, "save_every": 300}, "all of its steps")],
)  # fmt: skip
async def test_what_cannot_be_resumed_says_so(
    stack: Stack, parameters: dict[str, Any], says: str
) -> None:
    """A run without a checkpoint, and one that has made all its steps: each is refused with what to do instead."""
    run = await stack.submit(**{**SPEC, "parameters": parameters})
    await stack.wait_end(run.run_id)
    with pytest.raises(ProblemError) as caught:
        await stack.ask("resume", RunRequest(run_id=run.run_id))
    assert caught.value.problem.code == ProblemCode.SPEC_INVALID
    assert says in caught.value.problem.detail
    assert "mosaic retry" in caught.value.problem.detail
