"""The scheduler as a process, with a real broker, real runners, real workers and real kills."""

import asyncio
import itertools
import json
import os
import re
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.script_worker import SPEC as SCRIPT_SPEC
from tests.script_worker import script_worker
from tests.stack import SPEC, Stack, file_exists, until

from mosaic_base import procfs
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ListRequest, RunRecords, SubmitRequest, WorkerEntries
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.worker import CheckReport
from mosaic_scheduler.executors import proc

pytestmark = [pytest.mark.broker, pytest.mark.shared_stack, pytest.mark.timeout(120)]
IMPATIENT = pytest.mark.pace({"runs.heartbeats.UNRESPONSIVE_AFTER_S": 3.0})
"""More than the two seconds between heartbeats."""
PROMPT = pytest.mark.pace(
    {"events.publisher.RESEND_AFTER_S": 1.0, "events.drain.RETRY_S": [0.3] * 5}
)
"""What is tried again is tried again soon."""

WORKER = "mosaic_workerkit.testing.synthetic"
RUNNER = "mosaic_workerkit.runner"
SHIPPER = "mosaic_workerkit.shipper"
LONG = {"parameters": {"rate": 200.0, "events": 1_000_000}}


async def running(stack: Stack, **spec: object) -> RunRecord:
    """A run that has recorded something and goes on."""
    run = await stack.submit(**{**LONG, **spec})
    return await stack.wait_state(run.run_id, RunState.RUNNING)


def cause_of(record: RunRecord) -> EndCause | None:
    """Why it ended."""
    return record.end.cause if record.end else None


def mute_worker(stack: Stack, then: str) -> None:
    """A worker that describes itself, records nothing, and then does `then`."""
    manifest = stack.home / "workers.d" / "mute.toml"
    description = {
        "worker": "mute",
        "version": "1",
        "title": "Mute",
        "record_levels": ["replay"],
        "algorithms": [{"id": "a", "title": "A", "parameters": {}}],
        "environments": [],
    }
    script = stack.home / "mute.py"
    script.write_text(
        "import signal, sys\n"
        f"print({json.dumps(json.dumps(description))}) if sys.argv[1] == 'describe' else {then}\n"
    )
    manifest.write_text(
        f'id = "mute"\ntitle = "Mute"\nroom = "synthetic"\ncommand = ["{{python}}", "{script}"]\n'
    )


def program_worker(stack: Stack, name: str, command: list[str]) -> Path:
    """A program through the pipe; returns the folder of its files."""
    folder = stack.home / "workers.d" / name
    folder.mkdir()
    (folder / "worker.toml").write_text(
        f'id = "{name}"\ntitle = "{name}"\nroom = "synthetic"\n'
        'command = ["{python}", "-m", "mosaic_workerkit.pipe", "{here}/program.toml"]\n'
    )
    words = [sys.executable if word == "{python}" else word for word in command]
    (folder / "program.toml").write_text(
        f'id = "{name}"\ntitle = "{name}"\n[algorithms.a]\ncommand = {json.dumps(words)}\n'
    )
    return folder


async def test_a_run_goes_its_whole_way(stack: Stack) -> None:
    """A run is queued, starts, runs, succeeds; its events are in the store, nothing is left running."""
    run = await stack.submit(steps=2000, parameters={"rate": 2000.0})
    assert run.state is RunState.QUEUED
    assert re.fullmatch(r"Synthetic-v0__synthetic__1__\d{8}-\d{6}", run.name)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.SUCCEEDED, EndCause.COMPLETED)
    assert ended.end is not None
    assert ended.end.exit_code == 0
    assert ended.telemetry_pending, "the event of its end is not stored yet"
    assert ended.progress is not None
    assert ended.progress.total == 2000
    assert ended.first_event_at is not None
    await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    assert await stack.wait_phases(run.run_id) == ["queued", "starting", "running", "succeeded"]
    assert len(stack.recorder.of(run.run_id, "worker")) == 2003
    assert stack.processes(run.run_id) == []

    async def published() -> bool:
        return (await stack.status()).unpublished == 0

    await until(published)


