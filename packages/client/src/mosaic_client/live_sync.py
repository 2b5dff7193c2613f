"""Following a run from a plain thread."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

from websockets.sync.client import ClientConnection, connect

from mosaic_client.connection import (
    LIVE_ERRORS,
    SNAPSHOT_TIMEOUT_S,
    live_options,
    refusal,
)
from mosaic_client.faults import unreachable
from mosaic_client.live import (
    BEHIND_S,
    FILL_PAGE,
    FILL_PATIENCE_S,
    ConnectionLost,
    FollowState,
    LiveItem,
    ServiceAway,
    timed_out,
)
from mosaic_client.location import Location
from mosaic_client.patience import BoundedBackoff
from mosaic_contracts.live import Missed, RunChanged
from mosaic_contracts.runs import EventPage

ReadPage = Callable[[str, str, int, list[str] | None], EventPage]


def follow(
    location: Location,
    follower: FollowState,
    read_page: ReadPage,
    patience_s: float,
    ends_at: float | None = None,
) -> Iterator[LiveItem]:
    """Yield what happens in a run until it is final and every stored event was yielded.

    Raises:
        MosaicProblem: refused.
        StackUnreachable: the connection did not come back within `patience_s`.
        WaitTimedOut: nothing more came until `ends_at` (monotonic).
    """
    backoff = BoundedBackoff(patience_s)
    while not follower.ended:
        try:
            for item in _connection(location, follower, read_page, ends_at):
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
        time.sleep(_left_s(follower, ends_at, delay_s))


def _connection(
    location: Location, follower: FollowState, read_page: ReadPage, ends_at: float | None
) -> Iterator[LiveItem]:
    with connect(location.live_url, **live_options(location)) as socket, ExitStack() as others:
        socket.send(follower.subscription())
        timeout_s: float | None = SNAPSHOT_TIMEOUT_S
        states: ClientConnection | None = None
        drained_at = time.monotonic()
        while not follower.ended:
            raw = _waiting(socket)
            if raw is None:
                raw = _receive(socket, timeout_s, follower, ends_at)
                drained_at = time.monotonic()
            elif states is None and time.monotonic() - drained_at > BEHIND_S:
                states = others.enter_context(connect(location.live_url, **live_options(location)))
                states.send(follower.states_subscription())
            if states is not None:
                yield from _newest_state(states, follower)
            item = follower.take(raw)
            if isinstance(item, Missed):
                yield from _fill(follower, item, read_page)
            elif item is not None:
                timeout_s = None  # from here on pings show whether the peer lives
                yield item


def _waiting(socket: ClientConnection) -> str | bytes | None:
    """A frame that has come already."""
    try:
        return socket.recv(timeout=0)
    except TimeoutError:
        return None


def _newest_state(states: ClientConnection, follower: FollowState) -> Iterator[RunChanged]:
    """The newest state of the run, if one has come since the last."""
    newest = None
    while (raw := _waiting(states)) is not None:
        newest = follower.take_state(raw) or newest
    if newest is not None:
        yield newest


def _receive(
    socket: ClientConnection, timeout_s: float | None, follower: FollowState, ends_at: float | None
) -> str | bytes:
    if ends_at is None:
        return socket.recv(timeout=timeout_s)
    try:
        return socket.recv(timeout=_left_s(follower, ends_at, timeout_s))
    except TimeoutError:
        _left_s(follower, ends_at, timeout_s)  # is it the end, or has the peer died?
        raise


def _left_s(follower: FollowState, ends_at: float | None, most_s: float | None) -> float:
    """Seconds until `ends_at`, `most_s` at most."""
    left_s = math.inf if ends_at is None else ends_at - time.monotonic()
    if left_s <= 0:
        raise timed_out(follower.run_id)
    return left_s if most_s is None else min(left_s, most_s)


def _fill(follower: FollowState, missed: Missed, read_page: ReadPage) -> Iterator[LiveItem]:
    backoff = BoundedBackoff(FILL_PATIENCE_S)
    while follower.is_behind(missed.to_cursor):
        page = read_page(follower.run_id, follower.cursor or "", FILL_PAGE, follower.store_types)
        events = follower.take_page(page)
        if events is not None:
            backoff.reset()
            yield events
        if not page.has_more and follower.is_behind(missed.to_cursor):
            delay_s = backoff.delay(time.monotonic())
            if delay_s is None:
                yield missed
                return
            time.sleep(delay_s)  # nothing announces to a client that the store has caught up
