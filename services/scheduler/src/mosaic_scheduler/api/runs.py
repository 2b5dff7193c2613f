"""What is asked about runs as they are (`mosaic_contracts.services`): get, list, stop, status."""

import asyncio
from datetime import UTC, datetime

from mosaic_contracts import VERSION
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import (
    ListRequest,
    RunIds,
    RunRecords,
    RunRequest,
    SchedulerStatus,
)
from mosaic_contracts.states import EndCause, RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.reconcile.dispatch import Dispatcher
from mosaic_scheduler.reconcile.loop import Reconciler
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.runs import outbox
from mosaic_scheduler.runs.selection import first_that_fit, selection
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.broker_clock import BrokerClock
from mosaic_servicekit.bus import Verb

_STOP_TRIES = 5
"""A record changes at most this often between reading and writing it, under any load seen."""
MAX_PAGE = 1000


class RunQueries:
    """Answers requests. What it decides it writes; what follows the reconciler does."""

    def __init__(
        self,
        settings: SchedulerSettings,
        database: Database,
        store: RunStore,
        reconciler: Reconciler,
        dispatcher: Dispatcher,
        views: RunViews,
        broker_clock: BrokerClock,
        volumes: VolumeWatch,
        profiles: ProfileFile,
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._reconciler = reconciler
        self._dispatcher = dispatcher
        self._views = views
        self._broker_clock = broker_clock
        self._volumes = volumes
        self._profiles = profiles
        self._started_at = datetime.now(UTC)

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "get": (RunRequest, self.get),
            "list": (ListRequest, self.list_runs),
            "stop": (RunRequest, self.stop),
            "status": (None, self.status),
        }

    async def get(self, request: RunRequest) -> RunRecord:
        """One run, also an archived one."""
        return self._views.view(await self._store.require(request.run_id))

    async def list_runs(self, request: ListRequest) -> RunRecords | RunIds:
        """Those that fit, newest first."""
        wanted = selection(request, max(1, min(request.limit, MAX_PAGE)))
        if request.brief:
            return await self._store.select_brief(wanted, request.value)
        records = await self._store.select(wanted)
        runs = first_that_fit([self._views.view(record) for record in records])
        return RunRecords(runs=runs, cut=len(runs) < len(records))

    async def stop(self, request: RunRequest) -> RunRecord:
        """Ask a run to stop, in whatever state it is. Asked again, or after its end, it changes nothing."""
        for _ in range(_STOP_TRIES):
            record = await self._store.require(request.run_id)
            if record.state.is_final or _is_stopping(record):
                return self._views.view(record)
            changed = await self._reconciler.request_stop(record, EndCause.STOPPED_BY_USER)
            if changed is not None:
                return self._views.view(changed)
        raise RuntimeError(f"run {request.run_id} changes faster than it can be stopped")

    async def status(self) -> SchedulerStatus:
        """How the scheduler is."""
        load = self._dispatcher.load
        return SchedulerStatus(
            version=VERSION,
            cpu_limit=self._settings.cores,
            cpu_in_use=load.cpu_in_use,
            queued=load.queued,
            live=load.live,
            unpublished=await self._database.call(outbox.count),
            proxies=self._settings.proxies.shown(),
            broker_ahead_s=self._broker_clock.ahead_s,
            started_at=self._started_at,
            volumes=[volume.shown() for volume in self._volumes.volumes],
            findings=await asyncio.to_thread(self._profiles.findings),
        )


def _is_stopping(record: RunRecord) -> bool:
    """Whether a stop changes nothing more. A run that stops for the disk may continue later, unless a user stops it."""
    return record.state is RunState.STOPPING and record.stop_requested is not EndCause.DISK_LOW
