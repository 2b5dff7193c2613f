"""New runs that serve TensorBoard for a selection of other runs."""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from pydantic import ValidationError

from mosaic_contracts.dashboards import (
    DASHBOARD_WALL_TIME_S,
    MAX_DASHBOARDS,
    DashboardRequest,
    DashboardSource,
    SelectedRun,
)
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import DashboardOrder
from mosaic_contracts.spec import RecordLevel, RunKind, RunSpec
from mosaic_contracts.states import EndCause
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_servicekit.bus import Verb

MEMORY_MB = 4096
"""Limit of memory for one dashboard, in MiB, where the machine has more."""
IN_USE_S = 60.0
"""A dashboard with a request in the last so many seconds does not give way to a new one."""
_OUTBOX_BYTES = 16 * 2**20
_GRACE_S = 5.0
_NAME_LENGTH, _FOLDER_LENGTH, _ID_LENGTH = 200, 140, 6
_UNSAFE = re.compile(r"[^\w .()+=,@-]+")
_TENSORBOARD = "tensorboard"
Stop = Callable[[RunRecord, EndCause], Awaitable[RunRecord | None]]
"""Stops a run that has not ended; None: its record was stale, and nothing was done."""


class RunDashboards:
    """The verb `dashboard`."""

    def __init__(
        self,
        store: RunStore,
        catalogue: WorkerCatalogue,
        admission: Admission,
        stop: Stop,
        views: RunViews,
        idle_s: float,
    ) -> None:
        """`idle_s`: seconds without a request after which a dashboard ends."""
        self._store = store
        self._catalogue = catalogue
        self._admission = admission
        self._stop = stop
        self._views = views
        self._idle_s = idle_s
        self._lock = asyncio.Lock()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"dashboard": (DashboardOrder, self.open)}

    async def open(self, order: DashboardOrder) -> RunRecord:
        """Queue a dashboard. While one of the same selection lives, that one is the answer."""
        try:
            asked = DashboardRequest.model_validate(order.dashboard)
        except ValidationError as error:
            raise problem.request_invalid("dashboard", error) from error
        records = [await self._store.require(run_id) for run_id in asked.runs]
        _check_kinds(records)
        source = DashboardSource(runs=list(_selected(records)), idle_s=self._idle_s)
        # Two requests at once start one dashboard.
        async with self._lock:
            living = await self._living()
            for record in living:
                if record.spec.dashboard and record.spec.dashboard.run_ids == source.run_ids:
                    return self._views.view(record)
            worker, description = await self._find_worker(records)
            await self._make_room(living, order.unused_s)
            return await self._admission.queue_derived(
                _spec(worker, records, source), description, None
            )

    async def _living(self) -> list[RunRecord]:
        """Dashboards that have not ended, the oldest first."""
        return [
            run.record
            for run in await self._store.unfinished()
            if run.record.spec.kind is RunKind.DASHBOARD
            and run.record.stop_requested is None
            and not self._views.is_draining(run.record.run_id)
        ]

    async def _make_room(self, living: Sequence[RunRecord], unused_s: Mapping[str, float]) -> None:
        """Stop a dashboard if there are too many. One in use is kept."""
        found = find_unused(living, unused_s, datetime.now(UTC))
        if found is not None and len(living) >= MAX_DASHBOARDS:
            await self._stop(found, EndCause.STOPPED_BY_USER)

    async def _find_worker(self, records: Sequence[RunRecord]) -> tuple[str, WorkerDescription]:
        """The worker of a selected run that has TensorBoard, else any other one."""
        entries = {
            entry.manifest.id: entry.description
            for entry in (await self._catalogue.workers()).workers
            if entry.ready and entry.description is not None
        }
        for worker in dict.fromkeys([*(record.spec.worker for record in records), *entries]):
            description = entries.get(worker)
            if description is not None and RunKind.DASHBOARD.value in description.modes:
                return worker, description
        raise _impossible(
            "No worker of this stack has TensorBoard",
            "CleanRL's worker brings it: install that with `./mosaic sync worker_cleanrl` (in containers "
            "`./mosaic images build worker_cleanrl`). `./mosaic workers` lists the workers.",
        )


def find_unused(
    living: Sequence[RunRecord], unused_s: Mapping[str, float], now: datetime
) -> RunRecord | None:
    """The dashboard that was unused for the longest time; None: all are in use.

    Args:
        living: dashboards that have not ended.
        unused_s: seconds since the last request, by run id, where there was one. A new dashboard is in use.
        now: the time.
    """
    unused = {
        record.run_id: min(
            unused_s.get(record.run_id, math.inf), (now - record.created_at).total_seconds()
        )
        for record in living
    }
    oldest = max(living, key=lambda record: unused[record.run_id], default=None)
    return oldest if oldest is not None and unused[oldest.run_id] >= IN_USE_S else None


def _check_kinds(records: Sequence[RunRecord]) -> None:
    for record in records:
        if record.spec.kind.is_derived:
            raise _impossible(
                f"A run of kind {record.spec.kind.value} has no curves of its own",
                f"Leave {record.run_id} out, or name the run that it shows.",
            )


def _impossible(title: str, detail: str) -> ProblemError:
    return ProblemError(Problem(code=ProblemCode.DASHBOARD_IMPOSSIBLE, title=title, detail=detail))


def _selected(records: Sequence[RunRecord]) -> Iterator[SelectedRun]:
    """Name each run as the list does. Where two have one name, each has the end of its id in addition."""
    names = [_folder(record.name) for record in records]
    for record, name in zip(records, names, strict=True):
        is_unique = names.count(name) == 1
        folder = name if is_unique else f"{name} {record.run_id[-_ID_LENGTH:]}"
        yield SelectedRun(run_id=record.run_id, folder=folder)


def _folder(name: str) -> str:
    safe = _UNSAFE.sub("-", name)[:_FOLDER_LENGTH].lstrip(". ").rstrip()
    return safe or "run"


def _spec(worker: str, records: Sequence[RunRecord], source: DashboardSource) -> RunSpec:
    first = records[0].name
    more = f" and {len(records) - 1} more" if len(records) > 1 else ""
    return RunSpec(
        worker=worker,
        algorithm=_TENSORBOARD,
        environment=_TENSORBOARD,
        kind=RunKind.DASHBOARD,
        record=RecordLevel.METRICS,
        wall_time_s=DASHBOARD_WALL_TIME_S,
        grace_s=_GRACE_S,
        memory_mb=MEMORY_MB,
        outbox_bytes=_OUTBOX_BYTES,
        name=f"TensorBoard of {first[: _NAME_LENGTH - 40]}{more}",
        dashboard=source,
    )
