"""Pages of a run's stored batches, undecoded, for exports."""

import heapq
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from mosaic_contracts.cursor import Cursor
from mosaic_contracts.wanted import WantedTypes
from mosaic_store.blocks import Frame, read_frames
from mosaic_store.sources import Source, read_sources

_MAX_PAGE_BYTES = 8 * 2**20
"""Compressed bytes after which a page ends."""
_MAX_RECORDS = 200_000
"""Records after which a page ends: a page is a short read, and its reader shows progress."""


class FramePage(NamedTuple):
    """Frames, and how far the page reached."""

    frames: list[bytes]
    cursor: Cursor
    has_more: bool


def read_batch_page(
    db: sqlite3.Connection, run_id: str, cursor: Cursor, types: Sequence[str] | None
) -> FramePage:
    """Frames behind `cursor` in which one of `types` is (None: all), see `mosaic_contracts.stored.BatchPage`."""
    sources = read_sources(db, run_id)
    position = dict(cursor)
    kinds = WantedTypes(types).kinds
    streams = [_frames(db, source, position.get(source.key, 0), kinds) for source in sources]
    frames: list[bytes] = []
    size = records = 0
    for source, frame in heapq.merge(*streams, key=lambda item: item[1].t_min_us):
        frames.append(frame.body)
        position[source.key] = min(frame.last_seq, source.end)
        size += len(frame.body)
        records += frame.n
        if size > _MAX_PAGE_BYTES or records > _MAX_RECORDS:
            break
    else:
        # nothing wanted is left up to each source's end
        position |= {s.key: max(s.end, position.get(s.key, 0)) for s in sources if s.end}
    has_more = any(position.get(source.key, 0) < source.end for source in sources)
    return FramePage(frames, position, has_more)


def _frames(
    db: sqlite3.Connection, source: Source, after: int, kinds: int
) -> Iterator[tuple[Source, Frame]]:
    for frame in read_frames(db, source.id, after + 1, source.end, kinds):
        yield source, frame
