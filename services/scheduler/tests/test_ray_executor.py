"""The Ray executor, by the conformance suite on a real cluster; and its table of cases without one."""

import asyncio
import base64
import io
import json
import signal
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import nats.errors
import psutil
import pytest
from pydantic import SecretStr
from tests.executor_conformance import ExecutorConformance, synthetic_launch
from tests.ray_cluster import ray_cluster
from tests.records import make_record
from tests.stack import until

from mosaic_contracts import launch, subjects
from mosaic_contracts.nodes import BEGUN_FILE, Begun
from mosaic_contracts.services import ControlRequest
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack_files import STOP_MARK
from mosaic_contracts.states import RunState
from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors import proc
from mosaic_scheduler.executors.carried import carried_script
from mosaic_scheduler.executors.cluster_jobs import JobNames
from mosaic_scheduler.executors.protocol import AttemptPhase, AttemptRef, Executor, LaunchSpec
from mosaic_scheduler.executors.ray import JOB_FILE, RayExecutor, attempt_status, node_death
from mosaic_scheduler.executors.ray_jobs import RayJob, RayJobs, RayNode
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.reconcile.decision import KEEP, UNSEEN_S, EndRun, Facts, decide
from mosaic_servicekit.testing import TestBroker, free_port
from mosaic_servicekit.ulid import RunIdSource


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Address of a real cluster."""
    with tempfile.TemporaryDirectory(prefix="ray-") as folder, ray_cluster(Path(folder)) as address:
        yield address


@pytest.mark.broker
@pytest.mark.nightly
@pytest.mark.timeout(300)
class TestRayExecutor(ExecutorConformance):
    """Real jobs, runners and workers; the drain is cut short, for most tests have no recorder."""

    @pytest.fixture(autouse=True)
    def surroundings(self, venvs: Path, cluster: str, broker: TestBroker) -> None:
        """Runner, shipper and worker run in the environment of the synthetic worker, on the nodes of the cluster."""
        self._python = str(venvs / "synthetic" / "bin" / "python")
        self._jobs = RayJobs(cluster)
        self._broker_url = broker.url

    @pytest.fixture(autouse=True)
    def short_drain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody takes the events here: do not wait half a minute for it."""
        monkeypatch.setattr("mosaic_scheduler.executors.run_folder.DRAIN_S", 1.0)

    def make(self, home: Path) -> Executor:
        """With a stop over the test's broker."""
        return RayExecutor(home, self._jobs, self._ask_stop, poll_s=0.5)

    async def _ask_stop(self, ref: AttemptRef) -> bool:
        client = await nats.connect(self._broker_url)
        try:
            request = ControlRequest(op="terminate").model_dump_json().encode()
            answer = await client.request(subjects.control(ref.run_id), request, timeout=5)
            return bool(json.loads(answer.data)["result"])
        except (nats.errors.NoRespondersError, nats.errors.TimeoutError):
            return False
        finally:
            await client.close()

    def launch_spec(self, ref: AttemptRef, broker: TestBroker, spec: RunSpec) -> LaunchSpec:
        """With the interpreter of the environment."""
        return synthetic_launch(self._python, ref, broker, spec, engine_gives_devices=True)

    def kill_runner(self, home: Path, ref: AttemptRef) -> None:
        """By its pid file: the node is this machine."""
        info = json.loads((home / "runs" / ref.run_id / "control" / "runner.json").read_text())
        process = proc.run_process(info["runner_pid"])
        assert process is not None
        proc.send_signal(process, signal.SIGKILL)

    def end_all(self, home: Path) -> None:
        """By what their environment says, and by the list of jobs."""
        for process in proc.run_processes():
            if process.run_dir.parent == home / "runs":
                proc.send_signal(process, signal.SIGKILL)
        names = JobNames(home)
        for job_id, job in self._jobs.list().items():
            if names.ref(job_id) is not None and not job.status.is_final:
                self._jobs.stop(job_id)

    async def test_a_job_without_resources_waits_and_can_be_cancelled(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """What no node has room for is queued with words, and a cancel ends it although Ray still lists it."""
        ref = AttemptRef(RunIdSource().next(), 1)
        spec = RunSpec(
            worker="synthetic", algorithm="synthetic", environment="Synthetic-v0", cpus=64
        )
        await executor.submit(self.launch_spec(ref, broker, spec))
        status = await executor.status(ref)
        assert status.phase is AttemptPhase.QUEUED
        assert "queued at Ray" in status.detail
        await executor.cancel(ref)
        assert (await executor.status(ref)).phase is AttemptPhase.ABSENT

    async def test_a_run_sees_the_gpus_that_ray_gives(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """The variable of the devices is Ray's; ours does not take its place."""
        ref = AttemptRef(RunIdSource().next(), 1)
        spec = RunSpec(
            worker="synthetic",
            algorithm="synthetic",
            environment="Synthetic-v0",
            gpus=1,
            parameters={"events": 10**6, "rate": 10},
        )
        await executor.submit(self.launch_spec(ref, broker, spec))
        await self.worker_started(home, ref)
        info = json.loads((home / "runs" / ref.run_id / "control" / "runner.json").read_text())
        environment = psutil.Process(info["worker_pid"]).environ()
        assert environment["CUDA_VISIBLE_DEVICES"] in ("0", "1")
        await executor.cancel(ref)
        await self.ended(executor, ref)


REPORT = {
    "run_id": "r",
    "attempt": 1,
    "phase": "drained",
    "code": 0,
    "started_at": 1.0,
    "ended_at": 2.0,
}


def _job(status: str, **fields: Any) -> RayJob:
    return RayJob.model_validate({"status": status, "message": f"{status} is said", **fields})


@pytest.mark.parametrize(
    ("job", "begun", "report", "phase"),
    [
        (None, False, False, AttemptPhase.ABSENT),
        (None, True, False, AttemptPhase.UNSEEN),
        (None, True, True, AttemptPhase.ENDED),
        (_job("PENDING"), False, False, AttemptPhase.QUEUED),
        (_job("RUNNING"), False, False, AttemptPhase.ALIVE),
        (_job("RUNNING"), True, True, AttemptPhase.ALIVE),
        (_job("SUCCEEDED", driver_exit_code=0), True, True, AttemptPhase.ENDED),
        (_job("FAILED"), True, True, AttemptPhase.ENDED),
        (_job("FAILED", driver_exit_code=-9), True, False, AttemptPhase.LOST),
        (_job("FAILED"), True, False, AttemptPhase.UNSEEN),
        (_job("STOPPED"), True, False, AttemptPhase.LOST),
        (_job("STOPPED"), False, False, AttemptPhase.LOST),
        (_job("FAILED", driver_exit_code=127), False, False, AttemptPhase.REFUSED),
        (_job("FAILED"), False, False, AttemptPhase.REFUSED),
    ],
)
def test_report_first_then_heartbeats_then_ray(
    tmp_path: Path, job: RayJob | None, begun: bool, report: bool, phase: AttemptPhase
) -> None:
    """Ray's word counts only where the runner left no report, and never ends a run whose node it lost."""
    (tmp_path / "control").mkdir()
    if begun:
        _write_launch(tmp_path)
        (tmp_path / launch.RUNNER_LOCK).touch()
    if report:
        (tmp_path / launch.EXIT_FILE).write_text(json.dumps(REPORT))
    status = attempt_status(RunFolder(tmp_path, AttemptRef("r", 1)), job)
    assert status.phase is phase
    if phase in (AttemptPhase.LOST, AttemptPhase.REFUSED):
        assert job is not None
        assert str(job.message) in status.detail


def test_a_node_as_ray_lists_it() -> None:
    """What it has, and the address by which it is known to be this machine or another one."""
    raylet = {
        "state": "ALIVE",
        "resourcesTotal": {"CPU": 4.0, "GPU": 1.0, "memory": 2.0**30},
        "nodeManagerAddress": "203.0.113.1",
    }
    node = RayNode.of_raylet(raylet)
    assert node == RayNode(cpus=4, gpus=1, memory_mb=1024, address="203.0.113.1")


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ({"n": RayNode()}, ""),
        ({"n": RayNode(is_dead=True, message="health check failed")}, "health check failed"),
        ({}, "does not know its node"),
    ],
)
def test_a_job_on_a_dead_node_is_unseen(
    tmp_path: Path, nodes: dict[str, RayNode], words: str
) -> None:
    """Ray lists a job as RUNNING for ever when its node died; heartbeats decide then."""
    job = _job("RUNNING", driver_node_id="n")
    death = node_death(job, nodes)
    assert words in death
    status = attempt_status(RunFolder(tmp_path, AttemptRef("r", 1)), job, death)
    assert status.phase is (AttemptPhase.UNSEEN if words else AttemptPhase.ALIVE)


