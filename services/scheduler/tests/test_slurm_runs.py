"""Runs on a real Slurm cluster, through the scheduler: what waits, what ends and why."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.homes import pace_of
from tests.slurm import SlurmCluster, why_not
from tests.stack import SPEC, Stack, until

from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import MoveRequest, RunRecords, RunRequest, SubmitRequest
from mosaic_contracts.states import EndCause, RunState
from mosaic_scheduler.executors.slurm_jobs import FORMAT, SlurmJob, parse_jobs
from mosaic_servicekit.testing import TestBroker

pytestmark = [
    pytest.mark.broker,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(why_not()), reason=f"needs a real Slurm: {why_not()}"),
]
LONG: dict[str, Any] = {"events": 10**7, "rate": 100.0, "save_every": 50}
DEADLINE_S = 120.0
IS_LONG = int(os.environ.get("MOSAIC_TEST_REPEAT", "1")) > 1
CRASHES_AFTER_S = [0.0, 1.0, 1.5, 2.0, 3.0, 5.0] if IS_LONG else [2.0]
"""Between a submission and the crash of the controller."""
WAITS_S = 4.0
"""So long a run waits beyond its start deadline; `benchmarks/slurm_queue.py` waits for ten minutes."""
ABSENCE_S = 600.0 if IS_LONG else 60.0
"""A long absence of the controller."""
AWAY_S = 1.0
"""Between that crash and the controller's next start."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """One cluster for the tests of the module."""
    with SlurmCluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture
async def stack(
    cluster: SlurmCluster,
    home: Path,
    stack_venvs: Path,
    secure_broker: TestBroker,
    request: pytest.FixtureRequest,
) -> AsyncIterator[Stack]:
    """A stack whose runs are jobs of the cluster."""
    running = Stack(home, stack_venvs, secure_broker)
    running.pace = pace_of(request)
    running.environment |= {
        **cluster.environment,
        "MOSAIC_PLACEMENT": "slurm",
        "MOSAIC_SLURM_POLL_S": "0.5",
    }
    try:
        await running.open()
        yield running
    finally:
        cluster.run("scancel", "--quiet", "--user=root", check=False)
        await running.close()


async def submit(stack: Stack, **spec: Any) -> RunRecord:
    """Start a run that goes on until it is stopped, unless `parameters` say otherwise."""
    return await stack.submit(**{"parameters": LONG, **spec})


def job_of(cluster: SlurmCluster, run_id: str) -> SlurmJob:
    """The newest job of a run."""
    jobs = parse_jobs(cluster.run("squeue", "-h", "-a", "-t", "all", "-o", FORMAT))
    return max((job for job in jobs if run_id in job.name), key=lambda job: int(job.job_id))


async def waiting(stack: Stack) -> list[RunRecord]:
    """What `queue` lists."""
    return (await stack.bus.request("scheduler", "queue", None, RunRecords)).runs


def is_unseen(record: RunRecord) -> bool:
    """Whether nothing is known of a run now."""
    return any("state is unknown" in note for note in record.notes)


async def has_reason(stack: Stack, run_id: str, words: str) -> RunRecord:
    """Wait until a run waits for this reason."""
    return await stack.wait(
        run_id, lambda record: words in (record.waiting_reason or ""), DEADLINE_S
    )


