"""The scheduler's SQLite file: one connection in one thread, so that a locked file never stops the event loop."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mosaic_base.database_copy import CopyRefused, copied, copy_path, remove_copies
from mosaic_scheduler.errors import DatabaseUnavailable
from mosaic_scheduler.schema import MIGRATIONS
from mosaic_servicekit.errors import ServiceRefused
from mosaic_servicekit.logging import get_log

_P = ParamSpec("_P")
_T = TypeVar("_T")

BUSY_TIMEOUT_S = 5.0
"""Somebody may look into the file with a tool of their own; a transition waits for them this long."""


class Database:
    """Runs functions that take the connection, one after the other, in the database's own thread."""

    def __init__(self, path: Path, *, migration_copy: bool = True) -> None:
        self._path = path
        self._migration_copy = migration_copy
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="database")
        self._connection: sqlite3.Connection | None = None

    async def call(
        self,
        work: Callable[Concatenate[sqlite3.Connection, _P], _T],
        *args: _P.args,
        **kwargs: _P.kwargs,
    ) -> _T:
        """Run `work(connection, ...)`.

        Raises:
            DatabaseUnavailable: the file stays locked, or the disk is full.
        """
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(
                self._thread, lambda: work(self._connect(), *args, **kwargs)
            )
        except sqlite3.OperationalError as error:
            raise DatabaseUnavailable(str(error)) from error

    async def close(self) -> None:
        """Close the file."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, self._close)
        self._thread.shutdown()

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()  # with what is left of a migration that failed
                raise
            self._connection = connection
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        try:
            version = self._version(connection)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise  # locked, or the disk is full: that passes
            raise ServiceRefused(
                f"{self._path} is not a database of MOSAIC ({error}); move it away, or name another MOSAIC_HOME"
            ) from error
        connection.execute("PRAGMA journal_mode = WAL")
        # A state that was reported to the user must also survive a power cut; a run makes few writes.
        connection.execute("PRAGMA synchronous = FULL")
        connection.create_function("folded", 1, _folded, deterministic=True)
        if version == len(MIGRATIONS):
            remove_copies(self._path)
        elif version == 0 or not self._migration_copy:
            _migrate(connection, version)
        else:
            self._migrate_copied(connection, version)

    def _version(self, connection: sqlite3.Connection) -> int:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise ServiceRefused(
                f"{self._path} was written by a newer MOSAIC (version {version}, this one knows {len(MIGRATIONS)}); "
                "nothing was changed: update MOSAIC, or name another MOSAIC_HOME"
            )
        return version

    def _migrate_copied(self, connection: sqlite3.Connection, version: int) -> None:
        copy = copy_path(self._path, version)
        get_log().info(
            "database.migrates", from_version=version, to_version=len(MIGRATIONS), copy=str(copy)
        )
        try:
            with copied(connection, self._path, version):
                _migrate(connection, version)
        except CopyRefused as error:
            raise ServiceRefused(str(error)) from error
        except sqlite3.Error as error:
            raise ServiceRefused(
                f"{self._path} cannot be brought to version {len(MIGRATIONS)} ({error}). It still opens in the MOSAIC "
                f"that wrote it, and {copy} is a copy of it"
            ) from error

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        try:
            connection.executescript(f"BEGIN;{step}PRAGMA user_version = {number};COMMIT;")
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _folded(text: str | None) -> str:
    """SQLite's own lower() knows ASCII only."""
    return (text or "").casefold()


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing; takes the write lock at once, so that no read inside is outdated."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