@pytest.mark.parametrize(
    ("job", "death"),
    [(None, ""), (_job("FAILED"), ""), (_job("RUNNING"), "Ray says of its node: it died.")],
)
def test_a_run_that_ray_lost_is_interrupted_without_heartbeats(
    tmp_path: Path, job: RayJob | None, death: str
) -> None:
    """The node or the cluster failed, not the run: with `restart: on_interrupt` it goes on."""
    _write_launch(tmp_path)
    (tmp_path / launch.RUNNER_LOCK).touch()
    status = attempt_status(RunFolder(tmp_path, AttemptRef("r", 1)), job, death)
    assert status.phase is AttemptPhase.UNSEEN
    facts = Facts(status=status, silence_s=UNSEEN_S - 1)
    record = make_record(RunState.RUNNING)
    assert decide(record, facts) is KEEP
    ended = decide(record, Facts(status=status, silence_s=UNSEEN_S))
    assert isinstance(ended, EndRun)
    assert ended.state is RunState.INTERRUPTED
    assert status.detail in ended.end.message


@pytest.mark.parametrize("shares_folder", [True, False])
def test_only_a_run_that_began_on_a_node_of_its_own_is_cut_off(
    tmp_path: Path, shares_folder: bool
) -> None:
    """What it had not sent is there; in a shared folder everything is here."""
    _write_launch(tmp_path, shares_folder=shares_folder)
    folder = RunFolder(tmp_path, AttemptRef("r", 1))
    assert not folder.lost().is_cut_off
    begun = Begun(attempt=1, claim="c" * 32, node="n", begun_at=0.0)
    (tmp_path / BEGUN_FILE).write_text(begun.model_dump_json())
    assert folder.lost().is_cut_off is not shares_folder