async def test_supervisor_events_tell_the_end(stack: Stack) -> None:
    """The last lifecycle event carries attempt, cause, message, exit code; seq is contiguous from 1."""
    run = await stack.submit(steps=10, parameters={"exit_code": 3})
    await stack.wait_phases(run.run_id)
    events = stack.recorder.of(run.run_id, "supervisor")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    end = [event for event in events if event["type"] == "lifecycle"][-1]
    assert end["data"]["attempt"] == 1
    assert end["data"]["cause"] == "exit_code"
    assert end["data"]["exit_code"] == 3
    assert "exit code 3" in end["data"]["message"]


async def test_an_exception_is_failed_with_the_last_lines(stack: Stack) -> None:
    """A worker that raises: `failed / exit_code`, and the traceback's end is in the record."""
    run = await stack.submit(steps=10, parameters={"fail": True})
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.FAILED, EndCause.EXIT_CODE)
    assert ended.end is not None
    assert any("asked to fail" in line for line in ended.end.last_lines)


async def test_a_crash_is_crashed_with_its_signal(stack: Stack) -> None:
    """SIGSEGV of the worker: `crashed / signal`."""
    run = await stack.submit(steps=10, parameters={"crash": True})
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.CRASHED, EndCause.SIGNAL)
    assert ended.end is not None
    assert ended.end.signal == signal.SIGSEGV


async def test_a_killed_scheduler_learns_the_true_exit_code(stack: Stack) -> None:
    """kill -9 of the scheduler, the worker ends with 3 meanwhile: the next scheduler says `failed`, code 3."""
    run = await running(stack, steps=500, parameters={"rate": 300.0, "exit_code": 3})
    runner = stack.process(run.run_id, RUNNER)
    await stack.kill_scheduler()
    handle = os.pidfd_open(runner.pid)
    gone = asyncio.Event()
    asyncio.get_running_loop().add_reader(handle, gone.set)
    await asyncio.wait_for(gone.wait(), 60)
    asyncio.get_running_loop().remove_reader(handle)
    os.close(handle)
    await stack.start_scheduler()
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.FAILED, EndCause.EXIT_CODE)
    assert ended.end is not None
    assert ended.end.exit_code == 3
    assert await stack.wait_phases(run.run_id) == ["queued", "starting", "running", "failed"]


async def test_a_run_that_ends_without_a_scheduler_has_the_runners_times(stack: Stack) -> None:
    """End and duration are those of the runner's report, not of the moment at which a scheduler came back."""
    run = await running(stack, steps=500, parameters={"rate": 300.0})
    await stack.kill_scheduler()
    await file_exists(stack.worker_file(run.run_id, "control/exit.json"))
    await asyncio.sleep(1.5)  # what is tested is that this time does not count
    await stack.start_scheduler()
    ended = await stack.wait_end(run.run_id)
    report = json.loads(stack.worker_file(run.run_id, "control/exit.json").read_text())
    assert ended.ended_at is not None
    assert ended.started_at is not None
    assert ended.end_recorded_at is not None
    assert ended.ended_at.timestamp() == pytest.approx(report["ended_at"], abs=0.001)
    assert ended.elapsed_s == pytest.approx(report["duration_s"], abs=1.0)
    assert (ended.end_recorded_at - ended.ended_at).total_seconds() > 1.4


@pytest.mark.pace({"runs.end_time.LATE_S": 1.5})
async def test_a_runner_lost_without_a_scheduler_ended_at_its_last_trace(stack: Stack) -> None:
    """Nobody saw a runner that was killed while no scheduler ran: its last change on disk is its end."""
    run = await running(stack)
    await stack.kill_scheduler()
    killed_at = time.time()
    stack.kill(stack.process(run.run_id, RUNNER))
    await asyncio.sleep(3)  # what is tested is that this time does not count
    await stack.start_scheduler()
    ended = await stack.wait_end(run.run_id)
    assert cause_of(ended) is EndCause.RUNNER_LOST
    assert ended.ended_at is not None
    assert ended.ended_at.timestamp() <= killed_at + 1
    assert ended.started_at is not None
    assert ended.elapsed_s is not None
    assert ended.elapsed_s <= killed_at - ended.started_at.timestamp() + 1
    assert ended.end is not None
    assert "last change on disk" in ended.end.message


