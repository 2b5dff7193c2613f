"""Runs as jobs of Ray on a node that shares no folder with the scheduler, on a real Ray."""

import asyncio
import json
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

import pytest
import requests
from tests.executor_conformance import ExecutorConformance, synthetic_launch
from tests.node_stack import NONCE, SECRET, NodeStack, node_stack
from tests.ray_cluster import processes, ray_cluster
from tests.records import make_record
from tests.stack import SmallRecorder, until

from mosaic_contracts import launch
from mosaic_contracts.launch import ExitPhase
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.states import RunState
from mosaic_scheduler.events.stop_request import ask_runner_to_stop
from mosaic_scheduler.executors import proc
from mosaic_scheduler.executors.cluster_jobs import JobNames
from mosaic_scheduler.executors.protocol import AttemptPhase, AttemptRef, Executor, LaunchSpec
from mosaic_scheduler.executors.ray import RayExecutor
from mosaic_scheduler.executors.ray_jobs import RayJobs
from mosaic_scheduler.nodes.requests import NodeRequests
from mosaic_scheduler.runs.parsed import StoredRun
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker

pytestmark = [pytest.mark.broker, pytest.mark.nightly, pytest.mark.timeout(300)]


@dataclass
class Nodes:
    """A cluster that has folders of its own in place of the stack's runs and of the other nodes' folders."""

    folder: Path
    """`home` in it is the stack's, `node-home` the nodes'."""
    ray: Path
    address: str

    @property
    def node_home(self) -> Path:
        """Folder of runs, as the node names it."""
        return self.folder / "node-home"

    def on_node(self, path: Path) -> Path:
        """A path of the node, to be read from here."""
        raylet = processes(self.ray, "raylet")[0]
        return Path(f"/proc/{raylet.pid}/root") / path.relative_to("/")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A real cluster."""
    with (
        tempfile.TemporaryDirectory(prefix="ray-") as ray,
        tempfile.TemporaryDirectory(prefix="mosaic-") as made,
    ):
        folder = Path(made)
        hidden = folder / "home" / "runs", folder / "node-home"
        for each in hidden:
            each.mkdir(parents=True)
        with ray_cluster(Path(ray), hidden) as address:
            yield Nodes(folder, Path(ray), address)


@pytest.fixture
def tls_broker(nodes: Nodes) -> Iterator[TestBroker]:
    """A broker with accounts and TLS."""
    with TestBroker(nodes.folder / "home", secure=True, tls_hosts=["127.0.0.1"]) as running:
        yield running


@asynccontextmanager
async def _ray_stack(
    nodes: Nodes, broker: TestBroker, venvs: Path
) -> AsyncIterator[tuple[NodeStack, RayJobs]]:
    jobs = RayJobs(nodes.address)
    bus = Bus(broker.url, "scheduler", broker.creds("scheduler"), broker.ca)
    await bus.start()
    executor = RayExecutor(
        nodes.folder / "home",
        jobs,
        partial(ask_runner_to_stop, bus),
        poll_s=0.5,
        node_home=str(nodes.node_home),
    )
    try:
        async with node_stack(broker, nodes.folder, venvs, executor=executor) as stack:
            yield stack, jobs
    finally:
        executor.close()
        await bus.close()


async def _phase(stack: NodeStack) -> AttemptPhase:
    return (await stack.executor.status(stack.ref)).phase


async def _ended(stack: NodeStack) -> bool:
    return await _phase(stack) is AttemptPhase.ENDED


def _shown(address: str) -> str:
    """What the cluster shows of its jobs: the list, and what each printed."""
    text = requests.get(f"{address}/api/jobs/", timeout=30).text
    for job in json.loads(text):
        if name := job["submission_id"]:
            text += requests.get(f"{address}/api/jobs/{name}/logs", timeout=30).text
    return text


def _files_of_ray(nodes: Nodes) -> str:
    """What lies in the cluster's logs."""
    logs = (nodes.ray / "session_latest" / "logs").rglob("*")
    return "".join(path.read_text(errors="replace") for path in logs if path.is_file())


async def test_a_job_on_a_node_that_shares_nothing(
    nodes: Nodes, tls_broker: TestBroker, venvs: Path
) -> None:
    """It succeeds with every event, log and checkpoint here; Ray shows no secret, and the node is left clean."""
    async with _ray_stack(nodes, tls_broker, venvs) as (stack, _):
        launch_spec = await stack.insert(events=400, rate=200.0, save_every=150)
        assert await _phase(stack) is AttemptPhase.ABSENT
        await stack.executor.submit(launch_spec)
        key = (stack.here.path / launch.CREDS_FILE).read_text().split("SEED-----\n")[1][:40]

        async def begun() -> bool:
            return stack.here.begun() is not None and await _phase(stack) is not AttemptPhase.QUEUED

        await until(begun)
        shown = await asyncio.to_thread(_shown, nodes.address)
        assert stack.ref.run_id in shown
        await until(partial(_ended, stack))
        shown += await asyncio.to_thread(_shown, nodes.address)
        shown += await asyncio.to_thread(_files_of_ray, nodes)
        for secret in (SECRET, NONCE, key):
            assert secret not in shown
        report = stack.here.report()
        assert report is not None
        assert (report.phase, report.code) == (ExitPhase.DRAINED, 0)
        seqs = [event["seq"] for event in stack.recorder.of(stack.ref.run_id, "worker")]
        assert seqs == list(range(1, len(seqs) + 1))
        assert len(seqs) > 400
        assert (stack.here.path / launch.WORKER_LOG).exists()
        assert list((stack.here.path / "checkpoints").iterdir())
        assert not (stack.here.path / launch.RUNNER_LOCK).exists()
        assert not list(nodes.node_home.iterdir())  # only the node has that folder

        async def is_clean() -> bool:
            return not nodes.on_node(nodes.node_home / "runs" / stack.ref.run_id).exists()

        await until(is_clean)
        assert not list(nodes.ray.rglob("job.sh"))
        assert await stack.executor.drain(stack.ref, 1.0)


