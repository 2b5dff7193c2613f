"""Sweeps: runs of kind `sweep`, the runs of their trials, and sweeps that go on with an ended one."""

import asyncio
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import SubmitRequest, SweepOrder, SweepResumption, TrialOrder
from mosaic_contracts.spec import RecordLevel, RestartPolicy, RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import SWEEP_ALGORITHM, SWEEP_WORKER, SweepResume, SweepSpec
from mosaic_contracts.worker import CheckReport
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.check import MAX_FINDINGS, wrong
from mosaic_scheduler.admission.sweep_check import totals
from mosaic_scheduler.admission.trial_specs import trial_spec
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.bus import Verb

_GRACE_S = 60.0
"""Its trials end within their own grace; then it writes down how they ended."""
_OUTBOX_BYTES = 256 * 2**20


class RunSweeps:
    """The verbs `sweep`, `resume_sweep` and `trial`."""

    def __init__(self, store: RunStore, admission: Admission, views: RunViews) -> None:
        self._store = store
        self._admission = admission
        self._views = views
        self._lock = asyncio.Lock()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "sweep": (SweepOrder, self.start),
            "resume_sweep": (SweepResumption, self.resume_as_asked),
            "trial": (TrialOrder, self.start_trial),
        }

    async def start(self, order: SweepOrder) -> RunRecord | CheckReport:
        """Queue a sweep, or with `dry_run` say what would happen."""
        try:
            sweep = SweepSpec.model_validate(order.sweep)
        except ValidationError as error:
            if order.dry_run:
                return CheckReport(ok=False, findings=_findings(error))
            raise problem.refused(_findings(error)) from error
        spec = _spec(sweep)
        if order.dry_run:
            report = await self._admission.check(SubmitRequest(spec=spec, dry_run=True))
            plan = {**report.plan, **totals(sweep)} if report.ok else report.plan
            return report.model_copy(update={"plan": plan})
        key = IdempotencyKey.of(order.idempotency_key, {"sweep": order.sweep})
        # Two requests at once do not go on with one study twice.
        async with self._lock:
            return await self._admission.find_existing(key) or await self._admission.queue(
                spec, key
            )

    async def resume_as_asked(self, order: SweepResumption) -> RunRecord:
        """Go on with an ended sweep, as a new run that takes over its study, perhaps with another budget."""
        try:
            asked = SweepResume.model_validate(order.resume)
        except ValidationError as error:
            raise problem.request_invalid("resume", error) from error
        return await self.resume(order.run_id, asked)

    async def resume(self, run_id: str, asked: SweepResume) -> RunRecord:
        """Go on with an ended sweep. One that was continued already is continued where its newest run stopped."""
        async with self._lock:
            record = await self._newest(run_id)
            sweep = record.spec.sweep
            if sweep is None:
                raise _no_sweep(record)
            if not record.state.is_final:
                if record.run_id == run_id:
                    raise problem.run_live(run_id, record.state, "resumed")
                return self._views.view(record)
            changes = asked.model_dump(exclude_none=True)
            data = {**sweep.model_dump(mode="json"), **changes, "continues": record.run_id}
            resumed = _spec(SweepSpec.model_validate(data))
            return await self._admission.queue(
                {**resumed, "priority": record.priority, "tags": record.tags}
            )

    async def start_trial(self, order: TrialOrder) -> RunRecord:
        """Queue one run of a trial, or return the run that has its key.

        Raises:
            ProblemError: `run_unknown`, it was made and is deleted; `run_ended`, the sweep goes on no more; or the
                spec is refused.
        """
        known = await self._store.run_of_trial(order.run_id, order.key)
        if known is not None:
            return self._views.view(await self._store.require(known))
        record = await self._store.require(order.run_id)
        if record.spec.sweep is None:
            raise _no_sweep(record)
        if record.state is RunState.STOPPING or record.state.is_final:
            raise _over(record)
        spec = trial_spec(record.run_id, record.spec.sweep, order.spec, record.priority)
        return await self._admission.queue(spec, trial=order.key)

    async def _newest(self, run_id: str) -> RunRecord:
        following: str | None = run_id
        while following is not None:
            run_id = following
            following = await self._store.continued_by(run_id)
        return await self._store.require(run_id)


def _spec(sweep: SweepSpec) -> dict[str, Any]:
    """The spec of the sweep's own run."""
    run = sweep.run
    # What of these is wrong is said of the trials' run.
    environment = next(iter(sweep.environments), run.get("environment")) or SWEEP_ALGORITHM
    algorithm = str(run.get("algorithm"))[:100]
    priority, tags = run.get("priority", 0), run.get("tags", [])
    return {
        "worker": SWEEP_WORKER,
        "algorithm": SWEEP_ALGORITHM,
        "environment": environment,
        "kind": RunKind.SWEEP.value,
        "record": RecordLevel.METRICS.value,
        "restart": RestartPolicy.ON_INTERRUPT.value,
        "grace_s": _GRACE_S,
        "outbox_bytes": _OUTBOX_BYTES,
        "name": sweep.name or f"Sweep of {algorithm} on {str(environment)[:80]}",
        "parent": sweep.continues,
        "priority": priority if isinstance(priority, int) else 0,
        "tags": tags if isinstance(tags, list) else [],
        "sweep": sweep.model_dump(mode="json"),
    }


def _findings(error: ValidationError) -> list[Any]:
    return [
        wrong(
            f"sweep.{fault_place(entry)}".rstrip("."), fault_text(entry), ProblemCode.SPEC_INVALID
        ).finding()
        for entry in error.errors()[:MAX_FINDINGS]
    ]


def _no_sweep(record: RunRecord) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_UNKNOWN,
            title="This run is no sweep",
            detail=f"Run {record.run_id} is of kind {record.spec.kind}. `./mosaic sweep list` lists the sweeps.",
        )
    )


def _over(record: RunRecord) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_ENDED,
            title="The sweep starts no more trials",
            detail=f"Sweep {record.run_id} is {record.state}. `./mosaic sweep resume {record.run_id}` goes on with it.",
        )
    )
