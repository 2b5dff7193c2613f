"""A time limit ends a wait, and hides no cancellation."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from mosaic_client.deadline import time_limit


def cancel_self() -> None:
    """Cancel the task in the middle of its own code, as a Ctrl-C does."""
    task = asyncio.current_task()
    assert task is not None
    task.cancel()


async def before() -> None:
    """Cancelled before the block."""
    cancel_self()
    async with time_limit(0):
        await asyncio.Event().wait()


async def inside() -> None:
    """Cancelled in the block, before it waits."""
    async with time_limit(0):
        cancel_self()
        await asyncio.Event().wait()


@pytest.mark.parametrize("act", [before, inside])
async def test_a_cancellation_at_the_end_of_the_time_is_no_timeout(
    act: Callable[[], Awaitable[None]],
) -> None:
    """The task ends; else a Ctrl-C would be lost, and the program would go on."""
    task = asyncio.ensure_future(act())
    await asyncio.wait([task])
    assert task.cancelled()


async def test_a_wait_that_is_too_long_is_a_timeout() -> None:
    """Without a cancellation."""
    with pytest.raises(TimeoutError):
        async with time_limit(0):
            await asyncio.Event().wait()


async def test_a_cancelled_task_may_wait_with_a_limit_while_it_cleans_up() -> None:
    """Its cancellation was raised before, so that a time that is over is a timeout."""
    over = asyncio.Event()

    async def cleans_up() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            try:
                async with time_limit(0):
                    await asyncio.Event().wait()
            except TimeoutError:
                over.set()
            raise

    task = asyncio.ensure_future(cleans_up())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    assert over.is_set()
    assert task.cancelled()


async def test_no_limit_is_no_limit() -> None:
    """None waits as long as it takes."""
    async with time_limit(None):
        await asyncio.sleep(0)
