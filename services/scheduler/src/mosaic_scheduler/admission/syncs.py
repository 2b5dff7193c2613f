"""New runs that send an ended run to W&B."""

import asyncio
import hashlib
import json
import shutil
from typing import NamedTuple

from pydantic import ValidationError

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import SyncOrder
from mosaic_contracts.spec import RecordLevel, RunKind, RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.sync_source import DEFAULT_PROJECT, SyncSource
from mosaic_contracts.syncs import SYNC_WALL_TIME_S, SyncPlan, SyncRequest
from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.check import passed
from mosaic_scheduler.admission.provisions import reach_check
from mosaic_scheduler.admission.sendable import Sendable, find_sendable
from mosaic_scheduler.admission.tracker_look import TrackerLooks
from mosaic_scheduler.executors.protocol import Executor, Internet
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.secrets import SecretVault
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_servicekit.bus import Verb

MEMORY_MB = 4096
"""Limit of memory for one sync, in MiB, where the machine has more."""
_OUTBOX_BYTES = 16 * 2**20
_GRACE_S = 10.0
_NAME_LENGTH = 180
_WANDB = "wandb"


class _Upload(NamedTuple):
    """What is sent, where to, and by which worker."""

    source: SyncSource
    found: Sendable
    worker: str
    description: WorkerDescription


class RunSyncs:
    """The verb `sync`."""

    def __init__(
        self,
        settings: SchedulerSettings,
        store: RunStore,
        catalogue: WorkerCatalogue,
        admission: Admission,
        views: RunViews,
        vault: SecretVault,
        executor: Executor,
        trackers: TrackerLooks,
    ) -> None:
        self._runs = settings.home / RUNS_DIR
        self._reserve_bytes = settings.disk_reserve_bytes
        self._store = store
        self._catalogue = catalogue
        self._admission = admission
        self._views = views
        self._vault = vault
        self._executor = executor
        self._trackers = trackers
        self._lock = asyncio.Lock()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"sync": (SyncOrder, self.send)}

    async def send(self, order: SyncOrder) -> RunRecord | SyncPlan:
        """Queue a sync, or with `dry_run` say what it would send. While one of the run lives, that is the answer."""
        try:
            request = SyncRequest.model_validate(order.sync)
        except ValidationError as error:
            raise problem.request_invalid("sync", error) from error
        record = await self._store.require(order.run_id)
        _require_ended(record)
        if order.dry_run:
            return await self._plan(record, await self._upload(record, request))
        # Two requests at once start one sync.
        async with self._lock:
            living = await self._living(record.run_id)
            if living is not None:
                return self._views.view(living)
            upload = await self._upload(record, request)
            plan = await self._plan(record, upload)
            if request.consent != plan.digest:
                raise _consent_required(plan, request.consent)
            spec = _spec(upload.worker, record, upload.source, plan)
            return await self._admission.queue_derived(spec, upload.description, None)

    async def _living(self, run_id: str) -> RunRecord | None:
        for run in await self._store.unfinished():
            sync = run.record.spec.sync
            if sync is not None and sync.run_id == run_id and run.record.stop_requested is None:
                return run.record
        return None

    async def _upload(self, record: RunRecord, request: SyncRequest) -> _Upload:
        if self._executor.bounds.internet is Internet.NONE:
            raise _impossible(
                "No network of this stack leads out",
                "Name one in MOSAIC_ENGINE_OUTSIDE_NETWORK, and start the stack again.",
            )
        if WANDB_SECRET not in await asyncio.to_thread(self._vault.names):
            raise _impossible(
                "The stack has no key for W&B",
                f"`./mosaic secret set {WANDB_SECRET}` stores it; the page of your account at W&B shows it.",
            )
        described = await self._described()
        worker = _choose(record, described)
        own = described.get(record.spec.worker)
        address = request.address
        if address is None and own is not None:
            address = self._trackers.address(record.spec, own)
        found = await asyncio.to_thread(find_sendable, self._runs / record.run_id, request)
        is_stored = found.way == "store"
        source = SyncSource(
            run_id=record.run_id,
            way=found.way,
            address=address or self._trackers.default_address,
            project=request.project or (DEFAULT_PROJECT if is_stored else None),
            entity=request.entity,
            group=request.group if is_stored else None,
            checkpoints=request.checkpoints,
            videos=request.videos,
            http_proxy=request.http_proxy,
            https_proxy=request.https_proxy,
        )
        return _Upload(source, found, worker, described[worker])

    def _require_space(self, size: int) -> None:
        """A sync has a copy of what it sends, which is deleted with it."""
        free = shutil.disk_usage(self._runs).free - self._reserve_bytes
        if size > free:
            raise _impossible(
                "The disk has too little space",
                f"A sync of this run needs {size / 1e6:,.0f} MB for a while, and {max(free, 0) / 1e6:,.0f} MB are "
                "free. Free some space, or leave out checkpoints and videos.",
            )

    async def _described(self) -> dict[str, WorkerDescription]:
        """Descriptions of the workers that are ready."""
        return {
            entry.manifest.id: entry.description
            for entry in (await self._catalogue.workers()).workers
            if entry.ready and entry.description is not None
        }

    async def _plan(self, record: RunRecord, upload: _Upload) -> SyncPlan:
        source, found = upload.source, upload.found
        await asyncio.to_thread(self._require_space, found.bytes)
        proxies = self._trackers.proxies.overridden(source.http_proxy, source.https_proxy)
        look = await self._trackers.look_at(source.address, proxies, has_key=True)
        needs = [_need(record, source, found)]
        if look.fault:
            needs.append(f"a start although W&B cannot be used now: {look.fault}")
        checks = [passed("tracking", f"The stack has {WANDB_SECRET}."), *reach_check(look)]
        return SyncPlan(
            run_id=record.run_id,
            way=source.way,
            address=source.address,
            project=source.project,
            entity=source.entity,
            files=found.files,
            file_bytes=found.bytes,
            lines=[check.line() for check in checks],
            needs=needs,
            digest=_digest(source, needs),
        )


