"""Reading events back out of blocks."""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from mosaic_contracts.wire import Batch, decode_batch
from mosaic_store.batch import unpack


class Block(NamedTuple):
    """A block of one source, decoded."""

    batch: Batch
    raw_bytes: int


def read_blocks(
    db: sqlite3.Connection, source: int, first: int, last: int, kinds: int
) -> Iterator[Block]:
    """Blocks with a seq in `first..last` and a record of one of `kinds` (bits), in order of seq.

    They are read one by one: whoever stops early has not read the rest.
    """
    rows = db.execute(
        "SELECT raw_bytes, body FROM block WHERE source=?1 AND seq0<=?3 AND kinds & ?4"
        " AND seq0>=coalesce((SELECT max(seq0) FROM block WHERE source=?1 AND seq0<=?2), 0)"
        " AND seq0+n>?2 ORDER BY seq0",
        (source, first, last, kinds),
    )
    for raw_bytes, body in rows:
        yield Block(decode_batch(unpack(body)), raw_bytes)
