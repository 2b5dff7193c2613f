"""The docker executor, by the conformance suite and in what is its own, on a real engine."""

import gc
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import docker
import pytest
from docker.errors import APIError
from docker.models.containers import Container
from tests.executor_conformance import ExecutorConformance
from tests.homes import make_home
from tests.stack import Stack, until

from mosaic_contracts.dashboards import DashboardSource, SelectedRun
from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import Launch
from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.services import SubmitRequest
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.worker import InspectRequest, WorkerManifest
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed
from mosaic_scheduler.executors.docker import MIB, PIDS, DockerExecutor
from mosaic_scheduler.executors.engine import LABEL_STACK, Engine, explained, is_answer
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptRef,
    Executor,
    GpuHold,
    Internet,
    LaunchSpec,
)
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE
from mosaic_scheduler.imports.folder import ImportFolder
from mosaic_scheduler.workers.image import ImageAsker
from mosaic_scheduler.workers.probe import Inspection, WorkerProbe
from mosaic_scheduler.workers.registry import ImageWorker
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource

ROOT = Path(__file__).parents[3]
IMAGE = "mosaic-test/synthetic"
LOOK = """
import errno, socket
routes = [line.split() for line in open("/proc/net/route")][1:]
print(sum(route[1] == "00000000" for route in routes))
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9))
    print("out")
except OSError as error:
    print(errno.errorcode[error.errno])
"""
"""Run inside: default routes, and whether a packet to somewhere else would leave (it is not sent)."""
_IDS = RunIdSource()


def _engine_answers() -> bool:
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=60).returncode == 0
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return False


pytestmark = [
    pytest.mark.broker,
    pytest.mark.timeout(180),
    pytest.mark.skipif(not _engine_answers(), reason="no container engine answers here"),
]


@pytest.fixture(scope="module", autouse=True)
def image() -> str:
    """The synthetic worker's image; layers are cached, so that only changed sources are copied."""
    dockerfile = Path(__file__).parent / "image" / "Dockerfile"
    subprocess.run(
        ["docker", "build", "-q", "-t", IMAGE, "-f", str(dockerfile), str(ROOT)],
        check=True,
        capture_output=True,
    )
    return IMAGE


def _spec(*, events: int, takes: int = 0, **fields: int) -> RunSpec:
    """Spec of the synthetic worker, at 1,000 events a second; it takes so many MiB before its end."""
    return RunSpec.model_validate(
        {
            "worker": "synthetic",
            "algorithm": "synthetic",
            "environment": "Synthetic-v0",
            "parameters": {"events": events, "memory_mb": takes},
            **fields,
        }
    )


def _offer_runner(container: Container) -> None:
    """Have the kernel take the runner first, not the worker."""
    commands = [(row[1], row[-1]) for row in container.top()["Processes"]]
    (pid,) = [pid for pid, c in commands if RUNNER_MODULE in c and "docker-init" not in c]
    Path(f"/proc/{pid}/oom_score_adj").write_text("1000")


