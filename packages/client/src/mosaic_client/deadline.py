"""`time_limit`: `asyncio.timeout`, which Python 3.10 lacks, and which may lose a Ctrl-C."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

if sys.version_info >= (3, 11):

    @asynccontextmanager
    async def time_limit(delay: float | None) -> AsyncIterator[None]:
        """Raise TimeoutError when the block takes longer than `delay` seconds; None: never.

        Ctrl-C cancels a task in the middle of its own code, and the task learns of it when it waits next. If that is
        in a block whose time is over at the same moment, `asyncio.timeout` would take the one for the other.
        """
        task = asyncio.current_task()
        before = 0 if task is None else task.cancelling()
        if before:
            await asyncio.sleep(0)  # raises what the task has not learned of
        try:
            async with asyncio.timeout(delay):
                yield
        except TimeoutError:
            if task is not None and task.cancelling() > before:
                raise asyncio.CancelledError from None
            raise

else:
    import async_timeout  # type: ignore[import-not-found] # installed on 3.10 alone

    @asynccontextmanager
    async def time_limit(delay: float | None) -> AsyncIterator[None]:
        """Raise TimeoutError when the block takes longer than `delay` seconds; None: never."""
        try:
            async with async_timeout.timeout(delay):
                yield
        except asyncio.TimeoutError as error:
            raise TimeoutError from error


__all__ = ["time_limit"]
