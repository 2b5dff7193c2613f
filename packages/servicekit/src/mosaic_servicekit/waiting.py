"""A wait that ends with an event or after a time, whichever comes first."""

import asyncio


async def wait_up_to(event: asyncio.Event, timeout_s: float | None) -> bool:
    """Wait for an event, or until the time is over.

    Args:
        event: what is waited for.
        timeout_s: longest wait in seconds; None: without limit.

    Returns:
        Whether the event is set.
    """
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return event.is_set()
    return True