async def test_a_stop_reaches_a_node_that_shares_nothing(
    nodes: Nodes, tls_broker: TestBroker, venvs: Path
) -> None:
    """It goes over the broker to the runner alone; the worker ends at a safe point."""
    async with _ray_stack(nodes, tls_broker, venvs) as (stack, _):
        await stack.executor.submit(await stack.insert(events=1_000_000, rate=100.0))

        async def has_events() -> bool:
            return bool(stack.recorder.of(stack.ref.run_id, "worker"))

        await until(has_events)
        await stack.executor.cancel(stack.ref)
        await asyncio.wait_for(until(partial(_ended, stack)), 90)
        report = stack.here.report()
        assert report is not None
        assert (report.code, report.stop_signal_sent) == (0, True)


class _LiveAttempts:
    """The runs of a scheduler: any that is asked for is there, and lives."""

    async def get(self, run_id: str) -> StoredRun:
        """A run with the nonce of the suite."""
        return StoredRun(make_record(RunState.RUNNING, run_id=run_id), "n")


class TestRayNodes(ExecutorConformance):
    """The suite where nothing is shared: start, files and end come over the broker."""

    @pytest.fixture
    def home(self, tmp_path: Path) -> Path:
        """Not hidden from the cluster, but known to no job."""
        return tmp_path / "home"

    @pytest.fixture(autouse=True)
    def short_drain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """One test has nobody to take its events: do not wait ten minutes for that."""
        monkeypatch.setattr("mosaic_scheduler.executors.run_folder.NODE_DRAIN_S", 5.0)

    @pytest.fixture(autouse=True)
    async def surroundings(
        self,
        venvs: Path,
        nodes: Nodes,
        broker: TestBroker,
        home: Path,
        request: pytest.FixtureRequest,
    ) -> AsyncIterator[None]:
        """What answers the nodes, and a recorder."""
        self._python = str(venvs / "synthetic" / "bin" / "python")
        self._nodes, self._jobs = nodes, RayJobs(nodes.address)
        self._bus = Bus(broker.url, "scheduler", broker.creds("scheduler"))
        await self._bus.start()
        await asyncio.wait_for(self._bus.connected.wait(), 60)
        answers = NodeRequests(
            self._bus,
            cast(RunStore, _LiveAttempts()),
            self.make(home),
            None,
            0,
            asyncio.Event(),
        )
        await answers.subscribe()
        recorder = SmallRecorder(broker)
        if not request.node.name.startswith("test_without_recorder"):
            await recorder.open()
            yield
            await recorder.close()
        else:
            yield
        await self._bus.close()

    def make(self, home: Path) -> Executor:
        """With a stop over the test's broker."""
        return RayExecutor(
            home,
            self._jobs,
            partial(ask_runner_to_stop, self._bus),
            poll_s=0.5,
            node_home=str(self._nodes.node_home),
        )

    def launch_spec(self, ref: AttemptRef, broker: TestBroker, spec: RunSpec) -> LaunchSpec:
        """With the interpreter of the environment."""
        return synthetic_launch(self._python, ref, broker, spec, engine_gives_devices=True)

    def named_folder(self, home: Path, ref: AttemptRef) -> Path:
        """The node's own."""
        return self._nodes.node_home / "runs" / ref.run_id

    def runner_folder(self, home: Path, ref: AttemptRef) -> Path:
        """Among the mounts of the node."""
        return self._nodes.on_node(self.named_folder(home, ref))

    def kill_runner(self, home: Path, ref: AttemptRef) -> None:
        """By its pid file: the node is this machine, with mounts of its own."""
        info = json.loads((self.runner_folder(home, ref) / "control" / "runner.json").read_text())
        process = proc.run_process(info["runner_pid"])
        assert process is not None
        proc.send_signal(process, signal.SIGKILL)

    async def test_without_recorder_telemetry_stays(
        self, executor: Executor, broker: TestBroker
    ) -> None:
        """The end of the worker is known, that of the upload is not; and there is nothing here to be shipped later."""
        ref = await self.submit(executor, broker, events=10)
        status = await self.ended(executor, ref)
        assert status.report is not None
        assert (status.report.phase, status.report.code) == (ExitPhase.WORKER_ENDED, 0)
        assert await executor.drain(ref, timeout_s=0.5)

    def end_all(self, home: Path) -> None:
        """By what their environment says, and by the list of jobs."""
        for process in proc.run_processes():
            if process.run_dir.parent == self._nodes.node_home / "runs":
                proc.send_signal(process, signal.SIGKILL)
        for job_id, job in self._jobs.list().items():
            if job_id.startswith(JobNames(home).prefix) and not job.status.is_final:
                self._jobs.stop(job_id)
