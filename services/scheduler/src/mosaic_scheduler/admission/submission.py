"""From a spec as a person sent it to a run in the queue, or to what speaks against it."""

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from mosaic_contracts.problems import ProblemCode, ProblemError
from mosaic_contracts.runs import Progress, RunRecord, StoredSpec
from mosaic_contracts.services import SubmitRequest
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import CheckReport, Finding, WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission import consent
from mosaic_scheduler.admission.bounds import check_bounds, machine_memory_mb, notes_on_bounds
from mosaic_scheduler.admission.device import check_device, device_need
from mosaic_scheduler.admission.fields import check_secrets, check_spec, parse_spec
from mosaic_scheduler.admission.inputs import InputResolution
from mosaic_scheduler.admission.tracking import check_tracking
from mosaic_scheduler.admission.xmpp import check_xmpp
from mosaic_scheduler.disk import free_bytes, write_fault
from mosaic_scheduler.gpus.stock import GpuSupply
from mosaic_scheduler.reconcile.loop import Reconciler
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.resumption import total_steps
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.secrets import SecretVault
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_scheduler.workers.registry import RegisteredWorker
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.ulid import RunIdSource


class RunSubmission:
    """The verb `submit`, and the way in for every other run that is made."""

    def __init__(
        self,
        settings: SchedulerSettings,
        store: RunStore,
        catalogue: WorkerCatalogue,
        inputs: InputResolution,
        vault: SecretVault,
        reconciler: Reconciler,
        gpus: GpuSupply,
        views: RunViews,
        announce: Callable[[RunRecord], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._store = store
        self._catalogue = catalogue
        self._inputs = inputs
        self._vault = vault
        self._reconciler = reconciler
        self._gpus = gpus
        self._views = views
        self._announce = announce
        self._ids = RunIdSource()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"submit": (SubmitRequest, self.submit)}

    async def submit(self, request: SubmitRequest) -> RunRecord | CheckReport:
        """Queue a run, or with `dry_run` say what would happen."""
        if request.dry_run:
            return await self.check(request)
        key = IdempotencyKey.of(request.idempotency_key, {"submit": request.spec})
        known = await self.known(key)
        if known is not None:
            return known
        spec, findings = parse_spec(request.spec)
        if spec is None:
            raise problem.refused(findings)
        return await self.queue(spec, key)

    async def known(self, key: IdempotencyKey | None) -> RunRecord | None:
        """The run that was made with `key` already. Asked first: a repetition needs no second judgement."""
        run_id = await self._store.made_with(key) if key is not None else None
        if run_id is None:
            return None
        return self._views.view(await self._store.require(run_id))

    async def queue(self, spec: RunSpec, key: IdempotencyKey | None = None) -> RunRecord:
        """Judge a spec and queue its run. Raises ProblemError with everything that speaks against it."""
        worker, spec, findings = await self.judged(spec)
        if findings:
            raise problem.refused(findings)
        await self._require(spec)
        await self._require_consent(worker, spec)
        return await self._insert(spec, await self._catalogue.describe(worker), key)

    async def judged(self, spec: RunSpec) -> tuple[RegisteredWorker, RunSpec, list[Finding]]:
        """Its worker, the spec with every name in it made whole, and what speaks against it."""
        worker = self._catalogue.find(spec.worker)
        spec = spec.model_copy(update={"worker": worker.manifest.id})
        description = await self._catalogue.describe(worker)
        spec, unusable = await self._inputs.resolve(spec, description)
        return worker, spec, [*await self._findings(worker, spec, description), *unusable]

    async def _findings(
        self, worker: RegisteredWorker, spec: RunSpec, description: WorkerDescription
    ) -> list[Finding]:
        """Findings about a spec that need no start of the worker."""
        inventory = await self._reconciler.placement.inventory()
        known = await self.secrets_kept()
        return [
            *await self._with_reason(worker, spec, check_spec(spec, description, inventory)),
            *check_device(
                spec,
                device_need(spec, worker.manifest, description),
                await self._gpus.stock(patient=spec.gpus > 0),
            ),
            *check_bounds(spec, self._reconciler.placement.bounds, machine_memory_mb()),
            *check_secrets(spec, known),
            *check_tracking(spec, description),
            *await check_xmpp(self._settings.home, spec, description),
        ]

    async def _with_reason(
        self, worker: RegisteredWorker, spec: RunSpec, findings: list[Finding]
    ) -> list[Finding]:
        """Ask the worker about an environment that it does not list: it alone knows what it can make, and why not."""
        unlisted = [f for f in findings if f.code == ProblemCode.ENVIRONMENT_UNKNOWN]
        if not unlisted:
            return findings
        report = await self.ask_worker(worker, spec)
        others = [f for f in findings if f not in unlisted]
        if report.ok:
            accepted = report.plan.get("environment") == spec.environment
            return others if accepted else findings
        blocking = [f for f in report.findings if f.level == "blocking"]
        reasons = [f for f in blocking if f.where == "environment"]
        known = {f.where for f in others}
        return [*(reasons or [f for f in blocking if f.where not in known]), *others]

    async def secrets_kept(self) -> list[str]:
        """Names of the secrets that runs may ask for."""
        return await asyncio.to_thread(self._vault.names)

    async def ask_worker(self, worker: RegisteredWorker, spec: RunSpec) -> CheckReport:
        """The worker's plan, and all that needs consent, by the spec or by the worker."""
        description = await self._catalogue.describe(worker)
        sees_files = self._reconciler.placement.bounds.files
        asked = self._inputs.for_check(spec, description, sees_files=sees_files)
        report = await self._catalogue.check(worker, consent.unasked(asked))
        return consent.with_needs(spec, report)

    async def check(self, request: SubmitRequest) -> CheckReport:
        """Our findings, and the worker's own when ours do not make it pointless to ask."""
        spec, findings = parse_spec(request.spec)
        if spec is None:
            return CheckReport(ok=False, findings=findings)
        worker, spec, findings = await self.judged(spec)
        try:
            await self._require(spec)
        except ProblemError as error:
            where = "parent" if error.problem.code == ProblemCode.RUN_UNKNOWN else "disk"
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
        return await self.ask_worker(worker, spec)

    async def _require_consent(self, worker: RegisteredWorker, spec: RunSpec) -> None:
        """Only a worker that can need consent is asked: its `check` costs a start of its interpreter."""
        is_asked = spec.consent is not None or spec.internet
        if not is_asked and not await self._catalogue.may_need_consent(worker):
            return
        report = await self.ask_worker(worker, spec)
        if not report.ok:
            raise problem.refused(report.findings)
        if not consent.is_given(spec, report):
            raise consent.consent_required(spec, report)

    async def _require(self, spec: RunSpec) -> None:
        """Check what a start needs in addition to a valid spec."""
        if spec.parent is not None:
            await self._store.require(spec.parent)
        free = free_bytes(self._settings.home)
        if free < self._settings.disk_reserve_bytes:
            raise problem.disk_low(self._settings.home, free, self._settings.disk_reserve_bytes)
        fault = await asyncio.to_thread(write_fault, self._settings.home / RUNS_DIR)
        if fault is not None:
            raise problem.folder_refused(fault)

    async def _insert(
        self, spec: RunSpec, description: WorkerDescription, key: IdempotencyKey | None
    ) -> RunRecord:
        now = datetime.now(UTC)
        run_id = self._ids.next()
        total = total_steps(spec, description)
        record = RunRecord(
            run_id=run_id,
            name=display_name(spec, now),
            spec=StoredSpec.model_validate(spec.model_dump()),
            state=RunState.QUEUED,
            revision=1,
            created_at=now,
            run_dir=f"{RUNS_DIR}/{run_id}",
            worker_version=description.version,
            progress=Progress(total=total) if total is not None else None,
            tags=list(dict.fromkeys(spec.tags)),
            note=spec.note,
            notes=notes_on_bounds(spec, self._reconciler.placement.bounds),
            priority=spec.priority,
            held=spec.hold,
        )
        known = await self._store.insert(record, secrets.token_hex(16), key)
        if known is not None:
            return self._views.view(await self._store.require(known))
        await self._announce(record)
        self._reconciler.wake.set()
        return self._views.view(record)


_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def display_name(spec: RunSpec, now: datetime) -> str:
    """`<env>__<algo>__<seed>__<YYYYmmdd-HHMMSS>` in local time, or the name that the spec gives."""
    if spec.name is not None:
        return spec.name
    environment, algorithm = (_UNSAFE.sub("-", part) for part in (spec.environment, spec.algorithm))
    return f"{environment}__{algorithm}__{spec.seed}__{now.astimezone():%Y%m%d-%H%M%S}"
