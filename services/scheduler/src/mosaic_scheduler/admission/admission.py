"""Admits runs to the queue. Submit, check and preflight are three views of one list of checks."""

import asyncio
import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from mosaic_contracts.preflight import PlacementPlan, PreflightReport
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import GroupPlace, Progress, RunRecord, StoredSpec
from mosaic_contracts.services import SubmitRequest
from mosaic_contracts.spec import RunSpec
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import CheckReport, Finding, WorkerDescription
from mosaic_scheduler import problem
from mosaic_scheduler.admission.check import MAX_FINDINGS, Check, from_problem, in_order, passed
from mosaic_scheduler.admission.checks import RUN_CHECKS
from mosaic_scheduler.admission.context import (
    Context,
    ContextSource,
    machine_memory_mb,
    parse_spec,
)
from mosaic_scheduler.admission.default_values import default_values
from mosaic_scheduler.admission.fields import check_fields
from mosaic_scheduler.admission.past_sizes import SpaceNeed
from mosaic_scheduler.admission.plan import (
    check_consent,
    check_forecast,
    check_image,
    check_plan,
    check_services,
    digest_of,
)
from mosaic_scheduler.admission.provisions import check_parent
from mosaic_scheduler.admission.resources import notes_on_limits
from mosaic_scheduler.admission.space import check_disk
from mosaic_scheduler.admission.sweep_check import check_sweep
from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.executors.inputs import inputs_of
from mosaic_scheduler.runs.groups import GroupRow
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.resumption import total_steps
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.workers.lock import lock_digest
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.ulid import RunIdSource

