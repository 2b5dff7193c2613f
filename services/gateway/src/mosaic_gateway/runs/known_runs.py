"""Selects runs as the scheduler does, from what was last known of them, while it does not answer."""

import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

from mosaic_contracts.run_search import facts_of
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ListRequest, RunRecords, RunValue
from mosaic_contracts.states import shown_state
from mosaic_gateway.runs.last_known import LastKnown
from mosaic_gateway.runs.search import read_search

_AT_ONCE = 100


class KnownRuns:
    """A `RunSource` without a scheduler. Runs that never started are in it only if this gateway saw them."""

    def __init__(self, last_known: LastKnown) -> None:
        self._last_known = last_known

    async def records(self, request: ListRequest) -> RunRecords:
        """Records of selected runs, newest first. Raises ProblemError: the store cannot be read."""
        found: list[RunRecord] = []
        async for record in self._selected(request):
            found.append(record)
            if len(found) == request.limit:
                break
        return RunRecords(runs=found)

    async def run_ids(self, request: ListRequest) -> list[str]:
        """Ids of all selected runs, newest first."""
        return [record.run_id async for record in self._selected(request)]

    async def run_values(
        self, request: ListRequest, value: RunValue
    ) -> list[tuple[str, str | None]]:
        """Ids of all selected runs, newest first, each with one value of its record."""
        rows = [record.model_dump(mode="json") async for record in self._selected(request)]
        if value == "origin":
            return [(row["run_id"], _origin(row["spec"])) for row in rows]
        return [(row["run_id"], row[value]) for row in rows]

    async def _selected(self, request: ListRequest) -> AsyncIterator[RunRecord]:
        fits = _search_test(request.search) if request.search else None
        wanted = request.run_ids
        ids = await self._last_known.run_ids() if wanted is None else sorted(wanted, reverse=True)
        older = [run_id for run_id in ids if request.before is None or run_id < request.before]
        for first in range(0, len(older), _AT_ONCE):
            for record in await self._last_known.records(older[first : first + _AT_ONCE]):
                if is_selected(record, request) and (fits is None or fits(record)):
                    yield record


def _group_of(record: RunRecord) -> str | None:
    if record.group is not None:
        return record.group.group_id
    return None if record.trial is None else record.spec.parent


def _origin(spec: dict[str, Any]) -> str:
    return json.dumps([spec[name] for name in ("worker", "algorithm", "environment", "kind")])


def _search_test(text: str) -> Callable[[RunRecord], bool]:
    """A test of records. A word for a parameter is looked for in each run, since not all runs are known."""
    search = read_search(text).of_record

    def fits(record: RunRecord) -> bool:
        facts = facts_of(record.model_dump(mode="json"))
        return search.with_parameters(facts.parameters, strict=False).record_test(time.time())(
            facts
        )

    return fits


def is_selected(record: RunRecord, request: ListRequest) -> bool:
    """Whether the record has all that the request asks for."""
    spec = record.spec
    one_of = (
        (request.states, shown_state(record.state, record.started_at)),
        (request.workers, spec.worker),
        (request.algorithms, spec.algorithm),
        (request.environments, spec.environment),
        (request.kinds, spec.kind),
    )
    texts = (record.run_id, record.name, record.note, *record.tags)
    text = (request.text or "").casefold()
    return (
        (record.deleted_at is not None) == request.deleted
        and all(chosen is None or value in chosen for chosen, value in one_of)
        and set(request.tags or ()) <= set(record.tags)
        and request.parent in (None, spec.parent)
        and request.group in (None, _group_of(record))
        and (request.members or record.group is None)
        and (request.trials or record.trial is None)
        and any(text in one.casefold() for one in texts)
    )
