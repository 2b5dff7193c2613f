"""Runs in an Apptainer image, by a real Slurm and a real Apptainer: nothing is asked of the node's environments."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.executor_conformance import ExecutorConformance, synthetic_launch
from tests.slurm import SlurmCluster, why_not

from mosaic_contracts.interpreter import python_module
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.executors.job_images import JobImages
from mosaic_scheduler.executors.protocol import AttemptPhase, AttemptRef, Executor, LaunchSpec
from mosaic_scheduler.executors.slurm import SlurmExecutor, SlurmOptions
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource

ROOT = Path(__file__).parents[3]
IMAGE = "mosaic-test/synthetic"
APPTAINER = shutil.which("apptainer")
pytestmark = [
    pytest.mark.broker,
    pytest.mark.nightly,
    pytest.mark.timeout(600),
    pytest.mark.skipif(APPTAINER is None, reason="needs Apptainer on the PATH"),
    pytest.mark.skipif(shutil.which("docker") is None, reason="needs Docker, for the image"),
    pytest.mark.skipif(bool(why_not()), reason=f"needs a real Slurm: {why_not()}"),
]


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the synthetic worker's image."""
    folder = tmp_path_factory.mktemp("images")
    dockerfile = Path(__file__).parent / "image" / "Dockerfile"
    for argv in (
        ["docker", "build", "-q", "-t", IMAGE, "-f", str(dockerfile), str(ROOT)],
        ["docker", "save", "-o", str(folder / "synthetic.tar"), IMAGE],
        [str(APPTAINER), "build", "synthetic.sif", "docker-archive:synthetic.tar"],
    ):
        subprocess.run(argv, cwd=folder, check=True, capture_output=True)
    (folder / "synthetic.tar").unlink()
    return folder


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """One cluster for the tests of the module."""
    with SlurmCluster(tmp_path_factory.mktemp("slurm")) as running:
        yield running


@pytest.fixture(autouse=True)
def client(cluster: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slurm's commands find the cluster."""
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)


class TestSlurmImages(ExecutorConformance):
    """The suite of every executor."""

    adopted_events = 2000

    @pytest.fixture(autouse=True)
    def parts(self, cluster: SlurmCluster, images: Path, venvs: Path) -> None:
        """What the executors of a test share."""
        self._python = str(venvs / "synthetic" / "bin" / "python")
        self._cluster = cluster
        self._images = JobImages(images)
        self._made: list[SlurmExecutor] = []

    @pytest.fixture(autouse=True)
    def short_drain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody takes the events here: do not wait half a minute for it."""
        monkeypatch.setattr("mosaic_scheduler.executors.run_folder.DRAIN_S", 1.0)

    def make(self, home: Path) -> Executor:
        """One that looks at the queue often."""
        made = SlurmExecutor(home, SlurmOptions(poll_s=0.5, images=self._images))
        self._made.append(made)
        return made

    def launch_spec(self, ref: AttemptRef, broker: TestBroker, spec: RunSpec) -> LaunchSpec:
        """With the command of the image. The interpreter of this machine only ships what is left."""
        command = python_module("python", "mosaic_workerkit.testing.synthetic")
        return synthetic_launch(
            self._python,
            ref,
            broker,
            spec,
            image=f"{IMAGE}:latest",
            image_python="python",
            image_command=command,
        )

    def kill_runner(self, home: Path, ref: AttemptRef) -> None:
        """By its pid file: all nodes are this machine, and the image has no processes of its own."""
        info = json_of(home / "runs" / ref.run_id / "control" / "runner.json")
        os.kill(int(str(info["runner_pid"])), signal.SIGKILL)

    def end_all(self, home: Path) -> None:
        """Cancel what the test left."""
        self._cluster.run("scancel", "--quiet", "--user=root", check=False)
        for made in self._made:
            made.close()

    async def test_an_impossible_order_is_refused(
        self, executor: Executor, broker: TestBroker
    ) -> None:
        """A program that the image lacks is said by Apptainer, and an image that is not there at the submit."""
        launch_spec = self._launch_spec(AttemptRef(RunIdSource().next(), 1), broker)
        said = await self._refusal(executor, replace(launch_spec, image_python="/nowhere/python"))
        assert "/nowhere/python" in said
        launch_spec = replace(launch_spec, ref=AttemptRef(RunIdSource().next(), 1))
        said = await self._refusal(executor, replace(launch_spec, image="other:1"))
        assert "other.sif" in said

    async def test_its_image_is_known_and_its_processes_are_in_it(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """The record names file and id; the worker's interpreter is the image's own."""
        ref = await self.submit(executor, broker, events=10**6)
        await self.worker_started(home, ref)
        image = await executor.image(ref)
        assert image is not None
        header = self._cluster.run(
            str(APPTAINER), "sif", "header", str(self._images.folder / "synthetic.sif")
        )
        assert image.removeprefix("synthetic.sif@") in header
        info = json_of(home / "runs" / ref.run_id / "control" / "runner.json")
        worker = Path(f"/proc/{info['worker_pid']}")
        assert worker.joinpath("root", ".singularity.d").is_dir()
        assert b"PYTHONPATH" not in worker.joinpath("environ").read_bytes()
        await executor.cancel(ref)
        status = await self.ended(executor, ref)
        assert status.phase is AttemptPhase.ENDED
        assert status.report is not None
        assert status.report.stop_signal_sent


def json_of(path: Path) -> dict[str, object]:
    """A file of the runner's."""
    found: dict[str, object] = json.loads(path.read_text())
    return found
