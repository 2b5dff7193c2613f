"""Rewrite a store without its free space, and so that it can shrink by itself from then on.

python -m mosaic_store.compact MOSAIC_HOME/db/telemetry.sqlite3
"""

import os
import shutil
import sqlite3
import sys
from pathlib import Path

from mosaic_base.database_copy import file_bytes
from mosaic_store.database import lock_store
from mosaic_store.errors import (
    StoreError,
    StoreForeign,
    StoreLocked,
    StoreMissing,
    StoreWriteFailed,
)
from mosaic_store.schema import stored_version


def compact(path: Path) -> tuple[int, int]:
    """Rewrite the store in place. A kill leaves the old one or the new one.

    Args:
        path: the store's file, which nobody else has open.

    Returns:
        Bytes of the file before and after.

    Raises:
        StoreMissing: there is no such file.
        StoreForeign: not a telemetry store, or a newer one.
        StoreLocked: a recorder or a reader has the store open.
        StoreWriteFailed: there is no room, or the disk refused.
    """
    if not path.is_file():
        raise StoreMissing(f"there is no telemetry store at {path}")
    lock = lock_store(path)
    try:
        db = sqlite3.connect(path, timeout=0, isolation_level=None)
        try:
            return _compact(db, path)
        finally:
            db.close()
    finally:
        os.close(lock)


def _compact(db: sqlite3.Connection, path: Path) -> tuple[int, int]:
    try:
        if not stored_version(db):
            raise StoreForeign(f"{path} is empty; the recorder makes the store when it starts")
        before = file_bytes(db)
        free = shutil.disk_usage(path.parent).free
        # the rewritten file and the journal with the old pages
        if free < 2 * before:
            raise StoreWriteFailed(
                f"rewriting {path} may need {2 * before // 2**20} MiB on its disk, and {free // 2**20} MiB are free;"
                " make room first"
            )
        _leave_log(db, path)
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("VACUUM")
        db.execute("PRAGMA journal_mode = WAL")
        return before, file_bytes(db)
    except sqlite3.DatabaseError as error:
        raise StoreWriteFailed(f"cannot rewrite {path}: {error}") from error


def _leave_log(db: sqlite3.Connection, path: Path) -> None:
    """Go from the write-ahead log to a rollback journal, which SQLite does for nobody but the only user of a file."""
    try:
        mode = str(db.execute("PRAGMA journal_mode = DELETE").fetchone()[0])
    except sqlite3.OperationalError:
        mode = "wal"
    if mode != "delete":
        raise StoreLocked(f"another program has {path} open; `./mosaic down` first")


def main() -> int:
    """Rewrite the store that the command line names; the exit code."""
    path = Path(sys.argv[1])
    try:
        before, after = compact(path)
    except StoreError as error:
        sys.stderr.write(f"{error}.\n")
        return 1
    sys.stdout.write(f"{path}: {before // 2**20} MiB before, {after // 2**20} MiB now.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
