"""Upkeep of the store while it records: deletions, thinning, checkpoints of the log, free pages back to the disk.

Everything is done in short steps in the store's thread. While events come, the store rests between two steps, so that
upkeep takes a quarter of its time at most.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from mosaic_contracts.store_upkeep import KnownThinning, ThinRequest, WalCheckpoint
from mosaic_recorder.store_thread import StoreThread
from mosaic_servicekit.logging import get_log
from mosaic_store import (
    BEFORE_ALL,
    EpisodePlace,
    KnownThinningStep,
    LogCheckpoint,
    StoreError,
    ThinStep,
    Writer,
)

INTERVAL_S = 30.0
"""Between two looks at the log and at the free pages."""
FREE_BYTES = 64 * 2**20
"""Free bytes in the file that are left for events to come; more than that an interrupted deletion left behind."""
WAL_BYTES = 4 * 2**20
"""Size of the log above which it is shrunk once nothing has been recorded for an interval."""
_BUSY_S = 1.0
"""Events are coming when the newest commit is not older."""
_REST = 3.0
"""Rest after a step, in durations of the step."""
_MOST_FRAMES = 25_000
"""Pages in the log, about 100 MB, that a reader may hold back without a warning."""

T = TypeVar("T")


class Upkeep:
    """Jobs of upkeep, and the loop that looks after log and file."""

    def __init__(self, store: StoreThread, interval_s: float = INTERVAL_S) -> None:
        self.checkpoint: WalCheckpoint | None = None
        """The newest one."""
        self._store = store
        self._interval_s = interval_s
        self._seen = store.committed_at

    async def prune(self, run_id: str) -> int:
        """Delete a run, between commits, and return the bytes freed. Raises StoreError."""
        freed, done = 0, False
        while not done:
            step = await self._step(lambda writer: writer.prune_some(run_id))
            freed, done = freed + step.freed_bytes, step.done
        return freed

    async def thin(self, request: ThinRequest) -> ThinStep:
        """Remove steps for as long as the request allows; the sum of what was done. Raises StoreError."""
        end = time.monotonic() + request.within_s
        total = ThinStep(0, 0, 0, done=False)
        while True:
            step = await self._step(
                lambda writer: writer.thin_some(request.run_id, request.every, request.rule)
            )
            total = total.plus(step)
            if total.done or time.monotonic() >= end:
                return total

    async def note_known_thinning(self, run_id: str, thinning: KnownThinning) -> bool:
        """Count what is missing of an imported run as thinned steps; whether that was done. Raises StoreError."""
        after: EpisodePlace | None = BEFORE_ALL
        while True:
            step = await self._step(self._known_thinning(run_id, thinning, after))
            if step.done:
                return step.is_known
            after = step.after

    def _known_thinning(
        self, run_id: str, thinning: KnownThinning, after: EpisodePlace | None
    ) -> Callable[[Writer], KnownThinningStep]:
        return lambda writer: writer.note_some_known_thinning(
            run_id, thinning.steps, thinning.rule, after
        )

    async def run(self) -> None:
        """Look after log and file for ever."""
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self.look()
            except StoreError as error:
                get_log().warning("store.upkeep_failed", error=str(error))

    async def look(self) -> None:
        """Bring the log into the file, and give back what an interrupted job left free. Raises StoreError."""
        committed_at = self._store.committed_at
        is_quiet, self._seen = committed_at == self._seen, committed_at
        space = await self._store.work(lambda writer: writer.space())
        if not is_quiet or space.wal_bytes > WAL_BYTES:
            self._note(await self._store.work(lambda writer: writer.checkpoint(truncate=is_quiet)))
        while space.can_shrink and space.free_bytes > FREE_BYTES:
            done = await self._step(lambda writer: writer.give_back_pages())
            space = await self._store.work(lambda writer: writer.space())
            if done:
                break

    async def _step(self, step: Callable[[Writer], T]) -> T:
        began = time.monotonic()
        result = await self._store.work(step)
        ended = time.monotonic()
        if ended - self._store.committed_at < _BUSY_S:
            await asyncio.sleep(_REST * (ended - began))
        return result

    def _note(self, done: LogCheckpoint) -> None:
        self.checkpoint = WalCheckpoint(
            at=datetime.now(UTC), busy=done.busy, frames=max(0, done.frames), done=max(0, done.done)
        )
        get_log().info("store.checkpoint", busy=done.busy, frames=done.frames, done=done.done)
        if done.frames - done.done > _MOST_FRAMES:
            get_log().warning("store.log_held_back", frames=done.frames, done=done.done)
