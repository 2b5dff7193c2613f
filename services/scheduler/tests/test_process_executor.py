"""The process executor, by the conformance suite and in what is its own."""

import asyncio
import json
import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.executor_conformance import ExecutorConformance, synthetic_launch
from tests.homes import make_environment
from tests.stack import until

from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.launch import ENV_ATTEMPT, ENV_RUN_DIR, ENV_RUN_ID, LAUNCH_FILE, Launch
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.executors import proc
from mosaic_scheduler.executors.process import ProcessExecutor
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptRef,
    Executor,
    GpuHold,
    LaunchSpec,
    RunProcess,
)
from mosaic_scheduler.executors.run_folder import RUNNER_MODULE
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource

pytestmark = [pytest.mark.broker, pytest.mark.timeout(120)]


class TestProcessExecutor(ExecutorConformance):
    """Real runners and workers; the drain is cut short, for most tests have no recorder."""

    @pytest.fixture(autouse=True)
    def interpreter(self, venvs: Path) -> None:
        """Runner, shipper and worker run in the environment of the synthetic worker."""
        self._python = str(venvs / "synthetic" / "bin" / "python")

    @pytest.fixture(autouse=True)
    def short_drain(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Nobody takes the events here: do not wait half a minute for it."""
        monkeypatch.setattr("mosaic_scheduler.executors.run_folder.DRAIN_S", 1.0)

    def make(self, home: Path) -> Executor:
        """On two cores."""
        return ProcessExecutor(home, cores=2)

    def launch_spec(self, ref: AttemptRef, broker: TestBroker, spec: RunSpec) -> LaunchSpec:
        """With the interpreter of the environment."""
        return synthetic_launch(self._python, ref, broker, spec)

    def kill_runner(self, home: Path, ref: AttemptRef) -> None:
        """By its pid file, as a careless person would."""
        info = json.loads((home / "runs" / ref.run_id / "control" / "runner.json").read_text())
        process = proc.run_process(info["runner_pid"])
        assert process is not None
        proc.send_signal(process, signal.SIGKILL)

    def end_all(self, home: Path) -> None:
        """By what their environment says."""
        for process in proc.run_processes():
            if process.run_dir.parent == home / "runs":
                proc.send_signal(process, signal.SIGKILL)

    async def test_who_holds_gpus_is_told_by_what_runs(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """The worker sees its devices by UUID; a new scheduler finds them, also when the run's folder lost its own."""
        ref = AttemptRef(RunIdSource().next(), 1)
        grant = GpuGrant(token="t", devices=["GPU-a", "MIG-b"], memory_mb=100)
        # its worker has an image too, in which nothing runs here
        launch_spec = replace(
            self._launch_spec(ref, broker, events=10**6), grant=grant, image="worker:1"
        )
        await executor.submit(launch_spec)
        await self.worker_started(home, ref)
        assert await self.make(home).gpu_holds() == [GpuHold(ref, grant)]
        launch = Launch.model_validate_json((home / "runs" / ref.run_id / LAUNCH_FILE).read_bytes())
        assert launch.env["CUDA_VISIBLE_DEVICES"] == "GPU-a,MIG-b"
        (home / "runs" / ref.run_id / LAUNCH_FILE).unlink()
        assert await self.make(home).gpu_holds() == [GpuHold(ref, grant)]
        self.kill_runner(home, ref)
        await self.ended(executor, ref)
        await executor.sweep(ref)
        await until(lambda: self._holds_nothing(home))

    async def _holds_nothing(self, home: Path) -> bool:
        return await self.make(home).gpu_holds() == []

    async def test_a_runner_that_cannot_begin_is_refused(
        self, executor: Executor, broker: TestBroker, tmp_path: Path
    ) -> None:
        """An environment without workerkit: refused, with what the interpreter said."""
        make_environment(tmp_path / "bare")
        self._python = str(tmp_path / "bare" / "bin" / "python")
        ref = await self.submit(executor, broker)
        status = await self.ended(executor, ref)
        assert status.phase is AttemptPhase.REFUSED
        assert "mosaic_workerkit" in status.detail


def _start_marked(home: Path, ref: AttemptRef, name: str) -> "subprocess.Popen[bytes]":
    """A shell that waits, with the marks of a run and `name` in its argv."""
    run_dir = home / "runs" / ref.run_id
    marks = {ENV_RUN_ID: ref.run_id, ENV_RUN_DIR: str(run_dir), ENV_ATTEMPT: str(ref.attempt)}
    argv = ["/bin/sh", "-c", "read line", name]
    return subprocess.Popen(argv, stdin=subprocess.PIPE, env={**os.environ, **marks})


async def test_runs_that_end_together_take_one_look_at_all_processes(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what one of them left is ended all the same, also when it was started after that look."""
    looks = 0

    def count() -> list[RunProcess]:
        nonlocal looks
        looks += 1
        return look()

    look = proc.run_processes
    monkeypatch.setattr(proc, "run_processes", count)
    executor = ProcessExecutor(home, cores=2)
    ends: asyncio.Queue[None] = asyncio.Queue()
    executor.on_change(lambda: ends.put_nowait(None))
    refs = [AttemptRef(RunIdSource().next(), 1) for _ in range(8)]
    runners = [_start_marked(home, ref, RUNNER_MODULE) for ref in refs]
    left = [_start_marked(home, refs[-1], "helper")]
    try:
        assert len(await executor.adopt()) == len(refs)
        for runner in runners:
            runner.kill()
            runner.wait()
            await ends.get()
        looks = 0
        assert [await executor.sweep(ref) for ref in refs[:-1]] == [0] * (len(refs) - 1)
        assert looks == 1
        left.append(_start_marked(home, refs[-1], "another helper"))
        assert await executor.sweep(refs[-1]) == len(left)
        assert [process.wait() for process in left] == [-signal.SIGKILL] * len(left)
        assert looks == 2
    finally:
        for process in (*runners, *left):
            process.kill()
            process.communicate()
        executor.close()


def test_a_pid_of_another_process_is_never_signalled() -> None:
    """When the start time does not fit, nothing is sent."""
    own = RunProcess(pid=1, start_ticks=-1, run_id="x", run_dir=Path("/"), attempt=1, argv=[])
    assert not proc.send_signal(own, signal.SIGKILL)
