"""Reading blocks, and events back out of them."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from mosaic_contracts.wire import Batch, decode_batch
from mosaic_store.batch import unpack


class Frame(NamedTuple):
    """A block as it is stored."""

    seq0: int
    n: int
    """Seqs that it covers; steps may have been removed from it."""
    t_min_us: int
    raw_bytes: int
    body: bytes
    """zstd frame of a wire batch."""

    @property
    def last_seq(self) -> int:
        """Highest seq that it covers."""
        return self.seq0 + self.n - 1


class Block(NamedTuple):
    """A block of one source, decoded."""

    batch: Batch
    raw_bytes: int


def read_frames(
    db: sqlite3.Connection, source: int, first: int, last: int, kinds: int
) -> Iterator[Frame]:
    """Blocks with a seq in `first..last` and a record of one of `kinds` (bits), in order of seq.

    They are read one by one: a caller that stops early has not read the rest.
    """
    rows = db.execute(
        "SELECT seq0, n, t_min_us, raw_bytes, body FROM block"
        " WHERE source=?1 AND seq0<=?3 AND kinds & ?4"
        " AND seq0>=coalesce((SELECT max(seq0) FROM block WHERE source=?1 AND seq0<=?2), 0)"
        " AND seq0+n>?2 ORDER BY seq0",
        (source, first, last, kinds),
    )
    return map(Frame._make, rows)


def read_blocks(
    db: sqlite3.Connection, source: int, first: int, last: int, kinds: int
) -> Iterator[Block]:
    """The same, decoded."""
    for frame in read_frames(db, source, first, last, kinds):
        yield Block(decode_batch(unpack(frame.body), thinned=True), frame.raw_bytes)
