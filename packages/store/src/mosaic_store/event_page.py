"""Pages of a run's events over all its sources."""

import heapq
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mosaic_contracts.cursor import Cursor
from mosaic_contracts.live import ALL_EXTRAS
from mosaic_contracts.wire import TYPE_OF, Batch, Extra, Record, event_type, to_event
from mosaic_store.blocks import read_blocks
from mosaic_store.fold import kind_of

MAX_PAGE_EVENTS = 10_000
_MAX_PAGE_BYTES = 8 * 2**20
"""Raw bytes after which a page ends: events with observations are large."""
_MAX_SCANNED = 100_000
"""Records after which a page ends although few were wanted: a page is a short read."""
_CLASS_OF = {name: record for record, name in TYPE_OF.items()}
_Item = tuple[int, tuple[int, str], int, Batch, Record | None]
"""Time, source, seq, batch, and the record unless only the seq counts."""


class _Source(NamedTuple):
    id: int
    key: tuple[int, str]
    end: int
    """Highest seq that this page may give."""


class RawPage(NamedTuple):
    """Events as dicts (bytes still bytes), and how far the page reached."""

    events: list[dict[str, Any]]
    cursor: Cursor
    has_more: bool


def read_page(
    db: sqlite3.Connection,
    run_id: str,
    cursor: Cursor,
    limit: int,
    types: Sequence[str] | None,
    contiguous: bool,
) -> RawPage:
    """Up to `limit` events behind `cursor`, each source in order of seq, sources merged by time."""
    sources = _sources(db, run_id, contiguous)
    wanted = _Wanted(types)
    position = dict(cursor)
    budget = _Budget()
    streams = [
        _records(db, source, position.get(source.key, 0), wanted, budget) for source in sources
    ]
    events: list[dict[str, Any]] = []
    for _, key, seq, batch, record in heapq.merge(*streams, key=lambda item: item[0]):
        position[key] = seq
        if record is not None:
            events.append(to_event(batch, record))
        if len(events) >= limit or budget.is_spent:
            break
    else:
        # nothing wanted is left up to each source's end
        position |= {s.key: max(s.end, position.get(s.key, 0)) for s in sources if s.end}
    has_more = any(position.get(source.key, 0) < source.end for source in sources)
    return RawPage(events, position, has_more)


class _Wanted:
    """Which records a page is to give."""

    def __init__(self, types: Sequence[str] | None) -> None:
        self.kinds = -1
        self._types = frozenset(types or ())
        self._classes: frozenset[type] | None = None
        if types is not None:
            # every type that is not one of ours is a namespaced extra
            self._classes = frozenset(_CLASS_OF.get(name, Extra) for name in types)
            self.kinds = sum(1 << kind_of(record) for record in self._classes)

    def pick(self, records: list[Record]) -> list[Record]:
        """Those of `records` that are wanted."""
        classes = self._classes
        if classes is None:
            return records
        picked = [record for record in records if type(record) in classes]
        if Extra in classes and ALL_EXTRAS not in self._types:
            picked = [record for record in picked if event_type(record) in self._types]
        return picked


class _Budget:
    """What one page may read."""

    def __init__(self) -> None:
        self._records = 0
        self._bytes = 0

    def spend(self, records: int, raw_bytes: int) -> None:
        self._records += records
        self._bytes += raw_bytes

    @property
    def is_spent(self) -> bool:
        return self._records > _MAX_SCANNED or self._bytes > _MAX_PAGE_BYTES


def _sources(db: sqlite3.Connection, run_id: str, contiguous: bool) -> list[_Source]:
    rows = db.execute(
        "SELECT id, attempt, source, last_seq, next_seq FROM source"
        " WHERE run=(SELECT id FROM run WHERE run_id=?) ORDER BY attempt, source",
        (run_id,),
    ).fetchall()
    return [
        _Source(id_, (attempt, source), following - 1 if contiguous else last)
        for id_, attempt, source, last, following in rows
    ]


def _records(
    db: sqlite3.Connection, source: _Source, after: int, wanted: _Wanted, budget: _Budget
) -> Iterator[_Item]:
    for batch, raw_bytes in read_blocks(db, source.id, after + 1, source.end, wanted.kinds):
        budget.spend(len(batch.records), raw_bytes)
        records = batch.records[max(0, after + 1 - batch.seq0) : source.end + 1 - batch.seq0]
        for record in wanted.pick(records):
            yield batch.t0_us + record.dt, source.key, record.seq, batch, record
        # so that a cursor moves over blocks in which nothing is wanted
        yield batch.t0_us + records[-1].dt, source.key, records[-1].seq, batch, None
