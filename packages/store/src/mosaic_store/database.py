"""Opening the one file: permissions, write-ahead log, the writer's lock."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

from mosaic_base.database_copy import CopyRefused, copied, copy_path, file_bytes, remove_copies
from mosaic_base.locks import open_lock
from mosaic_store.errors import (
    StoreForeign,
    StoreLocked,
    StoreMissing,
    StoreOutdated,
    StoreWalRefused,
    StoreWriteFailed,
)
from mosaic_store.schema import SCHEMA_VERSION, migrate, stored_version

_BUSY_TIMEOUT_S = 10.0
_WAL_LIMIT_BYTES = 64 * 2**20
_CHECKPOINT_PAGES = 2000


def lock_store(path: Path) -> int:
    """Take the writer's lock next to the store file; the descriptor holds it until it is closed.

    Raises:
        StoreLocked: another process has it.
    """
    descriptor = open_lock(path.with_name(path.name + ".writer-lock"))
    if descriptor is None:
        raise StoreLocked(
            f"another recorder writes {path}; stop it, or give this one its own MOSAIC_HOME"
        )
    return descriptor


def make_folder(path: Path) -> None:
    """Make the store's folder (0700) when it is absent; an existing one keeps its permissions."""
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.parent.chmod(0o700)


class Migration(NamedTuple):
    """A store that is brought to the version of this program."""

    path: Path
    from_version: int
    to_version: int
    copy: Path | None
    """The copy that is made first, and removed at the end; None: the user wants none."""
    file_bytes: int


def open_for_writing(
    path: Path, *, copy: bool = True, on_migration: Callable[[Migration], None] | None = None
) -> sqlite3.Connection:
    """Open or create the store file (0600) in its folder (0700), migrated and in WAL mode.

    Args:
        path: the file.
        copy: whether an older store is copied before it is migrated.
        on_migration: called before that, which may take minutes.

    Raises:
        StoreForeign: not a telemetry store, or a newer one. The file is left as it is.
        StoreWalRefused: the file system cannot keep a write-ahead log.
        StoreWriteFailed: the file cannot be opened, made or migrated (permissions, full disk).
    """
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        path.chmod(0o600)
        db = _connect(path)
    except (OSError, sqlite3.Error) as error:
        raise StoreWriteFailed(f"cannot open {path}: {error}") from error
    try:
        stored_version(db)
        # Holds only when set before the first page is written. Pages stay at SQLite's 4096 bytes: with 8192 and
        # 16384 the file grew by a sixth and nothing was faster (benchmarks/store.py).
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        _require_wal(db, path)
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA cache_size = -32768")
        db.execute(f"PRAGMA journal_size_limit = {_WAL_LIMIT_BYTES}")
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        _migrate(db, path, copy, on_migration or _ignore)
    except CopyRefused as error:
        db.close()
        raise StoreWriteFailed(str(error)) from error
    except sqlite3.DatabaseError as error:
        db.close()
        if "not a database" in str(error):
            raise StoreForeign(f"{path} is not a database; move it away by hand") from error
        raise StoreWriteFailed(f"cannot prepare {path}: {error}") from error
    except (StoreForeign, StoreWalRefused):
        db.close()
        raise
    return db


def _migrate(
    db: sqlite3.Connection, path: Path, copy: bool, on_migration: Callable[[Migration], None]
) -> None:
    version = stored_version(db)
    if version == SCHEMA_VERSION:
        remove_copies(path)
        return
    if version == 0:
        migrate(db)
        return
    made = copy_path(path, version) if copy else None
    on_migration(Migration(path, version, SCHEMA_VERSION, made, file_bytes(db)))
    with copied(db, path, version) if copy else nullcontext():
        try:
            migrate(db)
        except sqlite3.Error as error:
            if made is None:
                raise
            text = f"{error}; the store is as it was, and {made} is a copy of it"
            raise sqlite3.DatabaseError(text) from error


def _ignore(migration: Migration) -> None:
    """Nobody wants to know."""


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the store file `query_only`; may be used by several threads, one at a time.

    Raises:
        StoreMissing: no file yet.
        StoreForeign: not a telemetry store, or not of this version.
    """
    if not path.is_file():
        raise StoreMissing(f"no telemetry store at {path} yet; is the recorder running?")
    try:
        db = _connect(path)
    except sqlite3.OperationalError as error:
        raise StoreMissing(f"cannot open the telemetry store {path}: {error}") from error
    try:
        db.execute("PRAGMA query_only = ON")
        version = stored_version(db)
    except sqlite3.DatabaseError as error:
        db.close()
        raise StoreForeign(f"cannot read {path}: {error}") from error
    except StoreForeign:
        db.close()
        raise
    if version != SCHEMA_VERSION:
        db.close()
        raise StoreOutdated(
            f"the telemetry store has version {version}, not {SCHEMA_VERSION}; the recorder brings it"
            " up to date when it starts"
        )
    return db


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )


def _require_wal(db: sqlite3.Connection, path: Path) -> None:
    try:
        mode = str(db.execute("PRAGMA journal_mode = WAL").fetchone()[0])
    except sqlite3.OperationalError as error:
        mode = str(error)
    if mode != "wal":
        raise StoreWalRefused(
            f"the file system of {path.parent} cannot keep SQLite's write-ahead log ({mode}); set"
            " MOSAIC_HOME to a folder on a local disk"
        )
