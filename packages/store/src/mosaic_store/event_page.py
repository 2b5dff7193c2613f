"""Pages of a run's events over all its sources."""

import heapq
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mosaic_contracts.cursor import Cursor
from mosaic_contracts.merge import BatchSlice, merge_in_time, records_between
from mosaic_contracts.wanted import WantedTypes
from mosaic_contracts.wire import to_events
from mosaic_store.blocks import read_blocks
from mosaic_store.sources import Source, read_sources

MAX_PAGE_EVENTS = 10_000
_MAX_PAGE_BYTES = 8 * 2**20
"""Raw bytes after which a page ends: events with observations are large."""
_MAX_SCANNED = 100_000
"""Records after which a page ends although few were wanted: a page is a short read."""


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
    sources = read_sources(db, run_id, contiguous)
    wanted = WantedTypes(types)
    position = dict(cursor)
    budget = _Budget()
    streams = [
        _parts(db, source, position.get(source.key, 0), wanted.kinds, budget) for source in sources
    ]
    events: list[dict[str, Any]] = []
    for part in merge_in_time(heapq.merge(*streams, key=lambda part: part.first_us)):
        picked = wanted.pick(part.records)
        room = limit - len(events)
        events += to_events(part.batch, picked[:room])
        # so that a cursor moves over records that nobody wants
        position[part.key] = (picked[room - 1] if len(picked) >= room else part.records[-1]).seq
        if len(events) >= limit or budget.is_spent:
            break
    else:
        # nothing wanted is left up to each source's end
        position |= {s.key: max(s.end, position.get(s.key, 0)) for s in sources if s.end}
    has_more = any(position.get(source.key, 0) < source.end for source in sources)
    return RawPage(events, position, has_more)


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


def _parts(
    db: sqlite3.Connection, source: Source, after: int, kinds: int, budget: _Budget
) -> Iterator[BatchSlice]:
    for batch, raw_bytes in read_blocks(db, source.id, after + 1, source.end, kinds):
        budget.spend(len(batch.records), raw_bytes)
        # a thinned block may have nothing left of that range
        if records := records_between(batch.records, after + 1, source.end):
            yield BatchSlice(batch, records)