@pytest.mark.parametrize(("marked", "by_ray"), [(False, True), (True, False)])
def test_a_stop_in_ray_is_not_ours(tmp_path: Path, marked: bool, by_ray: bool) -> None:
    """Our own stops are noted in the run's folder; without that somebody stopped the job in Ray."""
    (tmp_path / "control").mkdir()
    (tmp_path / launch.EXIT_FILE).write_text(json.dumps(REPORT))
    if marked:
        (tmp_path / STOP_MARK).touch()
    status = attempt_status(RunFolder(tmp_path, AttemptRef("r", 1)), _job("STOPPED"))
    assert status.asked_here is marked
    assert (status.engine_end is not None) is by_ray


def test_a_stopped_job_that_still_waits_is_absent(tmp_path: Path) -> None:
    """Ray lists a job that was stopped before it had a node as PENDING for ever; its entry point starts nothing."""
    (tmp_path / "control").mkdir()
    (tmp_path / STOP_MARK).touch()
    folder = RunFolder(tmp_path, AttemptRef("r", 1))
    assert attempt_status(folder, _job("PENDING")).phase is AttemptPhase.ABSENT


async def _nobody(_: AttemptRef) -> bool:
    """No shipper hears a stop."""
    return False


async def test_a_cluster_that_does_not_answer_is_unavailable(tmp_path: Path) -> None:
    """Nothing is known then, and the words say what to do."""
    executor = RayExecutor(tmp_path, RayJobs(f"http://127.0.0.1:{free_port()}"), _nobody)
    with pytest.raises(EngineUnavailable, match="MOSAIC_RAY_ADDRESS"):
        await executor.adopt()
    with pytest.raises(EngineUnavailable):
        await executor.ready()