async def _opens(path: Path) -> bool:
    """Whether a process outside the container can connect to a socket that one in it made."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
        folder = os.open(path.parent, os.O_PATH)
        try:
            peer.connect(f"/proc/self/fd/{folder}/{path.name}")
        except OSError:
            return False
        finally:
            os.close(folder)
    return True


class TestDockerExecutor(ExecutorConformance):
    """Real containers; runs reach the test's broker over the host's network."""

    @pytest.fixture(autouse=True)
    def short_drain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody takes the events here: do not wait half a minute for it."""
        monkeypatch.setattr("mosaic_scheduler.executors.run_folder.DRAIN_S", 1.0)

    @pytest.fixture
    def executor(self, home: Path) -> Iterator[Executor]:
        """The executor under test."""
        made = self.make(home)
        yield made
        made.close()
        self.end_all(home)

    def make(self, home: Path) -> DockerExecutor:
        """On two cores; the home's path names the stack."""
        return DockerExecutor(home, cores=2, engine=Engine(stack=str(home), network="host"))

    def launch_spec(self, ref: AttemptRef, broker: TestBroker, spec: RunSpec) -> LaunchSpec:
        """With the interpreter of the image."""
        return LaunchSpec(
            ref=ref,
            spec=spec,
            nonce="n",
            python="python",
            worker_command=python_module("python", "mosaic_workerkit.testing.synthetic"),
            broker_url=broker.url,
            write_creds=None,
            image=IMAGE,
        )

    def kill_runner(self, home: Path, ref: AttemptRef) -> None:
        """The container as a whole, as `docker kill` does."""
        for container in self._containers(home):
            container.kill("SIGKILL")

    def end_all(self, home: Path) -> None:
        """Whatever carries this stack's label."""
        for container in self._containers(home):
            container.remove(force=True)

    def _containers(self, home: Path) -> list[Container]:
        client = docker.from_env()
        try:
            return client.containers.list(all=True, filters={"label": f"{LABEL_STACK}={home}"})
        finally:
            client.close()

    async def test_the_image_is_pinned(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """The run's container and launch file have the digest of the image, not its tag; it can be asked for."""
        ref = await self.submit(executor, broker, events=10)
        launch = (home / "runs" / ref.run_id / "control" / "launch.json").read_text()
        digest = Launch.model_validate_json(launch).image or ""
        (container,) = self._containers(home)
        assert digest.startswith("sha256:")
        assert (await executor.image(ref), container.attrs["Image"]) == (digest, digest)
        await self.ended(executor, ref)

    async def test_a_container_removed_by_hand_is_lost(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """`docker rm -f` of a run's container: its attempt is lost, and that is noticed without a tick."""
        ref = await self.submit(executor, broker, events=10**6, rate=100.0)
        await self.worker_started(home, ref)
        self.end_all(home)
        assert (await self.ended(executor, ref)).phase is AttemptPhase.LOST

    async def test_the_run_of_a_copied_stack_is_left_alone(
        self, executor: Executor, broker: TestBroker, home: Path, tmp_path: Path
    ) -> None:
        """Both stacks know the run and its number: each sees, stops and removes its own container only."""
        ref = await self.submit(executor, broker, events=10**6, rate=100.0)
        await self.worker_started(home, ref)
        copied = make_home(tmp_path / "copy")
        other = self.make(copied)
        try:
            assert (await other.status(ref)).phase is AttemptPhase.ABSENT
            await other.cancel(ref, kill=True)
            assert await other.sweep(ref) == 0
            await other.submit(self._launch_spec(ref, broker, events=10**6, rate=100.0))
            assert (await other.status(ref)).phase is AttemptPhase.ALIVE
            assert (len(self._containers(home)), len(self._containers(copied))) == (1, 1)
            assert await other.sweep(ref) == 1
            assert (await executor.status(ref)).phase is AttemptPhase.ALIVE
        finally:
            other.close()
            self.end_all(copied)

    async def test_a_missing_image_says_what_to_do(
        self, executor: Executor, broker: TestBroker
    ) -> None:
        """Nothing was started, and the message names the image and how to get it."""
        ref = AttemptRef(_IDS.next(), 1)
        launch_spec = self._launch_spec(ref, broker)
        absent = LaunchSpec(**{**vars(launch_spec), "image": "mosaic-test/nowhere:1"})
        with pytest.raises(LaunchFailed, match=r"nowhere:1 is not on this engine.*images build"):
            await executor.submit(absent)
        assert (await executor.status(ref)).phase is AttemptPhase.ABSENT

    async def test_a_file_error_is_none_of_the_engine(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """A folder that cannot be written fails the start with that reason; a file that cannot be read is named."""
        ref = await self.submit(executor, broker, events=10**6, rate=100.0)
        await self.worker_started(home, ref)
        launch = home / "runs" / ref.run_id / "control" / "launch.json"
        launch.rename(launch.with_suffix(".away"))
        launch.mkdir()
        with pytest.raises(IsADirectoryError, match=r"launch\.json"):
            await executor.cancel(ref)
        await executor.cancel(ref, kill=True)  # which needs no file
        launch.rmdir()
        launch.with_suffix(".away").rename(launch)
        assert (await self.ended(executor, ref)).phase is AttemptPhase.LOST
        other = AttemptRef(_IDS.next(), 1)
        (home / "runs" / other.run_id).write_text("no folder")
        with pytest.raises(LaunchFailed, match=r"cannot be written: (File exists|Not a dir)"):
            await executor.submit(self._launch_spec(other, broker))

    async def test_the_engine_gives_a_run_its_grace(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """`docker stop` and the engine's shutdown wait for `grace_s`, and a while for the report of the end."""
        ref = AttemptRef(_IDS.next(), 1)
        await executor.submit(self.launch_spec(ref, broker, _spec(events=10**6, grace_s=45)))
        await self.worker_started(home, ref)
        (container,) = self._containers(home)
        assert container.attrs["Config"]["StopTimeout"] == 55
        container.stop()
        report = (await self.ended(executor, ref)).report
        assert report is not None
        assert (report.stop_signal_sent, report.killed_after_grace) == (True, False)

    async def test_a_missing_gpu_runtime_says_what_to_do(self) -> None:
        """The engine's answer to a device request without NVIDIA's runtime is reported with the next step."""
        client = docker.from_env()
        if "nvidia" in client.info()["Runtimes"]:
            pytest.skip("this engine has the NVIDIA runtime")
        request = docker.types.DeviceRequest(count=1, capabilities=[["gpu"]])
        container = client.containers.create(IMAGE, ["true"], device_requests=[request])
        try:
            with pytest.raises(APIError) as caught:
                container.start()
            assert is_answer(caught.value)
            assert "NVIDIA container toolkit" in explained(caught.value)
        finally:
            container.remove()
            client.close()

    async def test_a_container_that_was_only_made(
        self, executor: Executor, broker: TestBroker, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One that a dying scheduler left unstarted is removed by a cancel, and started by the next submit."""
        for is_cancelled in (True, False):
            ref = AttemptRef(_IDS.next(), 1)
            with monkeypatch.context() as patch:
                patch.setattr(Container, "start", lambda self: None)
                await executor.submit(self._launch_spec(ref, broker, events=10))
            assert [container.status for container in self._containers(home)] == ["created"]
            assert (await executor.status(ref)).phase is AttemptPhase.ABSENT
            if is_cancelled:
                await executor.cancel(ref)
                assert self._containers(home) == []
            else:
                await executor.submit(self._launch_spec(ref, broker, events=10))
                assert (await self.ended(executor, ref)).phase is AttemptPhase.ENDED

    @pytest.fixture
    def leaks(self) -> Iterator[None]:
        """The SDK forgets to close a socket that it could not connect: collected while that is no error."""
        yield
        gc.collect()

    @pytest.mark.usefixtures("leaks")
    @pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
    async def test_an_engine_that_is_away_is_no_verdict(
        self, home: Path, broker: TestBroker
    ) -> None:
        """When the engine cannot be asked, nothing is said of the run, and each call names engine and next step."""
        engine = Engine(stack="x", network="host", url="unix:///nowhere.sock")
        executor = DockerExecutor(home, cores=1, engine=engine)
        ref = AttemptRef(_IDS.next(), 1)
        said = "cannot be reached .No such file or directory.*systemctl start docker"
        for call in (
            executor.status(ref),
            executor.submit(self._launch_spec(ref, broker)),
            executor.cancel(ref),
            executor.adopt(),
            executor.ready(),
        ):
            with pytest.raises(EngineUnavailable, match=said):
                await call
        assert await executor.sweep(ref) == 0  # owed until the engine is back
        executor.close()

    async def test_the_run_sees_nothing_but_its_folder(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """Read-only root, no capabilities, no new privileges, one mount: as the engine reports it."""
        ref = await self.submit(executor, broker, events=10**6, rate=100.0)
        (container,) = self._containers(home)
        host = container.attrs["HostConfig"]
        assert host["ReadonlyRootfs"]
        assert host["CapDrop"] == ["ALL"]
        assert host["SecurityOpt"] == ["no-new-privileges"]
        assert [m["Target"] for m in host["Mounts"]] == [str(home / "runs" / ref.run_id)]
        assert not host["DeviceRequests"]
        assert "NVIDIA_VISIBLE_DEVICES=void" in container.attrs["Config"]["Env"]
        await executor.cancel(ref)
        await self.ended(executor, ref)

    async def test_a_dashboard_sees_event_files_alone(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """It sees the event files of each selected run, read-only; a link is left out. Its socket opens here."""
        shown, linked = _IDS.next(), _IDS.next()
        for run_id in (shown, linked):
            (home / "runs" / run_id / "control").mkdir(parents=True)
            (home / "runs" / run_id / "control" / "secret").write_text("s")
        (home / "runs" / shown / "tensorboard").mkdir()
        (home / "runs" / shown / "tensorboard" / "tfevents.1").write_text("points")
        (home / "runs" / linked / "tensorboard").symlink_to("control")
        runs = [SelectedRun(run_id=shown, folder="a b"), SelectedRun(run_id=linked, folder="c")]
        spec = _spec(events=10**6).model_copy(update={"dashboard": DashboardSource(runs=runs)})
        ref = AttemptRef(_IDS.next(), 1)
        await executor.submit(self.launch_spec(ref, broker, spec))
        (container,) = self._containers(home)
        own = home / "runs" / ref.run_id
        mounts = container.attrs["HostConfig"]["Mounts"]
        assert [(m["Target"], m.get("ReadOnly", False)) for m in mounts] == [
            (str(own), False),
            (f"{own}/selected/a b", True),
        ]
        looks = {
            f"cat '{own}/selected/a b/tfevents.1'": b"points",
            f"touch '{own}/selected/a b/x' 2>/dev/null || echo no": b"no\n",
            f"ls {home}/runs": f"{ref.run_id}\n".encode(),
            f"ls {own}/selected/c": b"",
        }
        for look, expected in looks.items():
            assert container.exec_run(["sh", "-c", look]).output == expected
        socket_here = own / "control" / "trainer.sock"
        await until(lambda: _opens(socket_here))
        await executor.cancel(ref)
        await self.ended(executor, ref)

    async def test_the_limits_are_the_specs(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """Cores, memory (with no swap on top), /dev/shm and processes are bounded as the engine reports it.

        A machine without memory ends a run before anything else.
        """
        ref = AttemptRef(_IDS.next(), 1)
        spec = _spec(events=10, memory_mb=256, shm_mb=32, cpus=2)
        await executor.submit(self.launch_spec(ref, broker, spec))
        (container,) = self._containers(home)
        host = container.attrs["HostConfig"]
        assert (host["Memory"], host["MemorySwap"]) == (256 * MIB, 256 * MIB)
        assert (host["NanoCpus"], host["ShmSize"], host["PidsLimit"]) == (2 * 10**9, 32 * MIB, PIDS)
        assert host["OomScoreAdj"] == 100
        await self.ended(executor, ref)

    async def test_a_worker_that_takes_too_much_is_told_apart(
        self, executor: Executor, broker: TestBroker
    ) -> None:
        """The kernel ends the worker at its limit: the report says so, as it does of no other end."""
        ref = AttemptRef(_IDS.next(), 1)
        spec = _spec(events=10, memory_mb=128, takes=1000)
        await executor.submit(self.launch_spec(ref, broker, spec))
        report = (await self.ended(executor, ref)).report
        assert report is not None
        assert (report.signal, report.oom) == (signal.SIGKILL, True)
        ref = AttemptRef(_IDS.next(), 1)
        await executor.submit(
            self.launch_spec(ref, broker, _spec(events=10, memory_mb=128, takes=10))
        )
        report = (await self.ended(executor, ref)).report
        assert report is not None
        assert (report.code, report.oom) == (0, None)

    async def test_a_runner_that_is_ended_for_memory_is_told_too(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """When the kernel takes the runner first there is no report, and the engine says why."""
        ref = AttemptRef(_IDS.next(), 1)
        spec = _spec(events=2_000, memory_mb=128, takes=1000)
        await executor.submit(self.launch_spec(ref, broker, spec))
        await self.worker_started(home, ref)  # which would inherit what is set below
        (container,) = self._containers(home)
        _offer_runner(container)
        status = await self.ended(executor, ref)
        assert (status.phase, status.oom) == (AttemptPhase.LOST, True)

    async def test_internet_is_given_only_where_the_spec_asks(
        self, home: Path, broker: TestBroker, networks: tuple[str, str]
    ) -> None:
        """Without it a run's container has no default route and a connection out fails at once; with it it has one."""
        inside, outside = networks
        engine = Engine(stack=str(home), network=inside, outside=outside)
        executor = DockerExecutor(home, cores=2, engine=engine)
        assert executor.bounds.internet is Internet.ON_REQUEST
        found: dict[bool, tuple[str, ...]] = {}
        for internet in (False, True):
            ref = AttemptRef(_IDS.next(), 1)
            await executor.submit(
                self.launch_spec(ref, broker, _spec(events=10**6, internet=internet))
            )
            (container,) = self._containers(home)
            seen = container.exec_run(["python", "-c", LOOK]).output
            assert isinstance(seen, bytes)
            found[internet] = tuple(seen.decode().split())
            await executor.cancel(ref, kill=True)
            await self.ended(executor, ref)
            await executor.sweep(ref)
        assert found == {False: ("0", "ENETUNREACH"), True: ("1", "out")}
        executor.close()
        self.end_all(home)

    @pytest.fixture
    def networks(self, home: Path) -> Iterator[tuple[str, str]]:
        """A network without a way out and one with it."""
        client = docker.from_env()
        name = f"mosaictest{abs(hash(home)):x}"
        made = [
            client.networks.create(f"{name}_workers", internal=True),
            client.networks.create(f"{name}_outside"),
        ]
        yield str(made[0].name), str(made[1].name)
        self.end_all(home)
        for network in made:
            network.remove()
        client.close()

    async def test_gpus_are_requested_by_uuid_and_written_on_the_container(
        self,
        executor: Executor,
        broker: TestBroker,
        home: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Exactly the leased devices; a new scheduler reads them off a container that lives (here without a card)."""
        monkeypatch.setattr(Container, "start", lambda _: None)
        ref = AttemptRef(_IDS.next(), 1)
        grant = GpuGrant(token="t", devices=["GPU-a", "GPU-b"])
        await executor.submit(replace(self._launch_spec(ref, broker, events=10), grant=grant))
        (container,) = self._containers(home)
        (request,) = container.attrs["HostConfig"]["DeviceRequests"]
        assert (request["Driver"], request["DeviceIDs"]) == ("nvidia", grant.devices)
        environment = container.attrs["Config"]["Env"]
        assert not [entry for entry in environment if "VISIBLE_DEVICES" in entry]
        assert await self.make(home).gpu_holds() == []
        labels = {**container.labels}
        container.remove()
        monkeypatch.undo()
        client = docker.from_env()
        client.containers.run(IMAGE, ["sleep", "60"], entrypoint=[], labels=labels, detach=True)
        client.close()
        assert await self.make(home).gpu_holds() == [GpuHold(ref, grant)]
        launch = (home / "runs" / ref.run_id / "control" / "launch.json").read_text()
        assert "CUDA_VISIBLE_DEVICES" not in Launch.model_validate_json(launch).env

    async def test_an_engine_without_nvidias_runtime_is_told(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """Before a submit by the inventory, and by the start itself; nothing is left behind."""
        problem = (await executor.inventory()).gpu_problem
        if not problem:
            pytest.skip("this engine has it")
        assert "install the NVIDIA container toolkit" in problem
        grant = GpuGrant(token="t", devices=["GPU-a"])
        launch_spec = replace(
            self._launch_spec(AttemptRef(_IDS.next(), 1), broker, events=10), grant=grant
        )
        with pytest.raises(LaunchFailed, match="NVIDIA container toolkit"):
            await executor.submit(launch_spec)
        assert self._containers(home) == []


async def test_preflight_names_an_image_that_is_missing(stack: Stack) -> None:
    """A known worker without its image is a red line `image` with the command that makes it; an unknown one is not."""
    await stack.kill_scheduler()
    stack.environment["MOSAIC_PLACEMENT"] = "docker"
    await stack.start_scheduler()
    (stack.home / "workers.d" / "passing.toml").write_text(
        'id = "passing"\ntitle = "P"\ncommand = ["{python}", "-m", "p"]\nimage = "mosaic-test/nowhere:1"\n'
    )
    spec = {"algorithm": "a", "environment": "E-v0"}
    found = {}
    for worker in ("passing", "nobody"):
        request = SubmitRequest(spec={**spec, "worker": worker})
        report = await stack.bus.request("scheduler", "preflight", request, PreflightReport, 20)
        found[worker] = [line for line in report.lines if line.level == "blocking"]
    (image,) = found["passing"]
    assert (image.id, bool(image.todo)) == ("image", True)
    assert "docker build -t mosaic-test/nowhere:1" in image.message
    assert [line.id for line in found["nobody"]] == ["worker"]


SEES = """
import json, os, pathlib, sys
asked = json.load(sys.stdin)
pathlib.Path(asked["made"], "made.bin").write_bytes(b"made")
finding = {"level": "warning", "where": "file", "message": str(os.listdir(pathlib.Path(asked["path"]).parents[3]))}
found = {"algorithm": pathlib.Path(asked["path"]).read_text(), "environment": "E-v0", "converted": "made.bin"}
print(json.dumps({"ok": True, "findings": [finding], "checkpoint": found}))
"""
"""An `inspect` that says what it sees of the home, and writes a file."""


async def test_a_file_is_inspected_in_a_container(home: Path, venvs: Path) -> None:
    """The worker's image sees the folder of this import alone; what it writes belongs to the scheduler's user."""
    manifest = WorkerManifest(id="sees", title="S", command=["python", "-c", SEES], image=IMAGE)
    worker = ImageWorker(manifest, home / "sees.toml", venvs)
    run_id = _IDS.next()
    place = ImportFolder(home, run_id)
    (home / "uploads").mkdir()
    (home / "uploads" / ("0" * 32)).write_text("what it is of")
    path = place.claim("0" * 32, "a.pt")
    asker = ImageAsker(Engine(stack=str(home), network="host"))
    request = InspectRequest(path=str(path), name="a.pt", made=str(place.made))
    try:
        report = await WorkerProbe(home, asker).inspect(
            worker, Inspection(run_id, place.path, request)
        )
    finally:
        asker.close()
    assert report.checkpoint is not None
    assert report.checkpoint.algorithm == "what it is of"
    assert report.findings[0].message == "['imports']"
    made = place.made / "made.bin"
    assert (made.read_bytes(), made.stat().st_uid) == (b"made", os.getuid())