async def test_a_run_waits_at_slurm_with_its_reason_and_starts_later(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """It keeps its place also over a scheduler that is killed, and its start is that of the job."""
    cluster.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    try:
        run = await submit(stack, start_deadline_s=30.0, parameters={"events": 50})
        queued = await has_reason(stack, run.run_id, "the partition does not start jobs now")
        assert (queued.state, queued.started_at) == (RunState.STARTING, None)
        assert [each.waiting_reason for each in await waiting(stack)] == [queued.waiting_reason]
        status = await stack.status()
        assert (status.queued, status.live) == (1, 0)
        await stack.kill_scheduler()
        await stack.start_scheduler()
        await has_reason(stack, run.run_id, "the partition does not start jobs now")
    finally:
        cluster.run("scontrol", "update", "PartitionName=main", "State=UP")
    ended = await stack.wait_end(run.run_id, DEADLINE_S)
    assert ended.state is RunState.SUCCEEDED, ended.end
    assert ended.started_at is not None
    assert ended.node in cluster.nodes
    assert await waiting(stack) == []


@pytest.mark.nightly
async def test_what_waits_at_slurm_is_held_released_and_reordered(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """By the same verbs as in MOSAIC's own queue; Slurm says before a run is submitted whether it takes it."""
    cluster.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    try:
        first, second = [await submit(stack, parameters={"events": 50}) for _ in range(2)]
        for run in (first, second):
            await has_reason(stack, run.run_id, "the partition does not start jobs now")

        async def move(run: RunRecord, **changes: Any) -> RunRecord:
            request = MoveRequest(run_id=run.run_id, move=changes)
            return await stack.bus.request(
                "scheduler", "move", request, RunRecord, timeout_s=DEADLINE_S
            )

        assert (await move(second, priority=5)).priority == 5

        async def is_lowered() -> bool:
            return job_of(cluster, first.run_id).nice == 5

        await until(is_lowered)
        assert job_of(cluster, second.run_id).nice == 0
        assert (await move(first, hold=True)).held
        await has_reason(stack, first.run_id, "`./mosaic queue release` lets it start")
        assert job_of(cluster, first.run_id).reason == "JobHeldUser"
        with pytest.raises(ProblemError, match="only hold, release and priority"):
            await move(first, before=second.run_id)
        cluster.run("scontrol", "update", "PartitionName=main", "State=UP")
        assert (await stack.wait_end(second.run_id, DEADLINE_S)).state is RunState.SUCCEEDED
        assert (await stack.get(first.run_id)).state is RunState.STARTING
        assert not (await move(first, hold=False)).held
        assert (await stack.wait_end(first.run_id, DEADLINE_S)).state is RunState.SUCCEEDED
    finally:
        cluster.run("scontrol", "update", "PartitionName=main", "State=UP")
    request = SubmitRequest(spec={**SPEC, "parameters": {"events": 50}})
    report = await stack.bus.request(
        "scheduler", "preflight", request, PreflightReport, timeout_s=DEADLINE_S
    )
    line = next(line for line in report.lines if line.id == "cluster")
    assert (line.level, "Slurm takes it" in line.message) == ("ok", True)


async def test_a_stop_while_it_waits_takes_the_job_out_of_the_queue(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """It never ran, and is cancelled. Its start deadline counts from the start of its job."""
    cluster.run("scontrol", "update", "PartitionName=main", "State=DOWN")
    try:
        run = await submit(stack, start_deadline_s=1.0)
        await has_reason(stack, run.run_id, "queued at Slurm")
        await asyncio.sleep(WAITS_S)  # the time in the queue is what is tested
        assert (await stack.get(run.run_id)).state is RunState.STARTING
        await stack.stop(run.run_id)
        ended = await stack.wait_end(run.run_id, DEADLINE_S)
    finally:
        cluster.run("scontrol", "update", "PartitionName=main", "State=UP")
    assert ended.state is RunState.CANCELLED, ended.end
    assert ended.started_at is None
    assert job_of(cluster, run.run_id).state == "CANCELLED"


@pytest.mark.nightly
async def test_nothing_ends_while_the_controller_is_away(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """The run goes on with a note, and a stop is passed on when the controller is back."""
    run = await submit(stack)
    await stack.wait_state(run.run_id, RunState.RUNNING, deadline_s=DEADLINE_S)
    cluster.wait_saved(job_of(cluster, run.run_id).job_id)
    cluster.kill("slurmctld")
    try:
        noted = await stack.wait(run.run_id, is_unseen, DEADLINE_S)
        assert noted.state is RunState.RUNNING
        asked = await stack.bus.request(
            "scheduler", "stop", RunRequest(run_id=run.run_id), RunRecord, timeout_s=DEADLINE_S
        )
        assert asked.state is RunState.STOPPING
    finally:
        cluster.start_controller()
    ended = await stack.wait_end(run.run_id, DEADLINE_S)
    assert (ended.state, ended.end and ended.end.exit_code) == (RunState.CANCELLED, 0), ended.end


@pytest.mark.nightly
@pytest.mark.timeout(1500)
async def test_nothing_ends_in_a_long_absence_of_the_controller(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """12 runs live and 8 wait: none changes its state, each says that it is unknown, and a stop waits."""
    runs = [await submit(stack, start_deadline_s=900.0) for _ in range(20)]
    ids = [run.run_id for run in runs]
    for run_id in ids[:12]:
        await stack.wait_state(run_id, RunState.RUNNING, deadline_s=4 * DEADLINE_S)
    await has_reason(stack, ids[-1], "queued at Slurm")
    cluster.wait_saved(job_of(cluster, ids[-1]).job_id)
    states = {run_id: (await stack.get(run_id)).state for run_id in ids}
    cluster.kill("slurmctld")
    try:
        await asyncio.sleep(ABSENCE_S)  # the time of the absence is what is tested
        for run_id in ids:
            seen = await stack.wait(run_id, is_unseen, DEADLINE_S)
            assert seen.state is states[run_id]
        await stack.stop(ids[0])
        await asyncio.sleep(1.0)  # a stop that ended the run at once would be seen by now
        assert (await stack.get(ids[0])).state is RunState.STOPPING
    finally:
        cluster.start_controller()
    assert (await stack.wait_end(ids[0], DEADLINE_S)).state is RunState.CANCELLED
    for run_id in ids[1:12]:
        assert (await stack.get(run_id)).state is RunState.RUNNING


@pytest.mark.nightly
async def test_a_job_that_somebody_cancels_is_a_cancelled_run(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """`scancel` by hand: the worker saved its checkpoint, and the message names Slurm."""
    run = await submit(stack)
    await stack.wait_state(run.run_id, RunState.RUNNING, deadline_s=DEADLINE_S)
    cluster.run("scancel", job_of(cluster, run.run_id).job_id)
    ended = await stack.wait_end(run.run_id, DEADLINE_S)
    assert ended.end is not None
    assert (ended.state, ended.end.exit_code) == (RunState.CANCELLED, 0)
    assert "`scancel`" in ended.end.message


@pytest.mark.nightly
async def test_a_run_beyond_its_memory_is_out_of_memory(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """Slurm's limit is the run's `memory_mb`, and the message names it."""
    if not cluster.has_cgroups:
        pytest.skip("no cgroups of version 1: Slurm enforces no memory limit here")
    parameters = {"events": 10, "memory_mb": 800, "seconds": 60.0}
    run = await submit(stack, memory_mb=300, parameters=parameters)
    ended = await stack.wait_end(run.run_id, DEADLINE_S)
    assert ended.end is not None
    assert (ended.state, ended.end.cause) == (RunState.CRASHED, EndCause.OUT_OF_MEMORY)
    assert "300 MiB" in ended.end.message


@pytest.mark.nightly
async def test_a_preempted_run_is_interrupted_and_goes_on(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """A job of higher priority takes its nodes; with `restart` the next attempt waits in the queue again."""
    await stack.kill_scheduler()
    stack.environment["MOSAIC_SLURM_PARTITION"] = "low"
    await stack.start_scheduler()
    run = await submit(stack, restart="on_interrupt")
    await stack.wait_state(run.run_id, RunState.RUNNING, deadline_s=DEADLINE_S)
    script = cluster.folder / "others.sh"
    script.write_text("#!/bin/sh\nsleep 600\n")
    others = cluster.run(
        *("sbatch", "--parsable", "-p", "main", "-N3", "--exclusive", "-o", "/dev/null"),
        str(script),
    ).strip()
    try:
        again = await stack.wait(run.run_id, lambda record: record.attempt == 2, DEADLINE_S)
        assert any("preempted" in note for note in again.notes), again.notes
    finally:
        cluster.run("scancel", others)
    await stack.wait_state(run.run_id, RunState.RUNNING, deadline_s=DEADLINE_S)


@pytest.mark.nightly
async def test_two_runs_on_a_node_have_different_gpus(stack: Stack, cluster: SlurmCluster) -> None:
    """Each sees its own by Slurm's variable, and no device of the other can be opened."""
    await stack.kill_scheduler()
    stack.environment["MOSAIC_SLURM_OPTIONS"] = f"--nodelist={cluster.nodes[0]}"
    await stack.start_scheduler()
    runs = [await submit(stack, gpus=1) for _ in range(2)]
    for run in runs:
        await stack.wait_state(run.run_id, RunState.RUNNING, deadline_s=DEADLINE_S)
    workers = [stack.process(run.run_id, "mosaic_workerkit.testing.synthetic") for run in runs]
    visible = [_variable(worker.pid, "SLURM_JOB_GPUS") for worker in workers]
    assert sorted(visible) == ["0", "1"]
    if cluster.has_cgroups:
        opened = [_opens(worker.pid, cluster.folder, "1") for worker in workers]
        # The devices are no real ones: a driver that is not there is met behind the wall only.
        assert sorted("Operation not permitted" in said for said in opened) == [False, True]


def _variable(pid: int, name: str) -> str:
    variables = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return next(v.partition("=")[2] for v in variables if v.startswith(f"{name}="))


def _opens(pid: int, folder: Path, device: str) -> str:
    """What the kernel answers a process in the cgroup of `pid` that opens a GPU of the first node."""
    groups = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    path = next(line.split(":", 2)[2] for line in groups if "devices" in line.split(":")[1])
    script = f"echo $$ > /sys/fs/cgroup/devices{path}/cgroup.procs; cat {folder}/gpu1{device}"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    return done.stderr


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.pace({"reconcile.decision.UNSEEN_S": 8.0})
async def test_heartbeats_decide_when_slurm_says_that_a_node_failed(
    stack: Stack, cluster: SlurmCluster
) -> None:
    """Where only Slurm's daemon died the run goes on; where the node died it is interrupted."""
    alive, dead = [await submit(stack, cpus=4) for _ in range(2)]
    for run in (alive, dead):
        await stack.wait_state(run.run_id, RunState.RUNNING, deadline_s=DEADLINE_S)
    nodes = [job_of(cluster, run.run_id).node for run in (alive, dead)]
    cluster.kill(nodes[0])
    cluster.kill_node(nodes[1])
    try:
        ended = await stack.wait_end(dead.run_id, 2 * DEADLINE_S)
        assert ended.end is not None
        assert ended.state is RunState.INTERRUPTED, ended.end
        assert f"its node {nodes[1]} failed" in ended.end.message
        assert job_of(cluster, alive.run_id).state == "NODE_FAIL"
        assert (await stack.get(alive.run_id)).state is RunState.RUNNING
    finally:
        for node in nodes:
            cluster.start_node(node)
    # The daemon is back, and ends what Slurm no longer knows: the runner says how.
    ended = await stack.wait_end(alive.run_id, DEADLINE_S)
    assert ended.end is not None
    assert (ended.state, ended.end.exit_code) == (RunState.INTERRUPTED, 0), ended.end


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.pace({"reconcile.decision.UNSEEN_S": 8.0})
@pytest.mark.parametrize("after_s", CRASHES_AFTER_S)
async def test_a_young_run_outlives_a_crash_of_the_controller(
    stack: Stack, cluster: SlurmCluster, after_s: float
) -> None:
    """It succeeds in its first attempt, or is interrupted for a named reason and succeeds in its second.

    The controller saves its state up to 5 s late: it forgets a young job, or starts it a second time.
    """
    parameters: dict[str, Any] = {"events": 1500, "rate": 100.0, "save_every": 50}
    run = await submit(stack, parameters=parameters, restart="on_interrupt")
    try:
        await asyncio.sleep(after_s)  # the moment of the crash is what is tested
        cluster.kill("slurmctld")
        await asyncio.sleep(AWAY_S)
        cluster.start_controller()
        ended = await stack.wait_end(run.run_id, 2 * DEADLINE_S)
    finally:
        # Slurm drains a node on which it found a job that it took for a waiting one.
        nodes = f"NodeName={','.join(cluster.nodes)}"
        cluster.run("scontrol", "update", nodes, "State=RESUME", check=False)
    notes = "\n".join(ended.notes)
    assert ended.state is RunState.SUCCEEDED, (ended.end, notes)
    assert ended.attempt <= 2, notes
    assert ended.attempt == 1 or "Slurm" in notes, notes
