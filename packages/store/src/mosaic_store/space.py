"""Room on the disk: of each run's events, and of the file as a whole."""

import sqlite3
from pathlib import Path

from mosaic_contracts.store_upkeep import RunSpace, StoreSpace
from mosaic_store.prune import free_bytes

_RUNS = """
SELECT run_id, stored_bytes, run.events - thinned_steps, steps - thinned_steps, thinned_steps, every, rule, done
FROM run LEFT JOIN thinning ON thinning.run = run.id
"""
_INCREMENTAL = 2
"""`PRAGMA auto_vacuum` of a file that can give back pages."""


def read_run_spaces(db: sqlite3.Connection) -> list[RunSpace]:
    """Room that each run takes: one row of a small table each."""
    return [
        RunSpace(
            run_id=run_id,
            bytes=stored,
            events=events,
            steps=steps,
            thinned_steps=thinned,
            thinned_every=every,
            thinned_by=rule or "",
            is_thinning=done == 0,
        )
        for run_id, stored, events, steps, thinned, every, rule, done in db.execute(_RUNS)
    ]


def read_space(db: sqlite3.Connection, path: Path) -> StoreSpace:
    """Size of the open file at `path`."""
    pages, page_bytes, vacuum = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_count", "page_size", "auto_vacuum")
    )
    try:
        wal_bytes = path.with_name(path.name + "-wal").stat().st_size
    except FileNotFoundError:
        wal_bytes = 0
    return StoreSpace(
        file_bytes=pages * page_bytes,
        free_bytes=free_bytes(db),
        wal_bytes=wal_bytes,
        can_shrink=vacuum == _INCREMENTAL,
    )
