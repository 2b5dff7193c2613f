"""The Slurm executor on a real Slurm: by the conformance suite, and in what is its own."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.executor_conformance import ExecutorConformance, synthetic_launch
from tests.slurm import SlurmCluster, why_not

from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.executors.protocol import AttemptRef, Executor, LaunchSpec
from mosaic_scheduler.executors.slurm import SlurmExecutor, SlurmOptions
from mosaic_servicekit.testing import TestBroker

pytestmark = [
    pytest.mark.broker,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(why_not()), reason=f"needs a real Slurm: {why_not()}"),
]


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


class TestSlurmExecutor(ExecutorConformance):
    """Real jobs; the drain is cut short, for most tests have no recorder."""

    adopted_events = 1000

    @pytest.fixture(autouse=True)
    def interpreter(self, venvs: Path, cluster: SlurmCluster) -> None:
        """Runner, shipper and worker run in the environment of the synthetic worker."""
        self._python = str(venvs / "synthetic" / "bin" / "python")
        self._cluster = cluster
        self._made: list[SlurmExecutor] = []

    @pytest.fixture(autouse=True)
    def short_drain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody takes the events here: do not wait half a minute for it."""
        monkeypatch.setattr("mosaic_scheduler.executors.run_folder.DRAIN_S", 1.0)

    def make(self, home: Path) -> Executor:
        """One that looks at the queue often."""
        made = SlurmExecutor(home, SlurmOptions(poll_s=0.5))
        self._made.append(made)
        return made

    def launch_spec(self, ref: AttemptRef, broker: TestBroker, spec: RunSpec) -> LaunchSpec:
        """With the interpreter of the environment."""
        return synthetic_launch(self._python, ref, broker, spec)

    def kill_runner(self, home: Path, ref: AttemptRef) -> None:
        """By its pid file: all nodes are this machine."""
        info = json.loads((home / "runs" / ref.run_id / "control" / "runner.json").read_text())
        os.kill(info["runner_pid"], signal.SIGKILL)

    def end_all(self, home: Path) -> None:
        """Cancel what the test left."""
        self._cluster.run("scancel", "--quiet", "--user=root", check=False)
        for made in self._made:
            made.close()
