"""The verbs of the scheduler (`mosaic_contracts.services`)."""

import secrets
from datetime import UTC, datetime

from mosaic_contracts import VERSION
from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord, StoredSpec
from mosaic_contracts.services import (
    ListRequest,
    RunRecords,
    RunRequest,
    SchedulerStatus,
    SubmitRequest,
    WorkerEntries,
    WorkerEntry,
    WorkerRequest,
)
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.states import EndCause, RunState
from mosaic_contracts.worker import CheckReport, Finding, WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk import free_bytes
from mosaic_scheduler.errors import WorkerNotReady, WorkerUnknown
from mosaic_scheduler.events import outbox
from mosaic_scheduler.reconcile.loop import Reconciler
from mosaic_scheduler.runs.name import display_name
from mosaic_scheduler.runs.page import first_that_fit
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.preflight import check_spec, parse_spec
from mosaic_scheduler.workers.probe import WorkerProbe
from mosaic_scheduler.workers.registry import RegisteredWorker, WorkerRegistry
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.ulid import RunIdSource

_STOP_TRIES = 5
"""A record changes at most this often between reading and writing it, under any load seen."""
MAX_PAGE = 1000


class SchedulerService:
    """Answers requests. What it decides it writes; what follows the reconciler does."""

    def __init__(
        self,
        settings: SchedulerSettings,
        database: Database,
        store: RunStore,
        registry: WorkerRegistry,
        probe: WorkerProbe,
        reconciler: Reconciler,
        views: RunViews,
    ) -> None:
        self._settings = settings
        self._database = database
        self._store = store
        self._registry = registry
        self._probe = probe
        self._reconciler = reconciler
        self._views = views
        self._ids = RunIdSource()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "submit": (SubmitRequest, self.submit),
            "get": (RunRequest, self.get),
            "list": (ListRequest, self.list_runs),
            "stop": (RunRequest, self.stop),
            "workers": (None, self.workers),
            "describe": (WorkerRequest, self.describe),
            "status": (None, self.status),
        }

    async def submit(self, request: SubmitRequest) -> RunRecord | CheckReport:
        """Queue a run, or with `dry_run` say what would happen."""
        spec, findings = parse_spec(request.spec)
        if spec is None:
            if request.dry_run:
                return CheckReport(ok=False, findings=findings)
            raise problem.refused(findings)
        worker = self._find(spec.worker)
        spec = spec.model_copy(update={"worker": worker.manifest.id})
        description = await self._describe(worker)
        inventory = await self._reconciler.placement.inventory()
        findings = check_spec(spec, worker.manifest, description, inventory)
        if request.dry_run:
            return await self._check(worker, spec, findings)
        if findings:
            raise problem.refused(findings)
        await self._require(spec)
        return await self._insert(spec, description)

    async def get(self, request: RunRequest) -> RunRecord:
        """One run."""
        return self._views.view(await self._record(request.run_id))

    async def list_runs(self, request: ListRequest) -> RunRecords:
        """Newest first."""
        limit = max(1, min(request.limit, MAX_PAGE))
        records = await self._store.newest(request.before, limit, request.states)
        runs = first_that_fit([self._views.view(record) for record in records])
        return RunRecords(runs=runs, cut=len(runs) < len(records))

    async def stop(self, request: RunRequest) -> RunRecord:
        """Ask a run to stop, in whatever state it is. A second request changes nothing."""
        for _ in range(_STOP_TRIES):
            record = await self._record(request.run_id)
            if record.state.is_final:
                raise problem.run_ended(record.run_id, record.state)
            if record.state is RunState.STOPPING:
                return self._views.view(record)
            changed = await self._reconciler.request_stop(record, EndCause.STOPPED_BY_USER)
            if changed is not None:
                return self._views.view(changed)
        raise RuntimeError(f"run {request.run_id} changes faster than it can be stopped")

    async def workers(self) -> WorkerEntries:
        """Every registered worker, and whether it can be used now."""
        return WorkerEntries(workers=[await self._entry(w) for w in self._registry.workers()])

    async def describe(self, request: WorkerRequest) -> WorkerDescription:
        """What a worker can do."""
        return await self._describe(self._find(request.worker))

    async def status(self) -> SchedulerStatus:
        """How the scheduler is."""
        load = self._reconciler.load
        return SchedulerStatus(
            version=VERSION,
            cpu_limit=self._settings.cores,
            cpu_in_use=load.cpu_in_use,
            queued=load.queued,
            live=load.live,
            unpublished=await self._database.call(outbox.count),
        )

    async def _record(self, run_id: str) -> RunRecord:
        run = await self._store.get(run_id)
        if run is None:
            raise problem.run_unknown(run_id)
        return run.record

    def _find(self, name: str) -> RegisteredWorker:
        try:
            return self._registry.find(name)
        except WorkerUnknown as error:
            raise problem.worker_unknown(error) from error

    async def _describe(self, worker: RegisteredWorker) -> WorkerDescription:
        try:
            return await self._probe.describe(worker)
        except WorkerNotReady as error:
            raise problem.worker_not_ready(worker.manifest.id, error) from error

    async def _check(
        self, worker: RegisteredWorker, spec: RunSpec, findings: list[Finding]
    ) -> CheckReport:
        """Our findings, and the worker's own when ours do not make it pointless to ask."""
        try:
            await self._require(spec)
        except ProblemError as error:
            where = "disk" if error.problem.code == ProblemCode.DISK_LOW else "parent"
            findings.append(
                Finding(
                    level="blocking",
                    where=where,
                    message=error.problem.detail,
                    code=error.problem.code,
                )
            )
        if findings:
            return CheckReport(ok=False, findings=findings)
        try:
            return await self._probe.check(worker, spec)
        except WorkerNotReady as error:
            raise problem.worker_not_ready(worker.manifest.id, error) from error

    async def _require(self, spec: RunSpec) -> None:
        """What a start needs beside a good spec."""
        if spec.parent is not None:
            await self._record(spec.parent)
        free = free_bytes(self._settings.home)
        if free < self._settings.disk_reserve_bytes:
            raise problem.disk_low(self._settings.home, free, self._settings.disk_reserve_bytes)

    async def _insert(self, spec: RunSpec, description: WorkerDescription) -> RunRecord:
        now = datetime.now(UTC)
        run_id = self._ids.next()
        record = RunRecord(
            run_id=run_id,
            name=display_name(spec, now),
            spec=StoredSpec.model_validate(spec.model_dump()),
            state=RunState.QUEUED,
            revision=1,
            created_at=now,
            run_dir=f"{RUNS_DIR}/{run_id}",
            worker_version=description.version,
        )
        await self._store.insert(record, secrets.token_hex(16))
        await self._reconciler.announce(record)
        self._reconciler.wake.set()
        return self._views.view(record)

    async def _entry(self, worker: RegisteredWorker) -> WorkerEntry:
        try:
            description = await self._probe.describe(worker)
        except WorkerNotReady as error:
            finding = Finding(level="blocking", where="worker", message=str(error))
            return WorkerEntry(manifest=worker.manifest, ready=False, findings=[finding])
        return WorkerEntry(manifest=worker.manifest, ready=True, description=description)