def _choose(record: RunRecord, described: dict[str, WorkerDescription]) -> str:
    """The run's own worker if it has wandb, else any other one."""
    for worker in dict.fromkeys([record.spec.worker, *described]):
        description = described.get(worker)
        if description is not None and RunKind.SYNC.value in description.modes:
            return worker
    raise _impossible(
        "No worker of this stack has wandb",
        "Install it with `./mosaic sync worker_cleanrl --bundle wandb` (in containers `./mosaic images build "
        "worker_cleanrl` with the bundle `wandb`). `./mosaic workers` lists the workers.",
    )


def _require_ended(record: RunRecord) -> None:
    if record.spec.kind.is_derived:
        raise _impossible(
            f"A run of kind {record.spec.kind.value} cannot be sent",
            "Send the run that it was made from.",
        )
    if not record.state.is_final:
        raise problem.run_live(record.run_id, record.state.value, "sent to W&B")
    if record.telemetry_pending:
        raise _impossible(
            "Events of this run are still on their way to the store",
            "Try again in a moment; `./mosaic show` says how many are missing.",
        )


def _need(record: RunRecord, source: SyncSource, found: Sendable) -> str:
    where = source.address
    if source.project is not None:
        owner = f"{source.entity}/" if source.entity is not None else ""
        where = f"{where}, project {owner}{source.project}"
    size = f"{found.bytes / 1e6:.1f} MB"
    if source.way == "folder":
        return f"sending the W&B folder of {record.name} ({found.files} files, {size}) to {where}"
    what = f"{found.checkpoints} checkpoints and {found.videos} videos ({size})"
    return f"sending config, metrics, {what} of {record.name} to {where}"


def _digest(source: SyncSource, needs: list[str]) -> str:
    """Names exactly what is sent, and where to: anything else takes another consent."""
    shown = {"source": source.model_dump(mode="json"), "needs": needs}
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _consent_required(plan: SyncPlan, given: str | None) -> ProblemError:
    why = "It was given for something else. " if given is not None else ""
    return ProblemError(
        Problem(
            code=ProblemCode.CONSENT_REQUIRED,
            title="The sync needs your consent",
            detail=f"{why}It needs: {'; '.join(plan.needs)}. Agree by `consent` {plan.digest}; "
            "`./mosaic wandb sync` asks.",
            fields=[
                {"where": "consent", "message": need, "nearest": [plan.digest]}
                for need in plan.needs
            ],
        )
    )


def _impossible(title: str, detail: str) -> ProblemError:
    return ProblemError(Problem(code=ProblemCode.SYNC_IMPOSSIBLE, title=title, detail=detail))


def _spec(worker: str, record: RunRecord, source: SyncSource, plan: SyncPlan) -> RunSpec:
    return RunSpec(
        worker=worker,
        algorithm=_WANDB,
        environment=_WANDB,
        kind=RunKind.SYNC,
        record=RecordLevel.METRICS,
        wall_time_s=SYNC_WALL_TIME_S,
        grace_s=_GRACE_S,
        memory_mb=MEMORY_MB,
        outbox_bytes=_OUTBOX_BYTES,
        internet=True,
        secrets=[WANDB_SECRET],
        consent=plan.digest,
        name=f"W&B sync of {record.name[:_NAME_LENGTH]}",
        parent=record.run_id,
        sync=source,
    )
