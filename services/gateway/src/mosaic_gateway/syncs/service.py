"""Syncs as clients see them, and the tasks that feed those that run."""

import asyncio
from typing import Any, TypeVar

import httpx
from pydantic import BaseModel, ValidationError

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord, RunView
from mosaic_contracts.services import ListRequest, SyncOrder
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import SyncPlan, SyncStatus
from mosaic_contracts.tracking import TrackedRun, TrackedUpload, UploadState
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD
from mosaic_contracts.verbs import PLAN_SYNC, SYNC
from mosaic_gateway.files.artifacts import Artifacts
from mosaic_gateway.history import History
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_gateway.syncs.feeding import SyncFeeder
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.lifecycle import cancel_all, log_death
from mosaic_servicekit.logging import get_log
from mosaic_store import Reader

RETRY_S = 0.5
"""Seconds between two tries to feed a sync, which makes its socket without a word to this process."""
_MAX_LISTED = 50
ModelT = TypeVar("ModelT", bound=BaseModel)


class Syncs:
    """Starts syncs through the scheduler, and feeds each that runs from the store."""

    def __init__(
        self,
        bus: Bus,
        scheduler: SchedulerClient,
        runs: Runs,
        history: History,
        artifacts: Artifacts,
    ) -> None:
        self._bus = bus
        self._scheduler = scheduler
        self._runs = runs
        self._history = history
        self._feeder = SyncFeeder(runs, history, artifacts)
        self._feeds: dict[str, asyncio.Task[None]] = {}

    async def start(self, run_id: str, request: dict[str, Any]) -> tuple[RunView, bool]:
        """Send a run, or find the sync that does. Return the sync, and whether it is new.

        Raises:
            ProblemError: `sync_impossible`, `consent_required`, `run_live`, `run_unknown`, `request_invalid`; or the
                scheduler does not answer.
        """
        await self._require_unsent(run_id, request)
        order = SyncOrder(run_id=run_id, sync=request)
        return await self._runs.start(SYNC, order, may_exist=True)

    async def plan(self, run_id: str, request: dict[str, Any]) -> SyncPlan:
        """What a sync would send. Raises ProblemError as `start`."""
        await self._require_unsent(run_id, request)
        order = SyncOrder(run_id=run_id, sync=request, dry_run=True)
        return await self._scheduler.call(PLAN_SYNC, order)

    async def status(self, run_id: str) -> SyncStatus:
        """What of a run is at W&B. Raises ProblemError: the scheduler does not answer."""
        asked = ListRequest(kinds=[RunKind.SYNC.value], parent=run_id, limit=_MAX_LISTED)
        views = await self._runs.completed((await self._scheduler.records(asked)).runs)
        tracked, upload = await self._reported(run_id)
        return SyncStatus(tracked=tracked, upload=upload, syncs=views)

    async def run(self) -> None:
        """Feed for ever what runs already when the broker can be reached; `see` learns of the rest."""
        while True:
            await self._bus.connected.wait()
            try:
                for record in await self._with_process():
                    self.see(record)
            except ProblemError as error:
                get_log().info("syncs.not_listed", error=str(error))
                await asyncio.sleep(RETRY_S)
                continue
            await self._bus.lost.wait()

    def see(self, record: RunRecord) -> None:
        """Feed a sync that runs; forget one that has ended."""
        if record.spec.sync is None:
            return
        if record.state.is_final:
            task = self._feeds.pop(record.run_id, None)
            if task is not None:
                task.cancel()
        elif record.state.has_process and record.run_id not in self._feeds:
            feeding = self._feed(record)
            task = asyncio.get_running_loop().create_task(feeding, name=f"feed {record.run_id}")
            task.add_done_callback(log_death)
            self._feeds[record.run_id] = task

    async def close(self) -> None:
        """End what is under way."""
        await cancel_all(self._feeds.values())

    async def _with_process(self) -> list[RunRecord]:
        states = [state.value for state in RunState if state.has_process]
        asked = ListRequest(kinds=[RunKind.SYNC.value], states=states, limit=_MAX_LISTED)
        return (await self._scheduler.records(asked)).runs

    async def _feed(self, record: RunRecord) -> None:
        said = ""
        while True:
            try:
                await self._feeder.feed(record)
            except (httpx.HTTPError, OSError, ValueError, ProblemError) as error:
                # Its worker has not begun yet, or was busy, or the store cannot be read now.
                if said != (said := repr(error)[:200]):
                    get_log().info("sync.not_fed", run_id=record.run_id, error=said)
                await asyncio.sleep(RETRY_S)
            else:
                return

    async def _require_unsent(self, run_id: str, request: dict[str, Any]) -> None:
        if request.get("again") is True:
            return
        tracked, upload = await self._reported(run_id)
        if upload is None or upload.state is not UploadState.UPLOADED:
            return
        where = f" at {tracked.url}" if tracked is not None and tracked.url else ""
        raise ProblemError(
            Problem(
                code=ProblemCode.SYNC_IMPOSSIBLE,
                title="This run is at W&B already",
                detail=f"It is{where}. `--again` (field `again`) sends it once more; what is there is replaced.",
            )
        )

    async def _reported(self, run_id: str) -> tuple[TrackedRun | None, TrackedUpload | None]:
        """What the run, or its newest sync, reported last."""
        none: dict[str, Any] = {}
        found = await self._history.read(lambda reader: _last_reports(reader, run_id), none)
        tracked = _read(TrackedRun, found.get(TRACKING_RUN))
        return tracked, _read(TrackedUpload, found.get(TRACKING_UPLOAD))


def _last_reports(reader: Reader, run_id: str) -> dict[str, Any]:
    page = reader.events(run_id, types=[TRACKING_RUN, TRACKING_UPLOAD])
    return {event["type"]: event["data"] for event in page.events}


def _read(model: type[ModelT], data: object) -> ModelT | None:
    """A worker's own event may be anything."""
    try:
        return None if data is None else model.model_validate(data)
    except ValidationError:
        return None
