"""Reading the store without ever blocking the event loop: a few threads, and a bound on every read.

The gateway reads the recorder's file directly, so history is there while scheduler and broker are not.
"""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from mosaic_contracts.runs import SourceMark
from mosaic_gateway.errors import store_unavailable
from mosaic_store import Reader, ReadTooSlow, StoreForeign, StoreMissing, StoreOutdated, open_reader

READ_TIMEOUT_S = 5.0
"""The slowest query that belongs here takes tenths of a second. The store interrupts a query that takes longer, so
that one which is given up does not keep its thread."""

T = TypeVar("T")


class History:
    """Reads on `threads` threads; more wait in line, within the same bound."""

    def __init__(self, path: Path, threads: int, timeout_s: float = READ_TIMEOUT_S) -> None:
        self._name = path.name
        self._timeout_s = timeout_s
        self._reader = open_reader(path, timeout_s)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="history")

    async def read(self, work: Callable[[Reader], T], absent: T, *, is_whole: bool = False) -> T:
        """Run `work` in a thread and return what it returns; `absent` while there is no store yet.

        With `is_whole`, a store that is there and cannot be read yet is an error: an export would take
        `absent` for all events of a run.

        `work` may raise the store's errors about what it looks for (MetricUnknown, EpisodeUnknown) and ValueError.

        Raises:
            ProblemError: `store_unavailable`; the read took too long or the file cannot be read.
        """
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._timeout_s):
                return await loop.run_in_executor(self._pool, work, self._reader)
        except (TimeoutError, ReadTooSlow):
            raise store_unavailable(
                f"A read took longer than {self._timeout_s:g} s. Request less data at once."
            ) from None
        except StoreMissing as error:
            if is_whole and isinstance(error, StoreOutdated):
                raise store_unavailable(f"{error}. Try again in a moment.") from error
            return absent
        except (StoreForeign, sqlite3.Error) as error:
            raise store_unavailable(f"{self._name}: {error}.") from error

    async def marks(self, run_id: str) -> list[SourceMark]:
        """How far a run's sources are in the store. Raises ProblemError."""
        nothing: list[SourceMark] = []
        return await self.read(lambda reader: reader.marks(run_id), nothing)

    async def close(self) -> None:
        """Wait for what runs and close the reader."""
        await asyncio.to_thread(self._pool.shutdown, True, cancel_futures=True)
        self._reader.close()
