"""Following a run from an event loop. The same as `live_sync`, awaited."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, aclosing

from websockets.asyncio.client import ClientConnection, connect

from mosaic_client.connection import (
    LIVE_ERRORS,
    SNAPSHOT_TIMEOUT_S,
    live_options,
    refusal,
)
from mosaic_client.deadline import time_limit
from mosaic_client.faults import unreachable
from mosaic_client.live import (
    BEHIND_S,
    FILL_PAGE,
    FILL_PATIENCE_S,
    ConnectionLost,
    FollowState,
    LiveItem,
    ServiceAway,
)
from mosaic_client.location import Location
from mosaic_client.patience import BoundedBackoff
from mosaic_contracts.live import Missed, RunChanged
from mosaic_contracts.runs import EventPage

ReadPage = Callable[[str, str, int, list[str] | None], Awaitable[EventPage]]


async def follow(
    location: Location, follower: FollowState, read_page: ReadPage, patience_s: float
) -> AsyncGenerator[LiveItem, None]:
    """Yield what happens in a run until it is final and every stored event was yielded.

    A caller that leaves earlier closes this generator, and with it the connection (`contextlib.aclosing`).

    Raises:
        MosaicProblem: refused.
        StackUnreachable: the connection did not come back within `patience_s`.
    """
    backoff = BoundedBackoff(patience_s)
    while not follower.ended:
        try:
            async with aclosing(_connection(location, follower, read_page)) as items:
                async for item in items:
                    backoff.reset()
                    yield item
            continue
        except (*LIVE_ERRORS, ServiceAway) as failure:
            error = failure
        if (final := refusal(location, error)) is not None:
            raise final from error
        at_least_s = error.problem.retry_after_s or 0.0 if isinstance(error, ServiceAway) else 0.0
        delay_s = backoff.delay(time.monotonic(), at_least_s)
        if delay_s is None:
            raise unreachable(location, error) from error
        yield ConnectionLost(str(error) or type(error).__name__, delay_s)
        await asyncio.sleep(delay_s)


async def _connection(
    location: Location, follower: FollowState, read_page: ReadPage
) -> AsyncGenerator[LiveItem, None]:
    async with (
        connect(location.live_url, **live_options(location)) as socket,
        AsyncExitStack() as others,
    ):
        await socket.send(follower.subscription())
        timeout_s: float | None = SNAPSHOT_TIMEOUT_S
        states: ClientConnection | None = None
        drained_at = time.monotonic()
        while not follower.ended:
            raw = await _waiting(socket)
            if raw is None:
                async with time_limit(timeout_s):
                    raw = await socket.recv()
                drained_at = time.monotonic()
            elif states is None and time.monotonic() - drained_at > BEHIND_S:
                opening = connect(location.live_url, **live_options(location))
                states = await others.enter_async_context(opening)
                await states.send(follower.states_subscription())
            if states is not None and (state := await _newest_state(states, follower)) is not None:
                yield state
            item = follower.take(raw)
            if isinstance(item, Missed):
                async with aclosing(_fill(follower, item, read_page)) as pages:
                    async for filled in pages:
                        yield filled
            elif item is not None:
                timeout_s = None  # from here on pings show whether the peer lives
                yield item


async def _waiting(socket: ClientConnection) -> str | bytes | None:
    """A frame that has come already."""
    try:
        async with time_limit(0):
            return await socket.recv()
    except TimeoutError:
        return None


async def _newest_state(states: ClientConnection, follower: FollowState) -> RunChanged | None:
    """The newest state of the run, if one has come since the last."""
    newest = None
    while (raw := await _waiting(states)) is not None:
        newest = follower.take_state(raw) or newest
    return newest


async def _fill(
    follower: FollowState, missed: Missed, read_page: ReadPage
) -> AsyncGenerator[LiveItem, None]:
    backoff = BoundedBackoff(FILL_PATIENCE_S)
    while follower.is_behind(missed.to_cursor):
        page = await read_page(
            follower.run_id, follower.cursor or "", FILL_PAGE, follower.store_types
        )
        events = follower.take_page(page)
        if events is not None:
            backoff.reset()
            yield events
        if not page.has_more and follower.is_behind(missed.to_cursor):
            delay_s = backoff.delay(time.monotonic())
            if delay_s is None:
                yield missed
                return
            await asyncio.sleep(delay_s)
