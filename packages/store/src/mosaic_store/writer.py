"""The store's only writer: the recorder."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from mosaic_contracts.shipper_messages import SourceMark
from mosaic_contracts.store_upkeep import StoreSpace
from mosaic_store.batch import StoredBatch
from mosaic_store.database import Migration, lock_store, make_folder, open_for_writing
from mosaic_store.errors import StoreReplaced, StoreWriteFailed
from mosaic_store.files import rebuild
from mosaic_store.ingest import Ingest, Quarantined
from mosaic_store.known_thinning import (
    BEFORE_ALL,
    EpisodePlace,
    KnownThinningStep,
    known_thinning_step,
)
from mosaic_store.marks import read_marks
from mosaic_store.prune import PruneStep, prune_step
from mosaic_store.space import read_space
from mosaic_store.thin import ThinStep, thin_step

_PAGES_GIVEN_BACK = 500
"""Pages that one call moves to the front of the file: about 2 MB."""


class LogCheckpoint(NamedTuple):
    """What a checkpoint of the write-ahead log did, as SQLite says."""

    busy: bool
    """Whether somebody held it back: a reader that waits in an older state, or another checkpoint."""
    frames: int
    """Pages in the log; -1: there is no log."""
    done: int
    """Pages of the log that are in the file."""


class StreamCursor(NamedTuple):
    """How far the broker's stream is in the store."""

    incarnation: str
    """The stream's `created` time: another one starts at its first message."""
    seq: int
    """Stream sequence of the last message in the store."""


