"""The sources of a run, as pages of events are read from them."""

import sqlite3
from typing import NamedTuple


class Source(NamedTuple):
    """One source of a run."""

    id: int
    key: tuple[int, str]
    end: int
    """Highest seq that a page may give."""


def read_sources(db: sqlite3.Connection, run_id: str, contiguous: bool = False) -> list[Source]:
    """Sources of a run; `contiguous`: each ends before its first hole."""
    rows = db.execute(
        "SELECT id, attempt, source, last_seq, next_seq FROM source"
        " WHERE run=(SELECT id FROM run WHERE run_id=?) ORDER BY attempt, source",
        (run_id,),
    ).fetchall()
    return [
        Source(id_, (attempt, source), following - 1 if contiguous else last)
        for id_, attempt, source, last, following in rows
    ]
