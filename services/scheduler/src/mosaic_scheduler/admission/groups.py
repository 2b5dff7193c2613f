"""Groups of runs: all of their specs are checked before the first run is queued, and all are queued at once."""

from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from mosaic_contracts.fault import fault_place, fault_text
from mosaic_contracts.group_words import FAILED_STATES
from mosaic_contracts.groups import GroupPlan, GroupRetry, GroupSpec, GroupView
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.run_names import distinct_names
from mosaic_contracts.runs import GroupPlace, RunRecord
from mosaic_contracts.services import GroupOrder, GroupRetryOrder
from mosaic_contracts.states import RunState
from mosaic_contracts.worker import Finding
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission, findings_of
from mosaic_scheduler.admission.check import MAX_FINDINGS, wrong
from mosaic_scheduler.admission.copies import copied
from mosaic_scheduler.queue.duration import PastDurations
from mosaic_scheduler.queue.makespan import Job, makespan_s
from mosaic_scheduler.runs.groups import GroupRow
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.ulid import RunIdSource


class RunGroups:
    """The verbs `group` and `retry_group`."""

    def __init__(
        self, store: RunStore, admission: Admission, durations: PastDurations, cores: int
    ) -> None:
        self._store = store
        self._admission = admission
        self._durations = durations
        self._cores = cores
        self._ids = RunIdSource()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"group": (GroupOrder, self.start), "retry_group": (GroupRetryOrder, self.retry)}

    async def start(self, order: GroupOrder) -> GroupView | GroupPlan:
        """Queue all runs of a group, or with `dry_run` say what would happen.

        Raises:
            ProblemError: what is wrong with any of them; then none is queued.
        """
        try:
            spec = GroupSpec.model_validate(order.group)
        except ValidationError as error:
            findings = _findings(error)
            if order.dry_run:
                return GroupPlan(ok=False, findings=findings)
            raise problem.refused(findings) from error
        if order.dry_run:
            return await self._plan(spec)
        key = IdempotencyKey.of(order.idempotency_key, {"group": order.group})
        known = await self._store.made_with(key) if key is not None else None
        if known is not None:
            return await self.require(known)
        row = GroupRow(f"g{self._ids.next()}", spec.title(), spec, datetime.now(UTC))
        records = await self._admission.prepare_all(_specs(spec))
        placed = [
            record.model_copy(
                update={"group": GroupPlace(group_id=row.group_id, name=row.name, place=place)}
            )
            for place, record in enumerate(records)
        ]
        known = await self._admission.insert_all(placed, row, key)
        return await self.require(known or row.group_id)

    async def retry(self, order: GroupRetryOrder) -> GroupView:
        """Queue a new run for each run of a group that failed. All are checked first.

        Raises:
            ProblemError: `run_live`, nothing has failed; `run_unknown`; or a spec is refused now.
        """
        try:
            asked = GroupRetry.model_validate(order.retry)
        except ValidationError as error:
            raise problem.request_invalid("retry", error) from error
        view = await self.require(order.group_id)
        states = (*FAILED_STATES, RunState.CANCELLED) if asked.cancelled else FAILED_STATES
        runs = [
            run for run in await self._store.runs_of_group(view.group_id) if run.state in states
        ]
        if view.spec is None:
            raise problem.not_a_group(view.group_id)
        if not runs:
            raise _nothing_failed(view, asked.cancelled)
        records = await self._admission.prepare_all([copied(run) for run in runs])
        placed = [
            record.model_copy(update={"group": run.group})
            for record, run in zip(records, runs, strict=True)
        ]
        await self._admission.insert_all(placed)
        return await self.require(view.group_id)

    async def require(self, group_id: str) -> GroupView:
        """A group as it is now. Raises ProblemError: there is none."""
        view = await self._store.group(group_id)
        if view is None:
            raise problem.group_unknown(group_id)
        return view

    async def _plan(self, spec: GroupSpec) -> GroupPlan:
        title = spec.title()
        try:
            records = await self._admission.prepare_all(_specs(spec))
        except ProblemError as error:
            return GroupPlan(
                ok=False, runs=spec.size, name=title, findings=_of_problem(error.problem)
            )
        return GroupPlan(
            ok=True,
            runs=len(records),
            expected_s=await self._expected_s(records),
            name=title,
            names=distinct_names(records),
        )

    async def _expected_s(self, records: list[RunRecord]) -> float | None:
        lasts = [self._durations.lasts_s(record) for record in records]
        known = [seconds for seconds in lasts if seconds is not None]
        if len(known) < len(records):
            return None
        gpus = await self._admission.gpu_count()
        jobs = [
            Job(seconds, record.spec.cpus, record.spec.gpus)
            for seconds, record in zip(known, records, strict=True)
        ]
        return makespan_s(jobs, self._cores, gpus)


def _specs(spec: GroupSpec) -> list[dict[str, Any]]:
    """Specs of the runs. The group has the name; a run is named by what sets it apart."""
    return [{**one, "name": None} for one in spec.specs()]


def _findings(error: ValidationError) -> list[Finding]:
    return [
        wrong(fault_place(entry) or "group", fault_text(entry), ProblemCode.SPEC_INVALID).finding()
        for entry in error.errors()[:MAX_FINDINGS]
    ]


def _of_problem(found: Problem) -> list[Finding]:
    """A refusal as findings."""
    if found.fields:
        return findings_of(found)
    return [Finding(level="blocking", where="group", message=found.detail, code=found.code)]


def _nothing_failed(view: GroupView, cancelled: bool) -> ProblemError:
    hint = " `--stopped` starts those that were stopped." if view.stopped and not cancelled else ""
    return ProblemError(
        Problem(
            code=ProblemCode.RUN_LIVE if view.live else ProblemCode.RUN_ENDED,
            title="No run of the group has failed",
            detail=f"{view.done} of {view.total} runs succeeded, {view.live} have not ended.{hint}",
        )
    )