class Writer:
    """One connection; not for several threads at once."""

    def __init__(self, path: Path, db: sqlite3.Connection, lock: int) -> None:
        self.path = path
        self._db = db
        self._lock = lock
        stat = path.stat()
        self._file = (stat.st_dev, stat.st_ino)

    def close(self) -> None:
        """Close the file and give the lock back."""
        self._db.close()
        os.close(self._lock)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def cursor(self) -> StreamCursor | None:
        """Cursor of the last transaction; None for a store that never took a batch."""
        row = self._db.execute("SELECT incarnation, seq FROM stream_cursor").fetchone()
        return StreamCursor(*row) if row else None

    def apply(
        self,
        batches: Sequence[StoredBatch],
        cursor: StreamCursor,
        quarantine: Sequence[Quarantined] = (),
    ) -> list[str]:
        """Store batches, messages set aside and the cursor in one transaction.

        What is in the store already is left out, so that a batch may come any number of times, in any
        order, with any bounds.

        Returns:
            Ids of the runs that were touched, also by what was there already.

        Raises:
            StoreWriteFailed: nothing of it was stored; try again with the same or from `cursor()`.
        """
        with self._transaction():
            ingest = Ingest(self._db)
            for stored in batches:
                ingest.add(stored)
            for poison in quarantine:
                ingest.set_aside(poison)
            ingest.finish()
            self._db.execute(
                "INSERT INTO stream_cursor VALUES (1,?,?) ON CONFLICT (id) DO UPDATE SET"
                " incarnation=excluded.incarnation, seq=excluded.seq",
                cursor,
            )
        return ingest.run_ids

    def marks(self, run_id: str) -> list[SourceMark]:
        """How far each source of a run is in the store; empty for a run that is not in it."""
        return read_marks(self._db, run_id)

    def space(self) -> StoreSpace:
        """Size of the store's file and log.

        Raises:
            StoreWriteFailed: the file cannot be read.
        """
        try:
            return read_space(self._db, self.path)
        except sqlite3.Error as error:
            raise StoreWriteFailed(f"cannot read the size of {self.path}: {error}") from error

    def prune_some(self, run_id: str) -> PruneStep:
        """Delete a part of a run, or give freed pages back to the file system, in one small transaction.

        Call it again until it says `done`.

        Raises:
            StoreWriteFailed: this part was not deleted.
        """
        with self._transaction():
            step = prune_step(self._db, run_id)
        return step._replace(done=step.done and self._shrink())

    def prune(self, run_id: str) -> int:
        """Delete a run's rows and return the bytes that were freed in the file."""
        freed, done = 0, False
        while not done:
            step = self.prune_some(run_id)
            freed, done = freed + step.freed_bytes, step.done
        return freed

    def thin(self, run_id: str, every: int, rule: str) -> ThinStep:
        """Remove steps of ended episodes of a run as `thin_some` does, to the end."""
        total = ThinStep(0, 0, 0, done=False)
        while not total.done:
            total = total.plus(self.thin_some(run_id, every, rule))
        return total

    def thin_some(self, run_id: str, every: int, rule: str) -> ThinStep:
        """Remove steps of ended episodes from a part of a run, and give freed pages back, in small transactions.

        Call it again until it says `done`. It goes on where the last call, of any process, was.

        Args:
            run_id: a run that has ended.
            every: steps stay of episodes whose number is a multiple of it; 0: of none.
            rule: what asked for it.

        Raises:
            StoreWriteFailed: this part is as it was.
        """
        with self._transaction():
            step = thin_step(self._db, run_id, every, rule, time.time_ns() // 1000)
        if step.done:
            return step._replace(done=self._shrink())
        if self._free_pages() >= _PAGES_GIVEN_BACK:
            self.give_back_pages()
        return step

    def note_known_thinning(self, run_id: str, steps: int, rule: str) -> bool:
        """Count what is missing of an imported run as `note_some_known_thinning` does, to the end.

        Returns:
            Whether that was done; not where another number of events is missing.
        """
        step = self.note_some_known_thinning(run_id, steps, rule, BEFORE_ALL)
        while not step.done:
            step = self.note_some_known_thinning(run_id, steps, rule, step.after)
        return step.is_known

    def note_some_known_thinning(
        self, run_id: str, steps: int, rule: str, after: EpisodePlace | None
    ) -> KnownThinningStep:
        """Count a part of what is missing of an imported run as steps that another store had thinned.

        Call it again until it says `done`. After a kill in between, begin from the beginning.

        Args:
            run_id: a run all of whose events have come.
            steps: how many were thinned there.
            rule: what asked for it there.
            after: `BEFORE_ALL`, then what the step before says.

        Raises:
            StoreWriteFailed: this part is as it was.
        """
        with self._transaction():
            return known_thinning_step(self._db, run_id, steps, rule, time.time_ns() // 1000, after)

    def checkpoint(self, truncate: bool = False) -> LogCheckpoint:
        """Copy the write-ahead log into the file as far as readers let it. It waits for nobody.

        Args:
            truncate: also shrink the log to nothing, unless a reader or the copying of its last part forbids it.

        Raises:
            StoreWriteFailed: the file cannot be written.
        """
        try:
            wait_ms = self._db.execute("PRAGMA busy_timeout").fetchone()[0]
            self._db.execute("PRAGMA busy_timeout = 0")
            try:
                mode = "TRUNCATE" if truncate else "PASSIVE"
                row = self._db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                self._db.execute(f"PRAGMA busy_timeout = {wait_ms}")
        except sqlite3.Error as error:
            raise StoreWriteFailed(f"cannot write the log into {self.path}: {error}") from error
        return LogCheckpoint(bool(row[0]), row[1], row[2])

    def give_back_pages(self) -> bool:
        """Shrink the file by some free pages; True when there are no more, or the file cannot shrink.

        Raises:
            StoreWriteFailed: the file cannot be written.
        """
        try:
            free = self._free_pages()
            # executescript, for execute would take only the first of the statement's empty rows: one page
            self._db.executescript(f"PRAGMA incremental_vacuum({_PAGES_GIVEN_BACK})")
            left = self._free_pages()
        except sqlite3.Error as error:
            raise StoreWriteFailed(f"cannot shrink {self.path}: {error}") from error
        # a file without incremental vacuum keeps them
        return left == 0 or left >= free

    def rebuild_files(self) -> None:
        """Make the rows of files and of their evaluations again from the stored events.

        Raises:
            StoreWriteFailed: they are as they were.
        """
        with self._transaction():
            rebuild(self._db)

    def check_in_place(self) -> None:
        """Find out whether the path still leads to the open file.

        Raises:
            StoreReplaced: nobody would see what is written now; open the store again.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError as error:
            raise StoreReplaced(f"{self.path} was deleted while it was open") from error
        if (stat.st_dev, stat.st_ino) != self._file:
            raise StoreReplaced(f"{self.path} was exchanged for another file while it was open")

    def _shrink(self) -> bool:
        """Give some free pages back; True when there are no more. Then the file is as small as readers let it be."""
        done = self.give_back_pages()
        if done:
            self.checkpoint(truncate=True)
        return done

    def _free_pages(self) -> int:
        return int(self._db.execute("PRAGMA freelist_count").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._db.execute("BEGIN IMMEDIATE")
            yield
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            raise StoreWriteFailed(f"cannot write {self.path}: {error}") from error
        finally:
            # a failed COMMIT leaves the transaction open; SQLite may have rolled back by itself
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def open_writer(
    path: Path, *, copy: bool = True, on_migration: Callable[[Migration], None] | None = None
) -> Writer:
    """Open or create the store; there is one writer at a time.

    Args:
        path: the store's file.
        copy: whether an older store is copied before it is brought to this version; the copy goes when that succeeded.
        on_migration: called before an older store is copied and migrated, which may take minutes.

    Raises:
        StoreLocked, StoreForeign, StoreWalRefused, StoreWriteFailed: see `mosaic_store.errors`.
    """
    path = path.absolute()
    make_folder(path)
    lock = lock_store(path)
    try:
        return Writer(path, open_for_writing(path, copy=copy, on_migration=on_migration), lock)
    except BaseException:
        os.close(lock)
        raise