async def test_a_killed_scheduler_adopts_a_live_run(stack: Stack) -> None:
    """kill -9 of the scheduler: the run goes on untouched, and the next scheduler can stop it."""
    run = await running(stack)
    runner = stack.process(run.run_id, RUNNER)
    await stack.kill_scheduler()
    await stack.start_scheduler()
    adopted = await stack.get(run.run_id)
    assert adopted.state is RunState.RUNNING
    assert stack.process(run.run_id, RUNNER) == runner
    await stack.stop(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)


async def test_sigterm_ends_the_scheduler_and_not_its_runs(stack: Stack) -> None:
    """The scheduler exits 0 on SIGTERM, and the runner lives on."""
    run = await running(stack)
    assert await stack.kill_scheduler(signal.SIGTERM) == 0
    assert stack.process(run.run_id, RUNNER)
    await stack.start_scheduler()
    await stack.stop(run.run_id)
    assert (await stack.wait_end(run.run_id)).state is RunState.CANCELLED


async def test_stop_while_running_is_graceful(stack: Stack) -> None:
    """Stop: `stopping`, then `cancelled` with exit code 0; a second stop changes nothing, also after the end."""
    run = await running(stack)
    assert (await stack.stop(run.run_id)).state is RunState.STOPPING
    await stack.stop(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)
    assert ended.end is not None
    assert ended.end.exit_code == 0
    assert stack.recorder.of(run.run_id, "worker")[-1]["phase"] == "stopped"
    again = await stack.stop(run.run_id)
    assert (again.state, again.end) == (ended.state, ended.end)


async def test_stop_of_a_run_that_ended_by_itself_changes_nothing(stack: Stack) -> None:
    """A run that has succeeded stays so: the answer to a stop is the run as it is."""
    run = await stack.submit(steps=50)
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.SUCCEEDED
    after = await stack.stop(run.run_id)
    assert (after.state, after.end) == (RunState.SUCCEEDED, ended.end)


async def test_stop_in_the_queue_ends_at_once(stack: Stack) -> None:
    """A queued run is `cancelled` in the reply already and never starts."""
    first = await running(stack, cpus=2)
    second = await stack.submit(cpus=2)
    assert (await stack.stop(second.run_id)).state is RunState.CANCELLED
    assert not stack.worker_file(second.run_id, "spec.json").exists()
    await stack.stop(first.run_id)
    await stack.wait_end(first.run_id)


@pytest.mark.nightly(by_day=["0.0", "0.06"])
@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.06, 0.12, 0.25])
async def test_stop_while_starting_ends_the_run(stack: Stack, delay_s: float) -> None:
    """However early a stop comes, the run is `cancelled` soon and nothing of it is left."""
    run = await stack.submit(**LONG)
    await asyncio.sleep(delay_s)  # the moment of the stop is what is varied here
    await stack.stop(run.run_id)
    ended = await stack.wait_end(run.run_id, deadline_s=60)
    assert (ended.state, cause_of(ended)) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)
    assert stack.processes(run.run_id) == []


async def test_a_worker_that_ignores_the_stop_is_killed_after_the_grace(stack: Stack) -> None:
    """A hanging worker: `cancelled`, and the message says that it was killed."""
    run = await running(stack, grace_s=0.5, parameters={"hang": True, "events": 100})
    await stack.stop(run.run_id)
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.CANCELLED
    assert ended.end is not None
    assert "was killed" in ended.end.message


async def test_wall_time_stops_as_timed_out(stack: Stack) -> None:
    """A run beyond its wall time is stopped: `timed_out / wall_time`."""
    run = await stack.submit(**LONG, wall_time_s=2.0)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.TIMED_OUT, EndCause.WALL_TIME)


async def test_a_worker_that_records_nothing_meets_the_start_deadline(
    stack: Stack,
) -> None:
    """No event within the start deadline: `timed_out / start_deadline`, whatever the process does."""
    mute_worker(stack, then="signal.pause()")
    run = await stack.submit(worker="mute", algorithm="a", start_deadline_s=1.0, grace_s=1.0)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.TIMED_OUT, EndCause.START_DEADLINE)


