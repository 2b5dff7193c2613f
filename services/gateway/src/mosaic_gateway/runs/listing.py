"""Pages of the run list in any order: which runs come next is decided here, from ids and what they are sorted by."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from mosaic_contracts.ids import parse_run_id
from mosaic_contracts.run_search import RunSearch
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import ListRequest, RunRecords, RunValue
from mosaic_gateway.errors import cursor_invalid
from mosaic_gateway.history import History
from mosaic_gateway.runs.query import (
    Order,
    RunQuery,
    RunSortKey,
    SortPosition,
    Value,
    arrange,
    format_position,
    is_behind,
    parse_position,
    position_of,
)
from mosaic_gateway.runs.search import read_search, search_store
from mosaic_store import RunMarks

_OF_RECORD: dict[RunSortKey, tuple[RunValue, Callable[[str], Value]]] = {
    RunSortKey.NAME: ("name", str.casefold),
    RunSortKey.STARTED: ("started_at", lambda text: datetime.fromisoformat(text).timestamp()),
    RunSortKey.ENDED: ("ended_at", lambda text: datetime.fromisoformat(text).timestamp()),
}
"""Field of the record, and what it is as a value to sort by."""
_OF_STORE: dict[RunSortKey, Callable[[RunMarks], Value]] = {
    RunSortKey.STEPS: lambda run: run.global_step,
    RunSortKey.EPISODES: lambda run: run.episodes,
    RunSortKey.LAST_RETURN: lambda run: run.last_return,
    RunSortKey.BEST_RETURN: lambda run: run.best_return,
    RunSortKey.MEAN_RETURN: lambda run: run.mean_return,
}


class RunSource(Protocol):
    """Selects runs. Every call raises ProblemError: why it cannot."""

    async def records(self, request: ListRequest) -> RunRecords:
        """Records of selected runs, newest first."""
        ...

    async def run_ids(self, request: ListRequest) -> list[str]:
        """Ids of all selected runs, newest first."""
        ...

    async def run_values(
        self, request: ListRequest, value: RunValue
    ) -> list[tuple[str, str | None]]:
        """Ids of all selected runs, newest first, each with one value of its record."""
        ...


class Listing:
    """The run list."""

    def __init__(self, source: RunSource, history: History) -> None:
        self._source = source
        self._history = history

    async def page(self, query: RunQuery) -> tuple[list[RunRecord], str | None]:
        """Records of one page, and the cursor of the next.

        Raises:
            ProblemError: `cursor_invalid`; the source or the store does not answer.
        """
        search = read_search(query.q).of_store
        found = await self._found(query, search) if search else None
        if query.sort is not RunSortKey.CREATED:
            return await self._by_value(query, found)
        if query.order is Order.DESCENDING and found is None:
            return await self._newest_first(query)
        return await self._by_age(query, found)

    async def _found(self, query: RunQuery, search: RunSearch) -> set[str]:
        """Ids of the runs that fulfil the terms of a search, those that need the store included."""
        ids = await self._source.run_ids(query.request(1))
        return await self._history.read(lambda reader: search_store(reader, search, ids), set())

    async def _newest_first(self, query: RunQuery) -> tuple[list[RunRecord], str | None]:
        found = await self._source.records(query.request(query.limit + 1, _id_of(query)))
        records = found.runs[: query.limit]
        more = found.cut or len(found.runs) > query.limit
        return records, records[-1].run_id if more and records else None

    async def _by_age(
        self, query: RunQuery, found: set[str] | None
    ) -> tuple[list[RunRecord], str | None]:
        ids = await self._source.run_ids(query.request(1)) if found is None else found
        last, is_descending = _id_of(query), query.order is Order.DESCENDING
        rest = [
            run_id
            for run_id in sorted(ids, reverse=is_descending)
            if last is None or (run_id < last if is_descending else run_id > last)
        ]
        chosen = rest[: query.limit]
        more = len(rest) > query.limit
        records = await records_of(self._source, chosen, deleted=query.deleted)
        return records, chosen[-1] if more else None

    async def _by_value(
        self, query: RunQuery, found: set[str] | None
    ) -> tuple[list[RunRecord], str | None]:
        positions = await self._positions(query)
        if found is not None:
            positions = [position for position in positions if position.run_id in found]
        positions = arrange(positions, query.order)
        if query.cursor:
            last = _read_position(query.cursor, query.sort, query.order)
            positions = [
                position for position in positions if is_behind(position, last, query.order)
            ]
        chosen = positions[: query.limit]
        cursor = None
        if len(positions) > query.limit:
            cursor = format_position(chosen[-1], query.sort, query.order)
        ids = [position.run_id for position in chosen]
        return await records_of(self._source, ids, deleted=query.deleted), cursor

    async def _positions(self, query: RunQuery) -> list[SortPosition]:
        of_record = _OF_RECORD.get(query.sort)
        if of_record is not None:
            value, read = of_record
            rows = await self._source.run_values(query.request(1), value)
            return [
                position_of(run_id, None if text is None else read(text)) for run_id, text in rows
            ]
        of_store, none = _OF_STORE[query.sort], dict[str, RunMarks]()
        ids = await self._source.run_ids(query.request(1))
        marks = await self._history.read(lambda reader: reader.run_marks(), none)
        return [
            position_of(run_id, of_store(marks[run_id]) if run_id in marks else None)
            for run_id in ids
        ]


async def records_of(
    source: RunSource, ids: list[str], *, deleted: bool = False
) -> list[RunRecord]:
    """Records of `ids` in that order; a run that has just gone has none.

    Raises:
        ProblemError: the source does not answer.
    """
    found: list[RunRecord] = []
    more = bool(ids)
    request = ListRequest(run_ids=ids, limit=len(ids) + 1, deleted=deleted)
    while more:
        # one answer holds what fits a message
        page = await source.records(request)
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


def _read_position(text: str, sort: RunSortKey, order: Order) -> SortPosition:
    try:
        return parse_position(text, sort, order)
    except ValueError as error:
        raise cursor_invalid(str(error)) from error
