"""Waiting for an event with a limit."""

import asyncio

from mosaic_servicekit.waiting import wait_up_to


async def test_the_wait_ends_with_the_event() -> None:
    """True, without waiting for the limit."""
    event = asyncio.Event()
    asyncio.get_running_loop().call_soon(event.set)
    assert await wait_up_to(event, 3600)


async def test_the_wait_ends_at_the_limit() -> None:
    """False: nothing is raised where the event does not come."""
    assert not await wait_up_to(asyncio.Event(), 0.001)


async def test_no_limit_waits_for_the_event() -> None:
    """None is no limit."""
    event = asyncio.Event()
    asyncio.get_running_loop().call_later(0.001, event.set)
    assert await wait_up_to(event, None)
