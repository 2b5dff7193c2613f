"""New runs that are like an earlier one."""

from typing import Any

from pydantic import ValidationError

from mosaic_contracts.changes import CloneRequest
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import CloneOrder, RunRequest
from mosaic_contracts.spec import RunSpec
from mosaic_scheduler import problem
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.runs.idempotency import IdempotencyKey
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Verb

_OF_THAT_RUN = ("note", "hold")
"""Said of the earlier run, not of what it does."""


class RunCopies:
    """The verbs `clone` and `retry`."""

    def __init__(self, store: RunStore, admission: Admission) -> None:
        self._store = store
        self._admission = admission

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"clone": (CloneOrder, self.clone), "retry": (RunRequest, self.retry)}

    async def retry(self, request: RunRequest) -> RunRecord:
        """Start an ended run once more, as a new run."""
        record = await self._store.require(request.run_id)
        if not record.state.is_final:
            raise problem.run_live(record.run_id, record.state, "started again")
        return await self._admission.queue(copied(record), group=record.group)

    async def clone(self, order: CloneOrder) -> RunRecord:
        """Start a run like this one, but for what is given."""
        try:
            overrides = CloneRequest.model_validate(order.clone).overrides
        except ValidationError as error:
            raise problem.request_invalid("clone", error) from error
        asked = {"clone": order.run_id, "overrides": overrides}
        key = IdempotencyKey.of(order.idempotency_key, asked)
        known = await self._admission.find_existing(key)
        if known is not None:
            return known
        record = await self._store.require(order.run_id)
        spec = overridden(copied(record), overrides)
        return await self._admission.queue({**spec, "parent": record.run_id}, key)


def copied(record: RunRecord) -> dict[str, Any]:
    """The spec for a new run: with the tags and priority that the run has now, without what belongs to it alone."""
    # Fields of a newer version, which an old record may hold, are no business of this one.
    spec = {
        name: value
        for name, value in record.spec.model_dump(mode="json").items()
        if name in RunSpec.model_fields and name not in _OF_THAT_RUN
    }
    if spec["sweep"] is not None:
        spec["sweep"]["continues"] = None  # a copy begins with a study of its own
    return {
        **spec,
        "parent": record.run_id,
        "tags": record.tags,
        "priority": record.priority,
    }


def overridden(spec: dict[str, Any], overrides: dict[str, Any]) -> dict[str, Any]:
    """Fields replaced; parameters merged name by name, where null takes one away."""
    merged = {**spec, **overrides}
    given = overrides.get("parameters")
    if isinstance(given, dict):
        parameters = {**spec["parameters"], **given}
        merged["parameters"] = {
            name: value
            for name, value in parameters.items()
            if name not in given or value is not None
        }
    return merged
