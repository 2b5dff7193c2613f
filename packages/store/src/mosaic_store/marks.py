"""How far sources are in the store."""

import sqlite3

from mosaic_contracts.shipper_messages import SourceMark


def read_marks(db: sqlite3.Connection, run_id: str, from_seq: int = 1) -> list[SourceMark]:
    """Marks of all sources of a run, in order of attempt and source.

    `next_seq` is the first seq from `from_seq` on that is not in the store. A caller that has nothing below
    `from_seq` any more (the store was lost, and the outbox had been freed) asks only for the rest.
    """
    rows = db.execute(
        "SELECT attempt, source, last_seq, missing, coalesce((SELECT min(max(first, ?1)) FROM hole"
        " WHERE hole.source=source.id AND last>=?1), max(last_seq + 1, ?1)) FROM source"
        " WHERE run=(SELECT id FROM run WHERE run_id=?2) ORDER BY attempt, source",
        (from_seq, run_id),
    )
    return [
        SourceMark(
            attempt=attempt, source=source, last_seq=last, next_seq=following, missing=missing
        )
        for attempt, source, last, missing, following in rows
    ]
