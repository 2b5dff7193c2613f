"""How far sources are in the store."""

import sqlite3

from mosaic_contracts.runs import SourceMark


def read_marks(db: sqlite3.Connection, run_id: str) -> list[SourceMark]:
    """Marks of all sources of a run, in order of attempt and source."""
    rows = db.execute(
        "SELECT attempt, source, last_seq, next_seq, missing FROM source"
        " WHERE run=(SELECT id FROM run WHERE run_id=?) ORDER BY attempt, source",
        (run_id,),
    )
    return [
        SourceMark(
            attempt=attempt, source=source, last_seq=last, next_seq=following, missing=missing
        )
        for attempt, source, last, following, missing in rows
    ]
