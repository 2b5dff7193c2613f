"""What every executor must do. A test class derives from this one and says how to make its executor.

The author of an executor (docker, an engine of a cluster) runs these against the real engine.
"""

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stack import file_exists

from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import ExitPhase, Launch
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    Executor,
    LaunchSpec,
)
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource

DEADLINE_S = 60.0
UNENDED = (AttemptPhase.QUEUED, AttemptPhase.ALIVE, AttemptPhase.UNSEEN)
_IDS = RunIdSource()


def synthetic_launch(
    python: str, ref: AttemptRef, broker: TestBroker, spec: RunSpec, **more: Any
) -> LaunchSpec:
    """A launch spec for the synthetic worker, with an interpreter of this machine; `more`: fields of it."""
    return LaunchSpec(
        ref=ref,
        spec=spec,
        nonce="n",
        python=python,
        worker_command=python_module(python, "mosaic_workerkit.testing.synthetic"),
        broker_url=broker.url,
        write_creds=None,
        **more,
    )


class ExecutorConformance(ABC):
    """The suite."""

    adopted_events = 300
    """Events of a run that a second executor must find alive, at 200 a second."""

    @abstractmethod
    def make(self, home: Path) -> Executor:
        """An executor on this MOSAIC_HOME; a second one plays the scheduler after a restart."""

    @abstractmethod
    def launch_spec(self, ref: AttemptRef, broker: TestBroker, spec: RunSpec) -> LaunchSpec:
        """A launch spec for the synthetic worker."""

    @abstractmethod
    def kill_runner(self, home: Path, ref: AttemptRef) -> None:
        """SIGKILL what holds the attempt together."""

    @abstractmethod
    def end_all(self, home: Path) -> None:
        """End whatever a test left behind on this MOSAIC_HOME."""

    @pytest.fixture
    def executor(self, home: Path) -> Iterator[Executor]:
        """The executor under test."""
        yield self.make(home)
        self.end_all(home)

    async def submit(self, executor: Executor, broker: TestBroker, **parameters: Any) -> AttemptRef:
        """Start a run of the synthetic worker."""
        ref = AttemptRef(_IDS.next(), 1)
        await executor.submit(self._launch_spec(ref, broker, **parameters))
        return ref

    async def ended(self, executor: Executor, ref: AttemptRef) -> AttemptStatus:
        """Wait, woken by the executor, until the attempt neither waits nor lives any more."""
        changed = asyncio.Event()
        executor.on_change(changed.set)
        async with asyncio.timeout(DEADLINE_S):
            while (status := await executor.status(ref)).phase in UNENDED:
                await changed.wait()
                changed.clear()  # before the next look: what changes during it counts
        return status

    def named_folder(self, home: Path, ref: AttemptRef) -> Path:
        """The run's folder, as its runner names it."""
        return home / "runs" / ref.run_id

    def runner_folder(self, home: Path, ref: AttemptRef) -> Path:
        """The same folder, by a path that can be read here."""
        return self.named_folder(home, ref)

    async def worker_started(self, home: Path, ref: AttemptRef) -> None:
        """Wait until the worker of this attempt exists."""
        await file_exists(self.runner_folder(home, ref) / "control" / "runner.json")

    async def test_nothing_was_ever_started(self, executor: Executor) -> None:
        """An attempt that nobody submitted is absent, and cancelling it is no error."""
        ref = AttemptRef(_IDS.next(), 1)
        assert (await executor.status(ref)).phase is AttemptPhase.ABSENT
        await executor.cancel(ref)
        assert await executor.logs(ref, 5) == []
        assert await executor.image(ref) is None

    async def test_it_is_ready(self, executor: Executor) -> None:
        """An engine that answers can start attempts."""
        await executor.ready()

    async def test_a_plan_is_what_would_be_started(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """The plan has the runner's own command and variables, and making it leaves nothing behind."""
        ref = AttemptRef(_IDS.next(), 1)
        launch_spec = self._launch_spec(ref, broker, events=10)
        plan = await executor.plan(launch_spec)
        folder = home / "runs" / ref.run_id
        assert not folder.exists()
        assert plan.placement == executor.name
        await executor.submit(launch_spec)
        written = Launch.model_validate_json((folder / "control" / "launch.json").read_bytes())
        there = str(self.named_folder(home, ref))
        assert (plan.command, plan.environment) == (
            [word.replace(str(folder), there) for word in written.worker_argv],
            {name: value.replace(str(folder), there) for name, value in written.env.items()},
        )
        assert there in plan.mounts[0]
        assert plan.network
        assert plan.limits
        await self.ended(executor, ref)

    async def test_the_inventory_has_cores(self, executor: Executor) -> None:
        """There is at least one core to give away."""
        assert (await executor.inventory()).cpus >= 1

    @pytest.mark.parametrize("code", [0, 3])
    async def test_the_exit_code_is_the_workers(
        self, executor: Executor, broker: TestBroker, code: int
    ) -> None:
        """The report has the code that the worker ended with, and says that no stop was asked for."""
        ref = await self.submit(executor, broker, events=10, exit_code=code)
        status = await self.ended(executor, ref)
        assert status.phase is AttemptPhase.ENDED
        assert status.report is not None
        assert (status.report.code, status.report.stop_signal_sent) == (code, False)

    async def test_a_second_submit_starts_nothing(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """Submitting an attempt again, while it lives and after its end, leaves it alone."""
        ref = await self.submit(executor, broker, events=10**6)
        await self.worker_started(home, ref)
        launch_spec = self._launch_spec(ref, broker, events=10**6)
        runner = self.runner_folder(home, ref) / "control" / "runner.json"
        first = runner.read_text()
        await executor.submit(launch_spec)
        assert runner.read_text() == first
        await executor.cancel(ref)
        await self.ended(executor, ref)
        await executor.submit(launch_spec)
        assert (await executor.status(ref)).phase is AttemptPhase.ENDED

    async def test_cancel_is_graceful_and_may_be_repeated(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """A worker that is asked to stop ends with 0; asking again does not make it a kill."""
        ref = await self.submit(executor, broker, events=10**6, rate=100.0)
        await self.worker_started(home, ref)
        await file_exists(self.runner_folder(home, ref) / "control" / "progress")  # it listens
        for _ in range(3):
            await executor.cancel(ref)
        status = await self.ended(executor, ref)
        assert status.report is not None
        assert status.report.stop_signal_sent
        assert (status.report.code, status.report.killed_after_grace) == (0, False)
        await executor.cancel(ref)

    async def test_cancel_at_once_leaves_nothing(
        self, executor: Executor, broker: TestBroker
    ) -> None:
        """A cancel right after the submit is obeyed too."""
        ref = await self.submit(executor, broker, events=10**6)
        async with asyncio.timeout(DEADLINE_S):
            # As the reconciler does: a run that could not listen yet is asked again.
            while (await executor.status(ref)).phase in UNENDED:
                await executor.cancel(ref)
                await asyncio.sleep(0.2)

    async def test_a_new_scheduler_adopts(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """A second executor finds what the first one started, and sees its true end."""
        ref = await self.submit(
            executor, broker, events=self.adopted_events, rate=200.0, exit_code=3
        )
        await self.worker_started(home, ref)
        second = self.make(home)
        assert ref in await second.adopt()
        assert (await second.status(ref)).phase is AttemptPhase.ALIVE
        status = await self.ended(second, ref)
        assert status.report is not None
        assert status.report.code == 3
        assert ref not in await self.make(home).adopt()
        await self.ended(executor, ref)

    async def test_a_killed_runner_is_lost_and_swept(
        self, executor: Executor, broker: TestBroker, home: Path
    ) -> None:
        """Without a report the attempt is lost; after a sweep nothing of it lives; what it left is shipped."""
        ref = await self.submit(executor, broker, events=10**6, rate=100.0)
        await self.worker_started(home, ref)
        self.kill_runner(home, ref)
        assert (await self.ended(executor, ref)).phase is AttemptPhase.LOST
        await executor.sweep(ref)
        assert ref not in await self.make(home).adopt()

    async def test_an_impossible_order_is_refused(
        self, executor: Executor, broker: TestBroker
    ) -> None:
        """An interpreter that does not exist is said, at the submit or by the attempt's status; no worker ran."""
        ref = AttemptRef(_IDS.next(), 1)
        launch_spec = self._launch_spec(ref, broker)
        broken = LaunchSpec(**{**vars(launch_spec), "python": "/nowhere/python"})
        said = await self._refusal(executor, broken)
        assert "/nowhere/python" in said

    async def _refusal(self, executor: Executor, launch_spec: LaunchSpec) -> str:
        """What is said when nothing could be started."""
        try:
            await executor.submit(launch_spec)
        except LaunchFailed as error:
            status, said = await executor.status(launch_spec.ref), str(error)
        else:
            status = await self.ended(executor, launch_spec.ref)
            said = status.detail
        assert status.phase in (AttemptPhase.ABSENT, AttemptPhase.REFUSED)
        return said

    async def test_logs_are_the_workers_words(self, executor: Executor, broker: TestBroker) -> None:
        """What the worker printed last can be read after its end."""
        ref = await self.submit(executor, broker, events=1, fail=True)
        await self.ended(executor, ref)
        assert "asked to fail" in (await executor.logs(ref, 3))[-1]

    async def test_without_recorder_telemetry_stays(
        self, executor: Executor, broker: TestBroker
    ) -> None:
        """With nobody to take its events an attempt ends as not drained, and a drain says so too."""
        ref = await self.submit(executor, broker, events=10)
        status = await self.ended(executor, ref)
        assert status.report is not None
        assert status.report.phase is ExitPhase.NOT_DRAINED
        assert status.report.signal is not signal.SIGKILL
        assert not await executor.drain(ref, timeout_s=0.5)

    def _launch_spec(self, ref: AttemptRef, broker: TestBroker, **parameters: Any) -> LaunchSpec:
        spec = RunSpec(
            worker="synthetic",
            algorithm="synthetic",
            environment="Synthetic-v0",
            parameters=parameters,
            grace_s=20,  # a loaded machine must not make a polite stop a kill
        )
        return self.launch_spec(ref, broker, spec)
