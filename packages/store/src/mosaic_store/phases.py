"""What the scheduler said of a run's state, as its events in the store tell it."""

import sqlite3
from typing import Any, NamedTuple

from mosaic_contracts.wire import SOURCE_SUPERVISOR, Lifecycle, kind_of
from mosaic_store.blocks import read_blocks

_ALL = 2**62
_SOURCES = """
SELECT id, attempt FROM source
WHERE run = (SELECT id FROM run WHERE run_id=?) AND source = ? ORDER BY attempt
"""


class Phase(NamedTuple):
    """A state that a run came into."""

    attempt: int
    t: float
    """The scheduler's wall clock, seconds since the epoch."""
    phase: str
    data: dict[str, Any]


def read_phases(db: sqlite3.Connection, run_id: str) -> list[Phase]:
    """States of a run in the order in which it came into them."""
    found: list[Phase] = []
    for source, attempt in db.execute(_SOURCES, (run_id, SOURCE_SUPERVISOR)).fetchall():
        for batch, _ in read_blocks(db, source, 1, _ALL, 1 << kind_of(Lifecycle)):
            found += [
                Phase(attempt, (batch.t0_us + record.dt) / 1e6, record.phase, record.data)
                for record in batch.records
                if isinstance(record, Lifecycle)
            ]
    return found