CHECKS = (*RUN_CHECKS, check_sweep)
"""Wrong fields are listed in this order."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_ASK_CLUSTER = "See `./mosaic doctor`. Live runs go on; try it again when the cluster answers."


class Admission:
    """The verbs `submit` and `preflight`, and the entrance of every other run that is made."""

    def __init__(
        self,
        source: ContextSource,
        store: RunStore,
        views: RunViews,
        announcer: RunAnnouncer,
        wake: asyncio.Event,
    ) -> None:
        """`wake`: of the reconciler, which starts what is queued."""
        self._source = source
        self._store = store
        self._views = views
        self._announcer = announcer
        self._wake = wake
        self._ids = RunIdSource()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "submit": (SubmitRequest, self.submit),
            "preflight": (SubmitRequest, self.preflight),
        }

    async def submit(self, request: SubmitRequest) -> RunRecord | CheckReport:
        """Queue a run, or with `dry_run` say what would happen."""
        if request.dry_run:
            return await self.check(request)
        key = IdempotencyKey.of(request.idempotency_key, {"submit": request.spec})
        return await self.find_existing(key) or await self.queue(request.spec, key)

    async def find_existing(self, key: IdempotencyKey | None) -> RunRecord | None:
        """The run that was made with `key` already. Asked first: a repeated request needs no second check."""
        run_id = await self._store.made_with(key) if key is not None else None
        return None if run_id is None else self._views.view(await self._store.require(run_id))

    async def queue(
        self,
        data: dict[str, Any],
        key: IdempotencyKey | None = None,
        trial: str | None = None,
        group: GroupPlace | None = None,
    ) -> RunRecord:
        """Check a spec and queue its run. Raises ProblemError with everything that speaks against it.

        `trial`: key of the run in the sweep that is its parent. Its worker was asked when the sweep was admitted.
        `group`: the place in a group that the run takes over.
        """
        record = await self._prepare(data, asks=trial is None)
        return await self._insert(record.model_copy(update={"trial": trial, "group": group}), key)

    async def prepare_all(self, data: Sequence[dict[str, Any]]) -> list[RunRecord]:
        """Check several specs and make their records; nothing is queued yet.

        A worker is asked once for each environment.

        Raises:
            ProblemError: everything that speaks against any of them.
        """
        records: list[RunRecord] = []
        findings: dict[tuple[str, str], Finding] = {}
        asked: set[Any] = set()
        for one in data:
            try:
                records.append(await self._prepare(one, asks=one.get("environment") not in asked))
            except ProblemError as error:
                if not error.problem.fields:
                    raise
                for finding in findings_of(error.problem):
                    findings[finding.where, finding.message] = finding
            asked.add(one.get("environment"))
            if len(findings) >= MAX_FINDINGS:
                break
        if findings:
            raise problem.refused(list(findings.values()))
        return records

    async def insert_all(
        self,
        records: Sequence[RunRecord],
        group: GroupRow | None = None,
        key: IdempotencyKey | None = None,
    ) -> str | None:
        """Queue all of the runs at once. Return the id of the group that was made with `key` before."""
        with_nonces = [(record, secrets.token_hex(16)) for record in records]
        known = await self._store.insert_all(with_nonces, group, key)
        if known is None:
            for record in records:
                await self._announcer.announce(record)
            self._wake.set()
        return known

    async def gpu_count(self) -> int:
        """Number of GPUs that runs can have."""
        return (await self._source.gpu_stock()).count

    async def _prepare(self, data: dict[str, Any], *, asks: bool) -> RunRecord:
        """Check a spec and make its record. `asks`: whether its worker is asked where that may be needed."""
        spec, refusals = parse_spec(data)
        if spec is None:
            raise _refused(refusals)
        context = await self._gather(spec)
        if refusals := _refusals(context):
            raise _refused(refusals)
        for check in _start_checks(context):
            if check.problem is not None:
                raise check.problem
        if asks:
            await self._ask_worker(context)
        notes = notes_on_limits(context.spec, context.bounds)
        record = _new_record(self._ids.next(), context.spec, context.description, notes)
        lock = await asyncio.to_thread(lock_digest, context.worker)
        return record.model_copy(update={"worker_lock": lock})

    async def queue_derived(
        self, spec: RunSpec, description: WorkerDescription, key: IdempotencyKey | None
    ) -> RunRecord:
        """Queue a replay or a dashboard. Its spec is made from accepted runs, so that its fields are not checked.

        Raises:
            ProblemError: the disk is nearly full, or the run can have no folder.
        """
        disk = check_disk(await self._source.disk(), spec)
        if disk.problem is not None:
            raise disk.problem
        if spec.memory_mb is not None:
            memory_mb = min(spec.memory_mb, machine_memory_mb())
            spec = spec.model_copy(update={"memory_mb": memory_mb})
        return await self._insert(_new_record(self._ids.next(), spec, description), key)

    async def answer_with(self, record: RunRecord, key: IdempotencyKey | None) -> RunRecord:
        """Answer a request with a run that is there already; from now on its key belongs to that run."""
        if key is not None:
            await self._store.claim_key(key, record.run_id)
        return self._views.view(record)

    async def check(self, request: SubmitRequest) -> CheckReport:
        """What is wrong by the spec, and by the worker where the spec does not make it pointless to ask."""
        spec, refusals = parse_spec(request.spec)
        if spec is None:
            return _report(refusals)
        context = await self._gather(spec)
        problems = [check for check in _start_checks(context) if check.problem is not None]
        if found := [*_refusals(context), *problems[:1]]:
            return _report(found)
        return await self._source.ask_worker(context)

    async def preflight(self, request: SubmitRequest) -> PreflightReport:
        """Every check of a run, in the order in which a person would look at them. Nothing is started."""
        spec, checks = parse_spec(request.spec)
        report: CheckReport | None = None
        launch: PlacementPlan | None = None
        need: SpaceNeed | None = None
        if spec is not None:
            checks, report, launch, need = await self._look(spec)
        disk = await self._source.disk()
        said = {check.id for check in checks}
        services = check_services(await self._source.recorder())
        checks += [
            check_disk(disk, spec, need),
            *(each for each in services if each.id not in said),
        ]
        if spec is not None and report is not None:
            checks.append(check_consent(spec, report))
        return PreflightReport(
            ok=all(check.level != "blocking" for check in checks),
            lines=[check.line() for check in checks],
            plan=report.plan if report else {},
            launch=launch,
            needs=report.needs if report else [],
            digest=digest_of(report) if report else "",
        )

    async def _look(
        self, spec: RunSpec
    ) -> tuple[list[Check], CheckReport | None, PlacementPlan | None, SpaceNeed | None]:
        """The checks of a spec and of the worker's plan; the plan, how it would be started, and the space it needs."""
        try:
            context = await self._source.gather(spec)
        except EngineUnavailable as error:
            away = problem.engine_away(str(error))
            return [from_problem("cluster", away, _ASK_CLUSTER)], None, None, None
        except ProblemError as error:
            return [self._worker_fault(error)], None, None, None
        checks = [
            passed("worker", f"{context.worker.manifest.title} answers."),
            *in_order(check for function in CHECKS for check in function(context)),
        ]
        if any(check.level == "blocking" for check in checks):
            return checks, None, None, context.need
        try:
            report = await self._source.ask_worker(context)
        except ProblemError as error:
            return (
                [*checks, from_problem("plan", error, "See `./mosaic workers`.")],
                None,
                None,
                None,
            )
        said = check_plan(report)
        if any(check.id == "packages" for check in said):
            checks = [check for check in checks if check.id != "packages"]
        if not report.ok:
            return [*checks, *said], None, None, context.need
        launch = await self._source.launch_plan(context)
        images = [] if launch is None else [check_image(launch)]
        cluster = check_forecast(await self._source.forecast(spec))
        return [*checks, *said, *images, *cluster], report, launch, context.need

    async def _gather(self, spec: RunSpec) -> Context:
        """What the checks look at. Raises ProblemError: the worker cannot be used, or the cluster does not answer."""
        try:
            return await self._source.gather(spec)
        except EngineUnavailable as error:
            raise problem.engine_away(str(error)) from error

    def _worker_fault(self, error: ProblemError) -> Check:
        """A worker that is known and cannot be asked lacks its image where it lives in one."""
        is_known = error.problem.code == ProblemCode.WORKER_NOT_READY
        if is_known and self._source.uses_images:
            return from_problem("image", error, "Do that, and check again.")
        return from_problem("worker", error, "See `./mosaic workers`.")

    async def _ask_worker(self, context: Context) -> None:
        """Refuse what the worker refuses, and what needs a consent that is not given.

        Its `check` costs a start of its interpreter. So it is asked only where a consent may be needed, where a
        checkpoint is to act that it can look into from here, and where a GPU is wanted: whether its packages can use
        one is known to the worker alone, and a run that they cannot serve would only fail after its wait for the GPU.
        """
        spec = context.spec
        may_need = spec.consent is not None or spec.internet or context.may_need_consent
        acts = spec.kind.plays and bool(inputs_of(spec, context.description))
        if not may_need and not spec.gpus and not (acts and context.bounds.files):
            return
        report = await self._source.ask_worker(context)
        if not report.ok:
            raise problem.refused(report.findings)
        consent = check_consent(spec, report)
        if consent.problem is not None:
            raise consent.problem

    async def _insert(self, record: RunRecord, key: IdempotencyKey | None) -> RunRecord:
        known = await self._store.insert(record, secrets.token_hex(16), key)
        if known is not None:
            return self._views.view(await self._store.require(known))
        await self._announcer.announce(record)
        self._wake.set()
        return self._views.view(record)


