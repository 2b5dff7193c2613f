"""The trials of a sweep as its worker recorded them: the newest record of each, kept up to date with the store."""

import asyncio
from collections import OrderedDict
from typing import Any, NamedTuple

from mosaic_contracts.sweeps import (
    SWEEP_IMPORTANCE,
    SWEEP_TRIAL,
    ParameterImportance,
    TrialPage,
    TrialRecord,
)
from mosaic_gateway.errors import cursor_invalid
from mosaic_gateway.history import History
from mosaic_store import Reader

_PAGE_EVENTS = 2_000
_SWEEPS = 16
"""Sweeps whose trials are kept."""

Place = tuple[int, int]
"""Attempt and seq of a trial's newest event: what a cursor names."""


TrialEvent = tuple[Place, TrialRecord | ParameterImportance]


class RecordedTrial(NamedTuple):
    """A trial and where its newest record lies."""

    place: Place
    trial: TrialRecord


class TrialBook:
    """The trials of one sweep."""

    def __init__(self, run_id: str, history: History) -> None:
        self._run_id = run_id
        self._history = history
        self._lock = asyncio.Lock()
        self._cursor = ""
        self._changes: dict[int, RecordedTrial] = {}
        """The newest record of each trial by its number, the last changed one last."""
        self.importance: ParameterImportance | None = None

    @property
    def trials(self) -> list[TrialRecord]:
        """All trials, the last changed one last."""
        return [change.trial for change in self._changes.values()]

    async def update(self) -> None:
        """Read what is new in the store. Raises ProblemError: it cannot be read."""
        async with self._lock:
            has_more = True
            while has_more:
                events, has_more = await self._read_on()
                for place, record in events:
                    self._take(place, record)

    async def _read_on(self) -> tuple[list[TrialEvent], bool]:
        cursor = self._cursor
        absent: tuple[list[TrialEvent], str, bool] = ([], cursor, False)
        events, self._cursor, has_more = await self._history.read(
            lambda reader: _read(reader, self._run_id, cursor), absent
        )
        return events, has_more

    def _take(self, place: Place, record: TrialRecord | ParameterImportance) -> None:
        if isinstance(record, ParameterImportance):
            self.importance = record
            return
        known = self._changes.pop(record.number, None)
        newest = RecordedTrial(place, record)
        self._changes[record.number] = newest if known is None or known.place < place else known

    def page(self, after: str, limit: int) -> TrialPage:
        """Up to `limit` trials that changed behind a cursor. Raises ProblemError `cursor_invalid`."""
        place = _parse(after)
        behind: list[RecordedTrial] = []
        for change in reversed(self._changes.values()):
            if change.place <= place:
                break
            behind.append(change)
        behind.reverse()
        page = behind[:limit]
        end = page[-1].place if page else place
        return TrialPage(
            trials=[change.trial for change in page],
            cursor=f"{end[0]}.{end[1]}",
            has_more=len(behind) > len(page),
        )


class TrialBooks:
    """The trials of the sweeps that were asked for last."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._books: OrderedDict[str, TrialBook] = OrderedDict()

    async def read(self, run_id: str) -> TrialBook:
        """The trials of a sweep as the store has them now. Raises ProblemError: it cannot be read."""
        book = self._books.get(run_id)
        if book is None:
            book = self._books[run_id] = TrialBook(run_id, self._history)
        self._books.move_to_end(run_id)
        while len(self._books) > _SWEEPS:
            self._books.popitem(last=False)
        await book.update()
        return book


def _read(reader: Reader, run_id: str, cursor: str) -> tuple[list[TrialEvent], str, bool]:
    types = [SWEEP_TRIAL, SWEEP_IMPORTANCE]
    page = reader.events(run_id, cursor, _PAGE_EVENTS, types, contiguous=True)
    found: list[TrialEvent] = [
        ((event["attempt"], event["seq"]), _record(event)) for event in page.events
    ]
    return found, page.cursor, page.has_more


def _record(event: dict[str, Any]) -> TrialRecord | ParameterImportance:
    if event["type"] == SWEEP_IMPORTANCE:
        return ParameterImportance.model_validate(event["data"])
    return TrialRecord.model_validate(event["data"])


def _parse(cursor: str) -> Place:
    if not cursor:
        return (0, 0)
    attempt, dot, seq = cursor.partition(".")
    if not dot or not attempt.isdecimal() or not seq.isdecimal() or len(cursor) > 40:
        raise cursor_invalid(f"{cursor[:40]!r} is no cursor of a page of trials")
    return (int(attempt), int(seq))