async def test_kept_notes_stay_with_an_ended_run(stack: Stack) -> None:
    """A note that the worker kept is shown with the run after its end, next to the run's own notes."""
    notes = '{"output": "nothing of the output was understood"}'
    mute_worker(stack, then=f"open('control/kept_notes.json', 'w').write({notes!r})")
    run = await stack.submit(worker="mute", algorithm="a")
    ended = await stack.wait_end(run.run_id)
    assert "nothing of the output was understood" in ended.notes


async def test_a_silent_program_meets_the_start_deadline(stack: Stack) -> None:
    """A piped program that prints nothing never counts as running: `timed_out / start_deadline`."""
    program_worker(stack, "quiet", ["sleep", "60"])
    # The pipe used to write the run's config after 5 s.
    run = await stack.submit(worker="quiet", algorithm="a", start_deadline_s=7.0)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.TIMED_OUT, EndCause.START_DEADLINE)
    assert "running" not in await stack.wait_phases(run.run_id)


CLEANS = """
import os, shutil, time
print('{"global_step": 1, "x": 1}', flush=True)
shutil.rmtree(os.getcwd(), ignore_errors=True)
os.makedirs(os.environ["MOSAIC_RUN_DIR"], exist_ok=True)
for step in range(2, 40):
    print('{"global_step": %d, "x": %d}' % (step, step), flush=True)
    time.sleep(0.03)
"""


@PROMPT
@pytest.mark.own_stack
async def test_a_program_that_empties_its_folder_ends_as_it_ended(stack: Stack) -> None:
    """A program that deletes its run folder first: the true end, its log and all of its events."""
    folder = program_worker(stack, "cleans", ["{python}", "{here}/cleans.py"])
    (folder / "cleans.py").write_text(CLEANS)
    run = await stack.submit(worker="cleans", algorithm="a")
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.SUCCEEDED, EndCause.COMPLETED), ended.end
    assert any("deleted files" in note for note in ended.notes)
    assert ended.end is not None
    assert ended.end.last_lines[-1] == '{"global_step": 39, "x": 39}'
    await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    events = stack.recorder.of(run.run_id, "worker")
    assert [event["value"] for event in events if event["type"] == "metric"] == list(range(1, 40))
    assert stack.processes(run.run_id) == []


async def test_a_killed_runner_is_crashed_and_its_telemetry_is_shipped(stack: Stack) -> None:
    """kill -9 of the runner: `crashed / runner_lost`, worker dead, and the whole outbox ends in the store."""
    run = await running(stack)
    # What the worker wrote, and the shipper had no time for, must be shipped later.
    proc.send_signal(stack.process(run.run_id, SHIPPER), signal.SIGKILL)
    proc.send_signal(stack.process(run.run_id, RUNNER), signal.SIGKILL)
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.CRASHED, EndCause.RUNNER_LOST)
    drained = await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    assert drained.end == ended.end
    events = stack.recorder.of(run.run_id, "worker")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert stack.processes(run.run_id) == []


async def test_strays_do_not_outlive_their_run(stack: Stack) -> None:
    """A process that the worker left behind in its own session is gone when the run has ended."""
    run = await stack.submit(steps=10, parameters={"fork_stray": True})
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.SUCCEEDED
    pid = int(stack.worker_file(run.run_id, "stray.pid").read_text())
    assert procfs.start_ticks(pid) is None


async def test_a_killed_runners_stray_is_swept(stack: Stack) -> None:
    """With the runner killed, the scheduler ends what the worker left behind."""
    run = await running(stack, parameters={"fork_stray": True, "rate": 200.0, "events": 10**6})
    pid = int(stack.worker_file(run.run_id, "stray.pid").read_text())
    proc.send_signal(stack.process(run.run_id, RUNNER), signal.SIGKILL)
    await stack.wait_end(run.run_id)
    await _gone(pid)


async def test_orphans_of_unknown_runs_are_ended_at_start(stack: Stack) -> None:
    """A process that claims a run which the scheduler does not know, below our home, does not survive a start."""
    await stack.kill_scheduler()
    run_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    ours = await asyncio.create_subprocess_exec(
        *("sleep", "600"),
        env={
            **os.environ,
            "MOSAIC_RUN_ID": run_id,
            "MOSAIC_RUN_DIR": str(stack.home / "runs" / run_id),
        },
    )
    foreign = await asyncio.create_subprocess_exec(
        *("sleep", "600"),
        env={**os.environ, "MOSAIC_RUN_ID": run_id, "MOSAIC_RUN_DIR": f"/elsewhere/runs/{run_id}"},
    )
    await stack.start_scheduler()
    assert await asyncio.wait_for(ours.wait(), 60) == -signal.SIGKILL
    assert foreign.returncode is None
    foreign.kill()
    await foreign.wait()


