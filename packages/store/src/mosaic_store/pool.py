"""Read connections: each caller gets one, and a few are kept for later callers."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic_store.database import open_for_reading
from mosaic_store.errors import ReadTooSlow, StoreMissing

_KEPT = 4
_CHECK_OPS = 2_000_000
"""Steps of SQLite's machine between looks at the clock, some 20 ms: a short read has no such look, and a look that has
to wait for the interpreter's lock costs little compared with it."""


class ReadPool:
    """Lends `query_only` connections, each inside one read transaction; safe from several threads."""

    def __init__(self, path: Path, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._idle: list[tuple[tuple[int, int], sqlite3.Connection]] = []
        self._closed = False

    @contextmanager
    def lend(self) -> Iterator[sqlite3.Connection]:
        """One consistent view of the store. Keep it short: an open one holds back the log's checkpoint.

        Raises:
            StoreMissing, StoreForeign: see `open_for_reading`.
            ReadTooSlow: a query went on for too long and was interrupted.
        """
        file = self._file()
        db = self._take(file) or open_for_reading(self._path)
        deadline = time.monotonic() + self._timeout_s
        try:
            db.set_progress_handler(lambda: time.monotonic() > deadline, _CHECK_OPS)
            db.execute("BEGIN")
            yield db
            db.execute("COMMIT")
            db.set_progress_handler(None, 0)
        except sqlite3.OperationalError as error:
            db.close()
            if getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_INTERRUPT:
                raise
            raise ReadTooSlow(
                f"a read of {self._path.name} took longer than {self._timeout_s:g} s; ask for less at once"
            ) from error
        except BaseException:
            db.close()
            raise
        self._give_back(file, db)

    def close(self) -> None:
        """Close what is idle; what is lent is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for _, db in idle:
            db.close()

    def _file(self) -> tuple[int, int]:
        try:
            stat = self._path.stat()
        except FileNotFoundError as error:
            raise StoreMissing(
                f"no telemetry store at {self._path} yet; is the recorder running?"
            ) from error
        return stat.st_dev, stat.st_ino

    def _take(self, file: tuple[int, int]) -> sqlite3.Connection | None:
        with self._lock:
            # connections to a file that was exchanged lead nowhere
            stale = [db for known, db in self._idle if known != file]
            self._idle = [entry for entry in self._idle if entry[0] == file]
            taken = self._idle.pop()[1] if self._idle else None
        for db in stale:
            db.close()
        return taken

    def _give_back(self, file: tuple[int, int], db: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append((file, db))
                return
        db.close()
