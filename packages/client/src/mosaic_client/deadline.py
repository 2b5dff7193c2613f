"""`time_limit`: `asyncio.timeout`, which Python 3.10 lacks."""

import sys

if sys.version_info >= (3, 11):
    from asyncio import timeout as time_limit
else:
    import asyncio
    from collections.abc import AsyncIterator
    from contextlib import asynccontextmanager

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
