"""Copies of the stack's SQLite files as of one moment, while its services go on writing."""

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from mosaic_contracts.backups import StoredSeq

_PAGES_A_STEP = 2048
"""8 MiB of a file with pages of 4 KiB."""
_BUSY_TIMEOUT_S = 10.0


class DatabaseCopy(NamedTuple):
    """A copy of a database. Its file has no name any more, so that nothing is left of it after a kill."""

    file: BinaryIO
    mtime_ns: int


class StackRuns(NamedTuple):
    """Runs of a scheduler's database."""

    ids: list[str]
    """All of them, oldest first."""
    live: list[str]
    """Those that have processes."""


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database for reading, at one moment: what is committed from here on is not seen.

    Raises:
        sqlite3.Error: it is none, or stays locked.
    """
    uri = (
        f"{path.absolute().as_uri()}?mode=rw"  # a log that a killed service left is to be read, too
    )
    with closing(
        sqlite3.connect(uri, uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None)
    ) as source:
        source.execute("PRAGMA query_only = ON")
        source.execute("BEGIN")
        # Begins to read. Without that, each write of a service would have the copy begin again.
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield source


@contextmanager
def copied(
    source: sqlite3.Connection, folder: Path, progress: Callable[[int], None]
) -> Iterator[DatabaseCopy]:
    """Copy a database that `opened` gave.

    Args:
        source: the database.
        folder: where the copy takes room.
        progress: called with the number of bytes of each step.

    Raises:
        sqlite3.Error: it cannot be read, or the disk is full.
        OSError: the folder cannot be written.
    """
    page_bytes: int = source.execute("PRAGMA page_size").fetchone()[0]
    left = 0

    def step(_: int, remaining: int, total: int) -> None:
        nonlocal left
        progress(((left or total) - remaining) * page_bytes)
        left = remaining

    fd, name = tempfile.mkstemp(dir=folder, prefix=".mosaic-backup.", suffix=".draft")
    with os.fdopen(fd, "rb") as file:
        try:
            target = _empty_database(name)
        finally:
            Path(name).unlink()
        with closing(target):
            source.backup(target, pages=_PAGES_A_STEP, progress=step, sleep=0)
        yield DatabaseCopy(file, os.fstat(file.fileno()).st_mtime_ns)


def _empty_database(name: str) -> sqlite3.Connection:
    """Open a new file that needs no other one next to it."""
    target = sqlite3.connect(name, isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE"):
        target.execute(f"PRAGMA {pragma}")
    target.execute("SELECT count(*) FROM sqlite_master").fetchone()  # opens the file
    return target


def runs_of(scheduler: sqlite3.Connection) -> StackRuns:
    """Read the runs of a scheduler's database."""
    rows = scheduler.execute("SELECT run_id, state FROM runs ORDER BY run_id").fetchall()
    live = [run_id for run_id, state in rows if state in ("starting", "running", "stopping")]
    return StackRuns([run_id for run_id, _ in rows], live)


def stored_seqs(store: sqlite3.Connection) -> dict[str, list[StoredSeq]]:
    """Read how far each source of each run is in a telemetry store."""
    rows = store.execute(
        "SELECT run.run_id, attempt, source, last_seq FROM source JOIN run ON run.id = source.run"
        " ORDER BY run.run_id, attempt, source"
    )
    found: dict[str, list[StoredSeq]] = {}
    for run_id, attempt, source, last_seq in rows:
        seq = StoredSeq(attempt=attempt, source=source, last_seq=last_seq)
        found.setdefault(run_id, []).append(seq)
    return found
