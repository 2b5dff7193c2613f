"""A run as a Slurm job on a node that shares no folder with the scheduler, on a real Slurm over TLS."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.node_stack import SECRET, NodeStack, node_stack
from tests.slurm import SlurmCluster, why_not
from tests.stack import until

from mosaic_contracts import launch
from mosaic_contracts.launch import ExitPhase
from mosaic_scheduler.executors.protocol import AttemptPhase
from mosaic_scheduler.executors.slurm import SlurmExecutor, SlurmOptions
from mosaic_servicekit.testing import TestBroker

pytestmark = [
    pytest.mark.broker,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(why_not()), reason=f"needs a real Slurm: {why_not()}"),
]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SlurmCluster]:
    """A cluster whose third node sees neither the stack's runs nor the other nodes' folders."""
    hidden = tmp_path / "home" / "runs", tmp_path / "node-home"
    for folder in hidden:
        folder.mkdir(parents=True)
    running = SlurmCluster(tmp_path / "slurm")
    try:
        running.start()
        running.kill(running.nodes[2])
        running.start_node(running.nodes[2], hidden)
        yield running
    finally:
        running.stop()


@pytest.fixture
def tls_broker(tmp_path: Path) -> Iterator[TestBroker]:
    """A broker with accounts and TLS."""
    with TestBroker(tmp_path / "home", secure=True, tls_hosts=["127.0.0.1"]) as running:
        yield running


@pytest.fixture
def executor(
    cluster: SlurmCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SlurmExecutor]:
    """Jobs go to that node."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    options = SlurmOptions(
        poll_s=0.5,
        more=(f"--nodelist={cluster.nodes[2]}",),
        node_home=str(tmp_path / "node-home"),
    )
    made = SlurmExecutor(tmp_path / "home", options)
    yield made
    made.close()


async def _phase(nodes: NodeStack) -> AttemptPhase:
    return (await nodes.executor.status(nodes.ref)).phase


async def test_a_job_on_a_node_that_shares_nothing(
    executor: SlurmExecutor,
    cluster: SlurmCluster,
    tls_broker: TestBroker,
    tmp_path: Path,
    venvs: Path,
) -> None:
    """It succeeds with every event, log and checkpoint here; its script holds no secret, and the node is left clean."""
    async with node_stack(tls_broker, tmp_path, venvs, executor=executor) as nodes:
        launch_spec = await nodes.insert(events=400, rate=200.0, save_every=150)
        assert await _phase(nodes) is AttemptPhase.ABSENT
        await nodes.executor.submit(launch_spec)

        async def alive() -> bool:
            return nodes.here.begun() is not None and await _phase(nodes) is not AttemptPhase.QUEUED

        await until(alive)
        job = cluster.run("squeue", "-h", "-o", "%A").split()[0]
        script = cluster.run("scontrol", "write", "batch_script", job, "-")
        assert "base64 -d" in script
        assert SECRET not in script

        async def ended() -> bool:
            return await _phase(nodes) is AttemptPhase.ENDED

        await until(ended)
        report = nodes.here.report()
        assert report is not None
        assert (report.phase, report.code) == (ExitPhase.DRAINED, 0)
        seqs = [event["seq"] for event in nodes.recorder.of(nodes.ref.run_id, "worker")]
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) > 400
        assert (nodes.here.path / launch.WORKER_LOG).exists()
        assert list((nodes.here.path / "checkpoints").iterdir())
        assert not (nodes.here.path / launch.RUNNER_LOCK).exists()
        assert not list((tmp_path / "node-home").iterdir())  # only the node has that folder
        assert await nodes.executor.drain(nodes.ref, 1.0)


async def test_a_folder_of_another_user_holds_no_run(
    executor: SlurmExecutor,
    cluster: SlurmCluster,
    tls_broker: TestBroker,
    tmp_path: Path,
    venvs: Path,
) -> None:
    """The owner of a folder above could read the run's secrets: the job ends at once, and says what to do."""
    daemon = (cluster.folder / f"slurmd-{cluster.nodes[2]}.pid").read_text().strip()
    seen = Path(f"/proc/{daemon}/root{tmp_path}/node-home")
    (seen / "runs").mkdir()
    os.chown(seen / "runs", 65534, 65534)
    async with node_stack(tls_broker, tmp_path, venvs, executor=executor) as nodes:
        await nodes.executor.submit(await nodes.insert(events=10))

        async def refused() -> bool:
            return await _phase(nodes) is AttemptPhase.REFUSED

        await until(refused)
        status = await nodes.executor.status(nodes.ref)
        assert "belongs to another user" in status.detail
        assert "--node-home" in status.detail
        assert not list((seen / "runs").iterdir())


async def test_a_stop_reaches_a_node_that_shares_nothing(
    executor: SlurmExecutor, tls_broker: TestBroker, tmp_path: Path, venvs: Path
) -> None:
    """The runner is the job's script, so that the signal meets it; the worker ends at a safe point."""
    async with node_stack(tls_broker, tmp_path, venvs, executor=executor) as nodes:
        await nodes.executor.submit(await nodes.insert(events=1_000_000, rate=100.0))

        async def has_events() -> bool:
            return bool(nodes.recorder.of(nodes.ref.run_id, "worker"))

        await until(has_events)
        await nodes.executor.cancel(nodes.ref)

        async def ended() -> bool:
            return await _phase(nodes) is AttemptPhase.ENDED

        await asyncio.wait_for(until(ended), 90)
        report = nodes.here.report()
        assert report is not None
        assert (report.code, report.stop_signal_sent) == (0, True)
