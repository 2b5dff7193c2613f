"""A run that somebody follows: its feed, and what is known of its record."""

import asyncio

from mosaic_contracts.runs import Progress, RunRecord, RunView
from mosaic_contracts.services import RunRequest
from mosaic_contracts.verbs import GET
from mosaic_gateway.live.feed import Feed
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient


class WatchedRun:
    """Shared by all clients that follow the run."""

    def __init__(self, run_id: str, feed: Feed, scheduler: SchedulerClient, runs: Runs) -> None:
        self.run_id = run_id
        self.feed = feed
        self.followers = 0
        self.ended = asyncio.Event()
        """The run is final and all of its events are in the store."""
        self._record: RunRecord | None = None
        self._scheduler = scheduler
        self._runs = runs

    async def view(self) -> RunView:
        """The run as the scheduler knows it now. Raises ProblemError."""
        record = await self._scheduler.call(GET, RunRequest(run_id=self.run_id))
        self.see(record)
        return await self._runs.complete(record)

    def see(self, record: RunRecord) -> bool:
        """Take a record; return whether it says something new."""
        known = self._record
        if known is not None and record.revision < known.revision:
            return False
        self._record = record
        if record.state.is_final and not record.telemetry_pending:
            self.ended.set()
        return known is None or record.revision > known.revision

    def see_progress(self, progress: Progress) -> RunRecord | None:
        """Take the trainer's progress from a heartbeat; return the record with it, if there is one."""
        if self._record is None or self._record.state.is_final:
            return None
        self._record = self._record.model_copy(update={"progress": progress})
        return self._record