def _refusals(context: Context) -> list[Check]:
    return [check for function in CHECKS for check in function(context) if check.refuses]


def _start_checks(context: Context) -> list[Check]:
    """What a start needs in addition to a valid spec."""
    faults = [check for check in check_fields(context) if check.problem is not None]
    return [*check_parent(context), *faults, check_disk(context.disk, context.spec, context.need)]


def findings_of(found: Problem) -> list[Finding]:
    """The wrong fields of a refusal."""
    return [
        Finding(
            level="blocking",
            where=str(field.get("where", "")),
            message=str(field.get("message", "")),
            code=found.code,
            nearest=field.get("nearest") or [],
            offers=field.get("offers") or {},
        )
        for field in found.fields
    ]


def _refused(refusals: list[Check]) -> ProblemError:
    return problem.refused([check.finding() for check in refusals])


def _report(checks: list[Check]) -> CheckReport:
    return CheckReport(ok=False, findings=[check.finding() for check in checks])


def _new_record(
    run_id: str, spec: RunSpec, description: WorkerDescription, notes: Sequence[str] = ()
) -> RunRecord:
    now = datetime.now(UTC)
    total = total_steps(spec, description)
    return RunRecord(
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
        notes=list(notes),
        priority=spec.priority,
        held=spec.hold,
        storage_profile=spec.storage_profile,
        defaults=default_values(spec, description),
    )


def display_name(spec: RunSpec, now: datetime) -> str:
    """`<env>__<algo>__<seed>__<YYYYmmdd-HHMMSS>` in local time, or the name that the spec gives."""
    if spec.name is not None:
        return spec.name
    environment, algorithm = (_UNSAFE.sub("-", part) for part in (spec.environment, spec.algorithm))
    return f"{environment}__{algorithm}__{spec.seed}__{now.astimezone():%Y%m%d-%H%M%S}"
