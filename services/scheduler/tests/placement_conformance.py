"""What every placement must do. A test class derives from this one and says how to make its placement.

The author of a placement (docker, an engine of a cluster) runs these against the real engine.
"""

import asyncio
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.stack import file_exists

from mosaic_contracts.launch import ExitPhase, Launch
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler.errors import PlacementFailed
from mosaic_scheduler.placement.protocol import (
    LaunchOrder,
    Placed,
    PlacedKind,
    PlacedRef,
    Placement,
)
from mosaic_servicekit.testing import TestBroker
from mosaic_servicekit.ulid import RunIdSource

DEADLINE_S = 30.0
_IDS = RunIdSource()


class PlacementConformance(ABC):
    """The suite."""

    @abstractmethod
    def make(self, home: Path) -> Placement:
        """A placement on this MOSAIC_HOME; a second one plays the scheduler after a restart."""

    @abstractmethod
    def order(self, ref: PlacedRef, broker: TestBroker, spec: RunSpec) -> LaunchOrder:
        """An order for the synthetic worker."""

    @abstractmethod
    def kill_runner(self, home: Path, ref: PlacedRef) -> None:
        """SIGKILL what holds the attempt together."""

    @abstractmethod
    def end_all(self, home: Path) -> None:
        """End whatever a test left behind on this MOSAIC_HOME."""

    @pytest.fixture
    def placement(self, home: Path) -> Iterator[Placement]:
        """The placement under test."""
        yield self.make(home)
        self.end_all(home)

    async def submit(
        self, placement: Placement, broker: TestBroker, **parameters: Any
    ) -> PlacedRef:
        """Start a run of the synthetic worker."""
        ref = PlacedRef(_IDS.next(), 1)
        await placement.submit(self._order(ref, broker, **parameters))
        return ref

    async def ended(self, placement: Placement, ref: PlacedRef) -> Placed:
        """Wait, woken by the placement, until the attempt does not live any more."""
        changed = asyncio.Event()
        placement.on_change(changed.set)
        async with asyncio.timeout(DEADLINE_S):
            while (placed := await placement.status(ref)).kind is PlacedKind.ALIVE:
                changed.clear()
                await changed.wait()
        return placed

    async def worker_started(self, home: Path, ref: PlacedRef) -> None:
        """Wait until the worker of this attempt exists."""
        await file_exists(home / "runs" / ref.run_id / "control" / "runner.json")

    async def test_nothing_was_ever_started(self, placement: Placement) -> None:
        """An attempt that nobody submitted is absent, and cancelling it is no error."""
        ref = PlacedRef(_IDS.next(), 1)
        assert (await placement.status(ref)).kind is PlacedKind.ABSENT
        await placement.cancel(ref)
        assert await placement.logs(ref, 5) == []
        assert await placement.image(ref) is None

    async def test_it_is_ready(self, placement: Placement) -> None:
        """An engine that answers can start attempts."""
        await placement.ready()

    async def test_a_plan_is_what_would_be_started(
        self, placement: Placement, broker: TestBroker, home: Path
    ) -> None:
        """The plan has the runner's own command and variables, and making it leaves nothing behind."""
        ref = PlacedRef(_IDS.next(), 1)
        order = self._order(ref, broker, events=10)
        plan = await placement.plan(order)
        folder = home / "runs" / ref.run_id
        assert not folder.exists()
        assert plan.placement == placement.name
        await placement.submit(order)
        written = Launch.model_validate_json((folder / "control" / "launch.json").read_bytes())
        assert (plan.command, plan.environment) == (written.worker_argv, written.env)
        assert str(folder) in plan.mounts[0]
        assert plan.network
        assert plan.limits
        await self.ended(placement, ref)

    async def test_the_inventory_has_cores(self, placement: Placement) -> None:
        """There is at least one core to give away."""
        assert (await placement.inventory()).cpus >= 1

    @pytest.mark.parametrize("code", [0, 3])
    async def test_the_exit_code_is_the_workers(
        self, placement: Placement, broker: TestBroker, code: int
    ) -> None:
        """The report has the code that the worker ended with, and says that no stop was asked for."""
        ref = await self.submit(placement, broker, events=10, exit_code=code)
        placed = await self.ended(placement, ref)
        assert placed.kind is PlacedKind.ENDED
        assert placed.report is not None
        assert (placed.report.code, placed.report.stop_signal_sent) == (code, False)

    async def test_a_second_submit_starts_nothing(
        self, placement: Placement, broker: TestBroker, home: Path
    ) -> None:
        """Submitting an attempt again, while it lives and after its end, leaves it alone."""
        ref = await self.submit(placement, broker, events=10**6)
        await self.worker_started(home, ref)
        order = self._order(ref, broker, events=10**6)
        first = (home / "runs" / ref.run_id / "control" / "runner.json").read_text()
        await placement.submit(order)
        assert (home / "runs" / ref.run_id / "control" / "runner.json").read_text() == first
        await placement.cancel(ref)
        await self.ended(placement, ref)
        await placement.submit(order)
        assert (await placement.status(ref)).kind is PlacedKind.ENDED

    async def test_cancel_is_graceful_and_may_be_repeated(
        self, placement: Placement, broker: TestBroker, home: Path
    ) -> None:
        """A worker that is asked to stop ends with 0; asking again does not make it a kill."""
        ref = await self.submit(placement, broker, events=10**6, rate=100.0)
        await self.worker_started(home, ref)
        await _first_event(home, ref)
        for _ in range(3):
            await placement.cancel(ref)
        placed = await self.ended(placement, ref)
        assert placed.report is not None
        assert placed.report.stop_signal_sent
        assert (placed.report.code, placed.report.killed_after_grace) == (0, False)
        await placement.cancel(ref)

    async def test_cancel_at_once_leaves_nothing(
        self, placement: Placement, broker: TestBroker
    ) -> None:
        """A cancel right after the submit is obeyed too."""
        ref = await self.submit(placement, broker, events=10**6)
        async with asyncio.timeout(DEADLINE_S):
            # As the reconciler does: a run that could not listen yet is asked again.
            while (await placement.status(ref)).kind is PlacedKind.ALIVE:
                await placement.cancel(ref)
                await asyncio.sleep(0.2)

    async def test_a_new_scheduler_adopts(
        self, placement: Placement, broker: TestBroker, home: Path
    ) -> None:
        """A second placement finds what the first one started, and sees its true end."""
        ref = await self.submit(placement, broker, events=300, rate=200.0, exit_code=3)
        await self.worker_started(home, ref)
        second = self.make(home)
        assert ref in await second.adopt()
        assert (await second.status(ref)).kind is PlacedKind.ALIVE
        placed = await self.ended(second, ref)
        assert placed.report is not None
        assert placed.report.code == 3
        assert ref not in await self.make(home).adopt()
        await self.ended(placement, ref)

    async def test_a_killed_runner_is_lost_and_swept(
        self, placement: Placement, broker: TestBroker, home: Path
    ) -> None:
        """Without a report the attempt is lost; after a sweep nothing of it lives; what it left is shipped."""
        ref = await self.submit(placement, broker, events=10**6, rate=100.0)
        await self.worker_started(home, ref)
        self.kill_runner(home, ref)
        assert (await self.ended(placement, ref)).kind is PlacedKind.LOST
        await placement.sweep(ref)
        assert ref not in await self.make(home).adopt()

    async def test_an_impossible_order_is_refused(
        self, placement: Placement, broker: TestBroker
    ) -> None:
        """An interpreter that does not exist is said, at the submit or by the attempt's status; no worker ran."""
        ref = PlacedRef(_IDS.next(), 1)
        order = self._order(ref, broker)
        broken = LaunchOrder(**{**vars(order), "python": "/nowhere/python"})
        said = await self._refusal(placement, broken)
        assert "/nowhere/python" in said

    async def _refusal(self, placement: Placement, order: LaunchOrder) -> str:
        """What is said when nothing could be started."""
        try:
            await placement.submit(order)
        except PlacementFailed as error:
            placed, said = await placement.status(order.ref), str(error)
        else:
            placed = await self.ended(placement, order.ref)
            said = placed.detail
        assert placed.kind in (PlacedKind.ABSENT, PlacedKind.REFUSED)
        return said

    async def test_logs_are_the_workers_words(
        self, placement: Placement, broker: TestBroker
    ) -> None:
        """What the worker printed last can be read after its end."""
        ref = await self.submit(placement, broker, events=1, fail=True)
        await self.ended(placement, ref)
        assert "asked to fail" in (await placement.logs(ref, 3))[-1]

    async def test_without_recorder_telemetry_stays(
        self, placement: Placement, broker: TestBroker
    ) -> None:
        """With nobody to take its events an attempt ends as not drained, and a drain says so too."""
        ref = await self.submit(placement, broker, events=10)
        placed = await self.ended(placement, ref)
        assert placed.report is not None
        assert placed.report.phase is ExitPhase.NOT_DRAINED
        assert placed.report.signal is not signal.SIGKILL
        assert not await placement.drain(ref, timeout_s=0.5)

    def _order(self, ref: PlacedRef, broker: TestBroker, **parameters: Any) -> LaunchOrder:
        spec = RunSpec(
            worker="synthetic",
            algorithm="synthetic",
            environment="Synthetic-v0",
            parameters=parameters,
            grace_s=20,  # a loaded machine must not make a polite stop a kill
        )
        return self.order(ref, broker, spec)


async def _first_event(home: Path, ref: PlacedRef) -> None:
    """Wait until the worker listens for stops: it has written its progress by then."""
    await file_exists(home / "runs" / ref.run_id / "control" / "progress")