async def test_every_queued_run_starts_when_its_cores_are_free(stack: Stack) -> None:
    """Three runs behind one that fills the cores: positions and reasons are shown, and they start in order."""
    holder = await running(stack, cpus=2)
    runs = [await stack.submit(steps=20, parameters={"rate": 200.0}) for _ in range(3)]
    waiting = await stack.wait(runs[2].run_id, lambda record: record.position == 3)
    assert waiting.waiting_reason == "behind 2 runs in the queue"
    first = await stack.get(runs[0].run_id)
    assert first.waiting_reason == "needs 1 core; 0 of 2 free"
    await stack.stop(holder.run_id)
    assert (await stack.wait_end(holder.run_id)).state is RunState.CANCELLED
    ended = [await stack.wait_end(run.run_id) for run in runs]
    assert {record.state for record in ended} == {RunState.SUCCEEDED}
    starts = [record.started_at for record in ended]
    assert starts == sorted(starts, key=str)
    assert all(a.run_id < b.run_id for a, b in itertools.pairwise(ended))


@pytest.mark.nightly
async def test_two_submits_at_once_are_two_runs(stack: Stack) -> None:
    """Submits in the same moment have ids of their own."""
    runs = await asyncio.gather(*(stack.submit(steps=10) for _ in range(8)))
    assert len({run.run_id for run in runs}) == 8
    for run in runs:
        assert (await stack.wait_end(run.run_id)).state is RunState.SUCCEEDED


@IMPATIENT
async def test_silence_is_unresponsive_and_reversible(stack: Stack) -> None:
    """A shipper that stands still makes its run unresponsive after a while; its next word takes that back."""
    run = await running(stack)
    shipper = stack.process(run.run_id, SHIPPER)
    proc.send_signal(shipper, signal.SIGSTOP)
    await stack.wait(run.run_id, lambda record: record.unresponsive, 25)
    proc.send_signal(shipper, signal.SIGCONT)
    back = await stack.wait(run.run_id, lambda record: not record.unresponsive, 5)
    assert back.state is RunState.RUNNING
    await stack.stop(run.run_id)
    assert (await stack.wait_end(run.run_id)).state is RunState.CANCELLED


@PROMPT
async def test_a_broker_outage_costs_neither_run_nor_events(stack: Stack) -> None:
    """The broker dies with its store while a run ends: the state comes, then every event, once, in order."""
    run = await running(stack, parameters={"rate": 200.0, "events": 300})
    stack.broker.kill()
    stack.broker.wipe_store()
    exit_file = stack.worker_file(run.run_id, "control/exit.json")
    await file_exists(exit_file)
    stack.broker.start()
    await stack.recorder.close()
    await stack.recorder.open()
    await until(stack.answers)
    ended = await stack.wait_end(run.run_id, deadline_s=60)
    assert ended.state is RunState.SUCCEEDED
    await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    assert await stack.wait_phases(run.run_id) == ["queued", "starting", "running", "succeeded"]
    worker = stack.recorder.of(run.run_id, "worker")
    assert [event["seq"] for event in worker] == list(range(1, 304))


@pytest.mark.nightly
@IMPATIENT
async def test_a_worker_suspended_by_hand_is_told(stack: Stack) -> None:
    """SIGSTOP of the worker shows as a note, after a while as unresponsive; SIGCONT takes both back."""
    run = await running(stack)
    worker = stack.process(run.run_id, WORKER)
    proc.send_signal(worker, signal.SIGSTOP)
    noted = await stack.wait(run.run_id, lambda r: any("SIGSTOP" in n for n in r.notes), 10)
    assert noted.progress is not None
    await stack.wait(run.run_id, lambda r: r.unresponsive, 25)
    proc.send_signal(worker, signal.SIGCONT)
    await stack.wait(run.run_id, lambda r: not r.unresponsive, 5)
    await stack.stop(run.run_id)
    await stack.wait_end(run.run_id)


