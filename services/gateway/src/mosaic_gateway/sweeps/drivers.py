"""Every sweep that goes on has a driver: found when the gateway starts, and by changes of state."""

import asyncio

from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ListRequest
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_gateway.sweeps.driver import SweepDriver
from mosaic_gateway.sweeps.news import NewsReader
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.lifecycle import cancel_all, log_death
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

LOOK_S = 10.0
"""Seconds between two looks at the scheduler's list: a change may be missed while a connection is lost."""
_WITH_PROCESS = [state.value for state in RunState if state.has_process]


class SweepDrivers:
    """Starts and ends drivers."""

    def __init__(self, bus: Bus, scheduler: SchedulerClient, runs: Runs, news: NewsReader) -> None:
        self._bus = bus
        self._scheduler = scheduler
        self._runs = runs
        self._news = news
        self._drivers: dict[str, tuple[SweepDriver, asyncio.Task[None]]] = {}
        self._look = asyncio.Event()

    async def run(self) -> None:
        """Look for sweeps until cancelled."""
        self._bus.on_connected(self._look.set)
        while True:
            self._look.clear()
            try:
                request = ListRequest(kinds=[RunKind.SWEEP.value], states=_WITH_PROCESS, limit=100)
                for record in (await self._scheduler.records(request)).runs:
                    self.see(record)
            except ProblemError as error:
                get_log().info("sweeps.not_listed", error=str(error)[:200])
            await wait_up_to(self._look, LOOK_S)

    def see(self, record: RunRecord) -> None:
        """A record as it came: of a sweep, or of a run of one."""
        if record.trial is not None and record.spec.parent in self._drivers:
            self._drivers[record.spec.parent][0].see(record)
        if record.spec.kind is not RunKind.SWEEP or record.spec.sweep is None:
            return
        known = self._drivers.get(record.run_id)
        if not record.state.has_process:
            if known is not None:
                known[1].cancel()
                del self._drivers[record.run_id]
        elif known is None or known[1].done():
            folder = self._runs.folder(record.run_id)
            driver = SweepDriver(
                record.run_id, record.spec.sweep, folder, self._scheduler, self._news
            )
            task = asyncio.get_running_loop().create_task(
                driver.run(), name=f"sweep {record.run_id}"
            )
            task.add_done_callback(log_death)
            self._drivers[record.run_id] = (driver, task)

    def hurry(self, run_id: str) -> None:
        """Let a sweep exchange now."""
        if run_id in self._drivers:
            self._drivers[run_id][0].hurry()

    async def close(self) -> None:
        """End all drivers; the next gateway goes on."""
        await cancel_all([task for _, task in self._drivers.values()])
