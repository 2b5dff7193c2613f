"""The scheduler's SQLite file: one connection in one thread, so that a locked file never stops the event loop."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from mosaic_scheduler.errors import DatabaseUnavailable
from mosaic_scheduler.schema import MIGRATIONS
from mosaic_servicekit.errors import ServiceRefused

_P = ParamSpec("_P")
_T = TypeVar("_T")

BUSY_TIMEOUT_S = 5.0
"""Somebody may look into the file with a tool of their own; a transition waits for them this long."""


class Database:
    """Runs functions that take the connection, one after the other, in the database's own thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
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
            self._connection = sqlite3.connect(
                self._path, timeout=BUSY_TIMEOUT_S, isolation_level=None
            )
            self._connection.execute("PRAGMA journal_mode = WAL")
            # A state that was reported to the user must also survive a power cut; a run makes few writes.
            self._connection.execute("PRAGMA synchronous = FULL")
            self._connection.create_function("folded", 1, _folded, deterministic=True)
            self._migrate(self._connection)
        return self._connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        version: int = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise ServiceRefused(
                f"{self._path} was written by a newer MOSAIC (version {version}, this one knows {len(MIGRATIONS)}); "
                "nothing was changed: update MOSAIC, or name another MOSAIC_HOME"
            )
        for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
            connection.executescript(f"BEGIN;{step}PRAGMA user_version = {number};COMMIT;")

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


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