async def _gone(pid: int) -> None:
    async def is_gone() -> bool:
        return procfs.start_ticks(pid) is None

    await until(is_gone)


async def refusal(stack: Stack, **spec: object) -> ProblemError:
    """What a submit is refused with."""
    with pytest.raises(ProblemError) as refused:
        await stack.submit(**spec)
    return refused.value


@pytest.mark.own_stack
async def test_what_cannot_run_is_refused_at_submit(stack: Stack) -> None:
    """Unknown worker, parameter, too many cores: refused with code and words, and no run exists."""
    assert (await refusal(stack, worker="synthetix")).problem.code == ProblemCode.WORKER_UNKNOWN
    too_many = await refusal(stack, cpus=8)
    assert too_many.problem.code == ProblemCode.RESOURCES_IMPOSSIBLE
    assert "needs 8 cores, this machine gives 2" in too_many.problem.detail
    typo = await refusal(stack, parameters={"exit_cod": 1})
    assert typo.problem.code == ProblemCode.PARAMETER_UNKNOWN
    assert typo.problem.fields[0]["nearest"][0] == "exit_code"
    runs = await stack.bus.request("scheduler", "list", ListRequest(), RunRecords)
    assert runs.runs == []


async def test_a_dry_run_starts_nothing(stack: Stack) -> None:
    """`dry_run` answers with the worker's plan, or with what is wrong."""
    good = SubmitRequest(spec={**SPEC, "worker": "fake_worker"}, dry_run=True)
    report = await stack.bus.request("scheduler", "submit", good, CheckReport, timeout_s=20)
    assert report.ok
    bad = SubmitRequest(spec={**SPEC, "environment": "Sinthetic-v0"}, dry_run=True)
    report = await stack.bus.request("scheduler", "submit", bad, CheckReport, timeout_s=20)
    assert not report.ok
    assert report.findings[0].nearest == ["Synthetic-v0"]
    assert (await stack.status()).queued == 0
    assert stack.processes() == []


@pytest.mark.parametrize(
    ("check", "messages"),
    [
        (
            {
                "ok": False,
                "findings": [
                    {"level": "blocking", "where": "environment", "message": "E-v0 is too wide"},
                    {"level": "warning", "where": "environment", "message": "E-v0 is old"},
                    {"level": "blocking", "where": "steps", "message": "too few"},
                ],
                "plan": {},
            },
            ["E-v0 is too wide"],
        ),
        (
            {
                "ok": False,
                "findings": [{"level": "blocking", "where": "spec", "message": "not E-v0"}],
                "plan": {},
            },
            ["not E-v0"],
        ),
        ({"ok": True, "findings": [], "plan": {"environment": "E-v0"}}, []),
        (
            {"ok": True, "findings": [], "plan": {}},
            [
                "there is no environment 'E-v0' here; known are "
                "Long-0, Long-1, Long-2, Long-3, Long-4, Long-5, Long-6, Long-7 and 2 more"
            ],
        ),
    ],
    ids=["its reason", "its reason elsewhere", "it can", "it says nothing"],
)
async def test_an_unlisted_environment_is_the_workers_to_judge(
    stack: Stack, check: dict[str, Any], messages: list[str]
) -> None:
    """An environment that a worker does not list is refused for the worker's own reason, or taken where it can."""
    names = [f"Long-{number}" for number in range(10)]
    script_worker(stack, "choosy", check, environments=names)
    asked = SubmitRequest(spec={**SCRIPT_SPEC, "worker": "choosy"}, dry_run=True)
    report = await stack.bus.request("scheduler", "submit", asked, CheckReport, timeout_s=20)
    assert [finding.message for finding in report.findings] == messages
    assert report.ok is not bool(messages)


@pytest.mark.own_stack
async def test_a_full_disk_refuses_new_runs(stack: Stack) -> None:
    """With less free space than is kept, submit says DISK_LOW and what to do."""
    await stack.kill_scheduler()
    stack.environment["MOSAIC_DISK_RESERVE_BYTES"] = str(2**60)
    await stack.start_scheduler()
    refused = await refusal(stack)
    assert refused.problem.code == ProblemCode.DISK_LOW
    assert "MOSAIC_DISK_RESERVE_BYTES" in refused.problem.detail