class RecordedRay(RayJobs):
    """A cluster that takes all and lists nothing."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:1")
        self.requests: list[dict[str, Any]] = []
        self.packages: list[bytes] = []

    def list(self) -> dict[str, RayJob]:
        """None."""
        return {}

    def nodes(self) -> dict[str, RayNode]:
        """None."""
        return {}

    def upload(self, name: str, package: bytes) -> str:
        """Keep it."""
        self.packages.append(package)
        return f"gcs://{name}"

    def submit(self, request: dict[str, Any]) -> None:
        """Keep it."""
        self.requests.append(request)


@pytest.mark.parametrize("node_home", ["", "/node-home"])
async def test_ray_is_told_nothing_secret(tmp_path: Path, node_home: str) -> None:
    """Its dashboard shows entry points and variables: credentials and nonce travel in a package, secrets not at all."""
    spec = RunSpec(worker="synthetic", algorithm="synthetic", environment="Synthetic-v0")
    ref = AttemptRef(RunIdSource().next(), 1)
    ray = RecordedRay()
    executor = RayExecutor(tmp_path, ray, _nobody, node_home=node_home)
    await executor.submit(
        LaunchSpec(
            ref=ref,
            spec=spec,
            nonce="the-nonce",
            python="/venv/python",
            worker_command=["/venv/python", "-m", "worker"],
            broker_url="tls://stack.example:4222",
            write_creds=_write_credentials,
            secrets={"key": SecretStr("the-secret")},
        )
    )
    (request,) = ray.requests
    for secret in ("the-nonce", "the-credentials", "the-secret"):
        assert secret not in json.dumps(request)
    assert executor.bounds.shares_folder is not bool(node_home)
    environment = request["runtime_env"]["env_vars"]
    there = Path(node_home or tmp_path) / "runs" / ref.run_id
    assert environment[launch.ENV_RUN_DIR] == str(there)
    if not node_home:
        assert not ray.packages
        assert "working_dir" not in request["runtime_env"]
        return
    with zipfile.ZipFile(io.BytesIO(ray.packages[0])) as package:
        (entry,) = package.infolist()
        script = package.read(entry).decode()
    assert entry.external_attr >> 16 == 0o600
    assert request["entrypoint"] == f"exec sh ./{entry.filename}"
    carried = _carried_files(script)
    assert "the-nonce" in carried[launch.LAUNCH_FILE]
    assert carried[launch.CREDS_FILE] == "the-credentials"
    assert set(carried) == {launch.LAUNCH_FILE, launch.CREDS_FILE}
    assert "the-secret" not in "".join(carried.values())


def _write_credentials(path: Path) -> None:
    path.write_text("the-credentials")


def _carried_files(script: str) -> dict[str, str]:
    """Files in the archive of a job's script, by their names."""
    text = script.split("MOSAIC_END_OF_FOLDER")[1].partition("\n")[2]
    with tarfile.open(fileobj=io.BytesIO(base64.b64decode(text)), mode="r:gz") as archive:
        files = {name: archive.extractfile(name) for name in archive.getnames()}
        return {name: file.read().decode() for name, file in files.items() if file is not None}


