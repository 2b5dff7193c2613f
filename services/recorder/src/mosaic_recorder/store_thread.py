"""The store's writer in a thread of its own, so that heartbeats of the connection go on while SQLite works."""

import asyncio
import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple, TypeVar

from mosaic_contracts.shipper_messages import SourceMark
from mosaic_recorder.decode import Arrival, decode
from mosaic_servicekit.logging import get_log
from mosaic_store import (
    Migration,
    Quarantined,
    StoredBatch,
    StreamCursor,
    Writer,
    open_writer,
)

RAW_BYTES_PER_COMMIT = 16 * 2**20
"""Unpacked bytes of one transaction: small frames may unpack to far more than was pulled."""

T = TypeVar("T")


class Commit(NamedTuple):
    """What one transaction did."""

    cursor: StreamCursor
    events: int
    run_ids: list[str]
    quarantined: list[Quarantined]


class StoreThread:
    """Opens, fills and closes the store; every call runs in the one thread, in order."""

    def __init__(self, path: Path, *, migration_copy: bool = True) -> None:
        self.path = path
        self._migration_copy = migration_copy
        self.committed_at = -math.inf
        """Monotonic time of the newest commit."""
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._writer: Writer | None = None

    async def open(self) -> StreamCursor | None:
        """Open the store unless it is open, and return its cursor. Raises what `open_writer` raises."""
        return await self._call(self._open)

    async def commit(self, arrivals: Sequence[Arrival], incarnation: str) -> list[Commit]:
        """Store messages, with the cursor at the last of them, in as few transactions as their size allows.

        Raises:
            StoreWriteFailed: the cursor says how much of it is in the store.
        """
        commits = await self._call(lambda: self._commit(arrivals, incarnation))
        self.committed_at = time.monotonic()
        return commits

    async def marks(self, run_ids: Sequence[str]) -> dict[str, list[SourceMark]]:
        """Marks of runs."""
        return await self._call(lambda: {run: self._open_writer().marks(run) for run in run_ids})

    async def check_in_place(self) -> None:
        """Raise StoreReplaced when the file was deleted or exchanged; `close` and `open` then create it again."""
        await self._call(lambda: self._open_writer().check_in_place())

    async def work(self, step: Callable[[Writer], T]) -> T:
        """Do one short step of upkeep between two commits. Raises what `step` raises."""
        return await self._call(lambda: step(self._open_writer()))

    async def close(self) -> None:
        """Finish what runs and close the store."""
        await self._call(self._close)

    def stop(self) -> None:
        """End the thread."""
        self._thread.shutdown()

    async def _call(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _open(self) -> StreamCursor | None:
        return self._open_writer().cursor()

    def _open_writer(self) -> Writer:
        if self._writer is None:
            copy = self._migration_copy
            self._writer = open_writer(self.path, copy=copy, on_migration=_log_migration)
        return self._writer

    def _close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _commit(self, arrivals: Sequence[Arrival], incarnation: str) -> list[Commit]:
        commits: list[Commit] = []
        batches: list[StoredBatch] = []
        poison: list[Quarantined] = []
        raw_bytes = 0
        now_us = time.time_ns() // 1000
        for arrival in arrivals:
            read = decode(arrival, now_us)
            if isinstance(read, Quarantined):
                poison.append(read)
            else:
                batches.append(read)
                raw_bytes += read.raw_bytes
            if raw_bytes > RAW_BYTES_PER_COMMIT or arrival is arrivals[-1]:
                cursor = StreamCursor(incarnation, arrival.stream_seq)
                run_ids = self._open_writer().apply(batches, cursor, poison)
                events = sum(len(stored.batch.records) for stored in batches)
                commits.append(Commit(cursor, events, run_ids, poison))
                batches, poison, raw_bytes = [], [], 0
        return commits


def _log_migration(migration: Migration) -> None:
    get_log().info(
        "store.migrates",
        path=str(migration.path),
        from_version=migration.from_version,
        to_version=migration.to_version,
        copy=None if migration.copy is None else str(migration.copy),
        file_bytes=migration.file_bytes,
    )