async def test_pages_of_runs_are_newest_first(stack: Stack) -> None:
    """`list` pages by run id, filters by state, and knows the workers."""
    runs = [await stack.submit(cpus=2) for _ in range(4)]
    ids = [run.run_id for run in reversed(runs)]
    page = await stack.bus.request("scheduler", "list", ListRequest(limit=2), RunRecords)
    assert [run.run_id for run in page.runs] == ids[:2]
    rest = ListRequest(before=ids[1], states=["queued"])
    page = await stack.bus.request("scheduler", "list", rest, RunRecords)
    assert [run.run_id for run in page.runs if run.run_id != ids[3]] == [ids[2]]
    entries = await stack.bus.request("scheduler", "workers", None, WorkerEntries)
    assert [(entry.manifest.id, entry.ready) for entry in entries.workers] == [("synthetic", True)]
    for run_id in ids:
        await stack.stop(run_id)
    for run_id in ids:
        assert (await stack.wait_end(run_id)).state is RunState.CANCELLED


async def test_a_worker_whose_environment_is_missing_is_told(stack: Stack) -> None:
    """Submit says `worker_not_ready` and the command that makes the environment."""
    (stack.home / "workers.d" / "far.toml").write_text(
        'id = "far"\ntitle = "Far"\nroom = "far"\ncommand = ["{python}"]\n'
    )
    refused = await refusal(stack, worker="far")
    assert refused.problem.code == ProblemCode.WORKER_NOT_READY
    assert "./mosaic sync far" in refused.problem.detail


async def test_exit_zero_without_events_is_failed(stack: Stack) -> None:
    """A worker that ends well but recorded nothing: `failed / no_events`."""
    mute_worker(stack, then="sys.exit(0)")
    run = await stack.submit(worker="mute", algorithm="a")
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.FAILED, EndCause.NO_EVENTS)


async def test_a_run_stopped_from_outside_is_cancelled(stack: Stack) -> None:
    """SIGTERM to the runner by hand: `cancelled`, and the message says that it came from outside."""
    run = await running(stack)
    proc.send_signal(stack.process(run.run_id, RUNNER), signal.SIGTERM)
    ended = await stack.wait_end(run.run_id)
    assert ended.state is RunState.CANCELLED
    assert ended.end is not None
    assert "outside" in ended.end.message


@PROMPT
async def test_runs_without_a_broker_get_their_state_and_their_events_later(stack: Stack) -> None:
    """The scheduler is killed and the broker away while a run ends; both come back: nothing is missing."""
    run = await running(stack, parameters={"rate": 200.0, "events": 300})
    await stack.kill_scheduler()
    stack.broker.kill()
    await file_exists(stack.worker_file(run.run_id, "control/exit.json"))
    proc.send_signal(stack.process(run.run_id, RUNNER), signal.SIGKILL)
    stack.broker.start()
    # nats-py's ordered consumer notices only after half a minute that its broker was another one.
    await stack.recorder.close()
    await stack.recorder.open()
    await asyncio.wait_for(stack.bus.connected.wait(), 60)
    await stack.start_scheduler()
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.SUCCEEDED, EndCause.COMPLETED)
    await stack.wait(run.run_id, lambda record: not record.telemetry_pending)
    worker = stack.recorder.of(run.run_id, "worker")
    assert [event["seq"] for event in worker] == list(range(1, 304))


@pytest.mark.own_stack
async def test_a_run_whose_control_folder_is_gone_is_stopped_and_costs_no_other(
    stack: Stack,
) -> None:
    """A worker may delete its folder: its stop comes through once, politely, and other runs go on."""
    run = await running(stack, grace_s=10)
    shutil.rmtree(stack.home / run.run_dir / "control")
    assert (await stack.stop(run.run_id)).state is RunState.STOPPING
    ended = await stack.wait_end(run.run_id)
    assert (ended.state, cause_of(ended)) == (RunState.CANCELLED, EndCause.STOPPED_BY_USER)
    other = await stack.submit(steps=100)
    assert (await stack.wait_end(other.run_id)).state is RunState.SUCCEEDED

    async def is_gone() -> bool:
        return stack.processes(run.run_id) == []

    # Its runner could not write its report and died of that; the shipper sees it and ends by itself.
    await until(is_gone)
