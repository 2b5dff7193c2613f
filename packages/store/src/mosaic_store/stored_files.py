"""Files of many runs at once, in columns, for the janitor."""

import sqlite3
import time
from collections.abc import Sequence
from typing import Any

from mosaic_contracts.stored_files import StoredRunFiles

_MAX_ROWS = 20_000
"""Files of one answer; with their paths about 3 MB, and a message of the broker may have eight."""
_MAX_S = 1.0
"""Seconds after which an answer ends with the run that it is at."""
# A folder that a run announced has an announcement and no report; its files are rows of their own.
_FILES = """
SELECT path, CASE WHEN attempt > 0 THEN kind ELSE coalesce(seen_kind, 'other') END, seen_type,
    coalesce(seen_bytes, bytes), CASE WHEN attempt > 0 THEN t_us ELSE seen_us END,
    step, episode, env, mean_return, reason, attempt > 0, seen_name,
    gone_attempt > 0 AND gone_reason IS NOT x'' AND (gone_attempt, gone_seq) > (attempt, seq)
        AND (gone_attempt, gone_seq) > (seen_attempt, seen_seq)
FROM artifact WHERE run = ? AND (attempt > 0 OR seen_attempt > 0) ORDER BY attempt = 0, attempt, seq, path
"""
_COLUMNS = (
    *("paths", "kinds", "types", "bytes", "times", "steps", "episodes", "envs", "means", "reasons"),
    *("announced", "names"),
)


def read_stored_files(db: sqlite3.Connection, run_ids: Sequence[str]) -> list[StoredRunFiles]:
    """Read the files of the first of these runs that no event calls deleted. At least one run is read."""
    until = time.monotonic() + _MAX_S
    found: list[StoredRunFiles] = []
    rows = 0
    for run_id in run_ids:
        if found and (rows >= _MAX_ROWS or time.monotonic() >= until):
            break
        found.append(_files_of(db, run_id))
        rows += len(found[-1].paths)
    return found


def _files_of(db: sqlite3.Connection, run_id: str) -> StoredRunFiles:
    files = StoredRunFiles(run_id=run_id)
    row = db.execute("SELECT id FROM run WHERE run_id = ?", (run_id,)).fetchone()
    if row is None:
        return files
    places: dict[str, int] = {}
    kept: list[tuple[Any, ...]] = []
    for found in db.execute(_FILES, row):
        kind = found[1]
        place = places[kind] = places.get(kind, -1) + 1
        if not found[-1]:
            kept.append(found)
            files.places.append(place)
    columns = zip(*kept, strict=True)
    for name, column in zip(_COLUMNS, columns, strict=False):  # a run without files has no columns
        setattr(files, name, list(column))
    files.times = [None if t_us is None else t_us / 1e6 for t_us in files.times]
    files.announced = [bool(each) for each in files.announced]
    return files
