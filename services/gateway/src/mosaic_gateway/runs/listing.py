"""Pages of the run list in any order: which runs come next is decided here, from ids and what they are sorted by."""

from collections.abc import Callable
from datetime import datetime

from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ListRequest, RunValue
from mosaic_gateway.errors import cursor_invalid
from mosaic_gateway.history import History
from mosaic_gateway.peers import Scheduler
from mosaic_gateway.runs.query import (
    Order,
    Place,
    RunQuery,
    SortKey,
    Value,
    arrange,
    format_place,
    is_behind,
    parse_place,
    place_of,
)
from mosaic_store import Standing

_OF_RECORD: dict[SortKey, tuple[RunValue, Callable[[str], Value]]] = {
    SortKey.NAME: ("name", str.casefold),
    SortKey.STARTED: ("started_at", lambda text: datetime.fromisoformat(text).timestamp()),
    SortKey.ENDED: ("ended_at", lambda text: datetime.fromisoformat(text).timestamp()),
}
"""Field of the record, and what it is as a value to sort by."""
_OF_STORE: dict[SortKey, Callable[[Standing], Value]] = {
    SortKey.STEPS: lambda run: run.global_step,
    SortKey.EPISODES: lambda run: run.episodes,
    SortKey.LAST_RETURN: lambda run: run.last_return,
    SortKey.BEST_RETURN: lambda run: run.best_return,
    SortKey.MEAN_RETURN: lambda run: run.mean_return,
}


class Listing:
    """The run list."""

    def __init__(self, scheduler: Scheduler, history: History) -> None:
        self._scheduler = scheduler
        self._history = history

    async def page(self, query: RunQuery) -> tuple[list[RunRecord], str | None]:
        """Records of one page, and the cursor of the next.

        Raises:
            ProblemError: `cursor_invalid`; the scheduler or the store does not answer.
        """
        if query.sort is not SortKey.CREATED:
            return await self._by_value(query)
        if query.order is Order.DESCENDING:
            return await self._newest_first(query)
        return await self._oldest_first(query)

    async def _newest_first(self, query: RunQuery) -> tuple[list[RunRecord], str | None]:
        found = await self._scheduler.list_runs(query.request(query.limit + 1, _id_of(query)))
        records = found.runs[: query.limit]
        more = found.cut or len(found.runs) > query.limit
        return records, records[-1].run_id if more and records else None

    async def _oldest_first(self, query: RunQuery) -> tuple[list[RunRecord], str | None]:
        after = _id_of(query) or ""
        ids = sorted(await self._scheduler.run_ids(query.request(1)))
        rest = [run_id for run_id in ids if run_id > after]
        chosen = rest[: query.limit]
        more = len(rest) > query.limit
        return await self._records(chosen, query.deleted), chosen[-1] if more else None

    async def _by_value(self, query: RunQuery) -> tuple[list[RunRecord], str | None]:
        places = arrange(await self._places(query), query.order)
        if query.cursor:
            last = _read_place(query.cursor, query.sort, query.order)
            places = [place for place in places if is_behind(place, last, query.order)]
        chosen = places[: query.limit]
        cursor = None
        if len(places) > query.limit:
            cursor = format_place(chosen[-1], query.sort, query.order)
        ids = [place.run_id for place in chosen]
        return await self._records(ids, query.deleted), cursor

    async def _places(self, query: RunQuery) -> list[Place]:
        of_record = _OF_RECORD.get(query.sort)
        if of_record is not None:
            value, read = of_record
            rows = await self._scheduler.run_values(query.request(1), value)
            return [place_of(run_id, None if text is None else read(text)) for run_id, text in rows]
        of_store, none = _OF_STORE[query.sort], dict[str, Standing]()
        ids = await self._scheduler.run_ids(query.request(1))
        standings = await self._history.read(lambda reader: reader.standings(), none)
        return [
            place_of(run_id, of_store(standings[run_id]) if run_id in standings else None)
            for run_id in ids
        ]

    async def _records(self, ids: list[str], deleted: bool) -> list[RunRecord]:
        """Records of `ids` in that order; of one that has just gone there is none."""
        found: list[RunRecord] = []
        more = bool(ids)
        request = ListRequest(run_ids=ids, limit=len(ids) + 1, deleted=deleted)
        while more:
            # one answer holds what fits a message
            page = await self._scheduler.list_runs(request)
            found += page.runs
            more = page.cut and bool(page.runs)
            if more:
                request = request.model_copy(update={"before": page.runs[-1].run_id})
        by_id = {record.run_id: record for record in found}
        return [by_id[run_id] for run_id in ids if run_id in by_id]


def _id_of(query: RunQuery) -> str | None:
    if not query.cursor:
        return None
    try:
        return parse_run_id(query.cursor)
    except ValueError as error:
        raise cursor_invalid(str(error)) from error


def _read_place(text: str, sort: SortKey, order: Order) -> Place:
    try:
        return parse_place(text, sort, order)
    except ValueError as error:
        raise cursor_invalid(str(error)) from error