async def test_a_script_without_its_python_says_so(tmp_path: Path) -> None:
    """The image of a node without the workers' environments is the most likely mistake: Ray shows these words."""
    ref = AttemptRef("r", 1)
    spec = RunSpec(worker="synthetic", algorithm="synthetic", environment="Synthetic-v0")
    launch_spec = LaunchSpec(
        ref=ref,
        spec=spec,
        nonce="n",
        python="/nowhere/python",
        worker_command=["/nowhere/python", "-m", "worker"],
        broker_url="tls://stack.example:4222",
        shares_folder=False,
        write_creds=None,
    )
    here, there = RunFolder(tmp_path / "here", ref), RunFolder(tmp_path / "there", ref)
    here.prepare(launch_spec)
    script = tmp_path / "job.sh"
    script.write_text(carried_script(here, there, launch_spec, removes_itself=True))
    started = await asyncio.create_subprocess_exec(
        "sh", str(script), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    _, said = await started.communicate()
    assert started.returncode == 127
    assert not script.exists()
    assert not there.path.exists()
    job = _job("FAILED", driver_exit_code=127)
    job.message = f"Job entrypoint command failed with exit code 127, last logs:\n{said.decode()}"
    status = attempt_status(here, job)
    assert status.phase is AttemptPhase.REFUSED
    assert "/nowhere/python is not on this node" in status.detail


def test_a_node_without_a_way_to_the_broker_is_named(tmp_path: Path) -> None:
    """The runner ends with 75 when nobody answers it: the words say what to start the stack with."""
    ref = AttemptRef("r", 1)
    _write_launch(tmp_path, broker_url="tls://stack.example:4222", shares_folder=False)
    status = attempt_status(RunFolder(tmp_path, ref), _job("FAILED", driver_exit_code=75))
    assert status.phase is AttemptPhase.REFUSED
    assert "--broker-runs-url" in status.detail


def _write_launch(folder: Path, **changes: Any) -> None:
    fields = {
        "run_id": "r",
        "attempt": 1,
        "nonce": "n",
        "worker_argv": [],
        "shipper_argv": ["python"],
        "broker_url": "nats://127.0.0.1:1",
        "grace_s": 1,
        "outbox_bytes": 2**24,
    }
    (folder / "control").mkdir(exist_ok=True)
    text = launch.Launch.model_validate(fields | changes).model_dump_json()
    (folder / launch.LAUNCH_FILE).write_text(text)


async def test_an_outage_at_rest_ends_with_it(tmp_path: Path) -> None:
    """The watch rests for an hour without jobs: a caller that finds Ray away wakes it, and it asks until it is back."""

    class Failing(RecordedRay):
        is_away = False

        def list(self) -> dict[str, RayJob]:
            if self.is_away:
                raise EngineUnavailable("away")
            return {}

    ray = Failing()
    executor = RayExecutor(tmp_path, ray, _nobody, poll_s=0.2)
    executor.on_change(lambda: None)  # somebody listens, so that there is a watch

    async def answers() -> bool:
        try:
            await executor.ready()
        except EngineUnavailable:
            return False
        return True

    async def is_away() -> bool:
        return not await answers()

    assert await answers()
    ray.is_away = True
    await until(is_away)
    ray.is_away = False
    await until(answers)
    executor.close()


@pytest.mark.parametrize("has_begun", [True, False])
async def test_a_stop_needs_no_ray_once_the_run_has_begun(tmp_path: Path, has_begun: bool) -> None:
    """It goes over the broker while the cluster's head is away; one that still waits in Ray must wait for Ray."""
    asked: asyncio.Queue[AttemptRef] = asyncio.Queue()

    async def hear(ref: AttemptRef) -> bool:
        await asked.put(ref)
        return True

    folder = tmp_path / "runs" / "r"
    folder.mkdir(parents=True)
    _write_launch(folder)
    (folder / JOB_FILE).touch()
    if has_begun:
        (folder / launch.RUNNER_LOCK).touch()
    ref = AttemptRef("r", 1)
    executor = RayExecutor(tmp_path, RayJobs(f"http://127.0.0.1:{free_port()}"), hear)
    if not has_begun:
        with pytest.raises(EngineUnavailable):
            await executor.cancel(ref)
        return
    await executor.cancel(ref)
    assert await asyncio.wait_for(asked.get(), 30) == ref
    with pytest.raises(EngineUnavailable):
        await executor.cancel(ref, kill=True)
    executor.close()
