"""The recorder's loop: stream into store, cursor in the store's transaction, stream purged behind it."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any

from nats.errors import Error as NatsError
from nats.js.errors import NotFoundError

from mosaic_contracts import subjects
from mosaic_contracts.shipper_messages import Committed
from mosaic_recorder.disk import DiskGuard
from mosaic_recorder.errors import ConsumerLost, DiskReserveReached, StreamMoved
from mosaic_recorder.puller import Puller
from mosaic_recorder.store_thread import Commit, StoreThread
from mosaic_recorder.stream import BrokerStream, StreamState, read_start
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.bus_errors import BrokerUnavailable
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to
from mosaic_store import StoreError, StoreForeign, StoreReplaced, StoreWalRefused

INTERVAL_S = 0.25
"""Between two `committed` messages of one run."""
COMMIT_INTERVAL_S = 0.05
ENOUGH_BYTES = 2 * 2**20
"""So much is committed at once, without waiting for the interval."""
_CARE_INTERVAL_S = 1.0
"""Between looks at stream, disk and file, and between purges."""
_RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Pauses between sessions that fail one after the other; the last one stays."""


_NO_BROKER = "the broker cannot be reached"


@dataclass(slots=True)
class Condition:
    """What the recorder says of itself."""

    cursor: int = 0
    stream_last: int = 0
    reason: str | None = "starting"
    """Why nothing is taken; None: all is well."""
    healed: int = 0


class Announcer:
    """Decides which runs' marks are published: at most four times a second a run, and always after its last change."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._published_at: dict[str, float] = {}
        self._waiting: set[str] = set()

    def note(self, run_ids: Iterable[str]) -> None:
        """Note runs that a commit changed."""
        self._waiting.update(run_ids)

    def take_due(self, last_call: bool = False) -> list[str]:
        """Return the runs whose marks are due, and record them as published. `last_call`: all that wait."""
        now = self._clock()
        self._forget(now)
        due = [run for run in self._waiting if last_call or run not in self._published_at]
        self._waiting.difference_update(due)
        self._published_at |= dict.fromkeys(due, now)
        return due

    def _forget(self, now: float) -> None:
        over = [
            run
            for run, published_at in self._published_at.items()
            if now - published_at >= INTERVAL_S
        ]
        for run in over:
            del self._published_at[run]


class Recorder:
    """Runs until `stop` is set. Broker, store and disk may come and go; nothing but `stop` ends it."""

    def __init__(self, bus: Bus, store: StoreThread, guard: DiskGuard, stop: asyncio.Event) -> None:
        self.condition = Condition()
        self._bus = bus
        self._store = store
        self._guard = guard
        self._stop = stop
        self._stream = BrokerStream(bus)
        self._announcer = Announcer(time.monotonic)
        self._failures = 0
        self._cared_at = 0.0
        self._purged = 0
        self._advanced = asyncio.Event()
        """Set when the store is further; then another one takes its place."""

    async def open_store(self) -> None:
        """Open the store before anything else, so that a store that can never be used is reported at once.

        Raises:
            StoreForeign, StoreWalRefused: as said.
        """
        try:
            await self._store.open()
        except StoreError as error:
            if is_final(error):
                raise
            self._note(str(error), error)

    async def run(self) -> None:
        """Read sessions one after the other until asked to stop.

        Raises:
            StoreForeign, StoreWalRefused: the store can never be used as it is.
        """
        while await self._wait_connected():
            try:
                await self._session()
            except (ConsumerLost, StreamMoved, NotFoundError) as error:
                self._note(None, error)
            except (BrokerUnavailable, NatsError, TimeoutError) as error:
                self._note(_NO_BROKER, error)
            except StoreReplaced as error:
                await self._store.close()
                self._note(str(error), error)
            except DiskReserveReached as error:
                self._note(str(error), error)
            except StoreError as error:
                if is_final(error):
                    raise
                self._note(str(error), error)
            await self._pause()
        await self._finish()

    async def wait_stored(self, stream_seq: int, timeout_s: float) -> int:
        """Wait until the store has a message of the stream, or until the time is over. Return how far the store is."""
        deadline = time.monotonic() + timeout_s
        while self.condition.cursor < stream_seq:
            if not await wait_up_to(self._advanced, max(0.0, deadline - time.monotonic())):
                break
        return self.condition.cursor

    async def _session(self) -> None:
        cursor = await self._store.open()
        state = await self._stream.ensure(self._guard.room_for_stream())
        start = read_start(cursor, state)
        position = max(start.seq, state.first) - 1
        self._see(position, state)
        self._guard.check()
        if not await self._stream.is_writable(position):
            await self._stream.replace()
            raise StreamMoved(
                "the broker could not write to its stream any more; it was created again"
            )
        if start.healed is not None:
            get_log().warning("stream.healed", why=start.healed, cursor=cursor)
            self.condition.healed += 1
        await self._stream.place_consumer(start.seq)
        self.condition.reason = None
        self._purged = 0
        puller = Puller(self._bus)
        await puller.start()
        get_log().info("session.started", start=start.seq, stream_last=state.last)
        try:
            await self._read(puller, state, position)
        finally:
            await puller.close()

    async def _read(self, puller: Puller, state: StreamState, position: int) -> None:
        committed_at = 0.0
        while not self._stop.is_set():
            gather_s = max(0.0, committed_at + COMMIT_INTERVAL_S - time.monotonic())
            arrivals = await puller.take(INTERVAL_S, ENOUGH_BYTES, gather_s)
            if arrivals:
                committed_at = time.monotonic()
                for commit in await self._store.commit(arrivals, state.incarnation):
                    self._report(commit)
                position = arrivals[-1].stream_seq
                self._failures = 0
                self.condition.cursor = position
                self.condition.stream_last = position + puller.pending
                self._note_advanced()
            await self._announce()
            if time.monotonic() - self._cared_at >= _CARE_INTERVAL_S:
                await self._care(state, position)

    async def _care(self, state: StreamState, position: int) -> None:
        """What is looked after once a second."""
        self._cared_at = time.monotonic()
        self._guard.check()
        await self._store.check_in_place()
        now = await self._stream.state()
        if now.incarnation != state.incarnation:
            raise StreamMoved("the broker's stream was created again, or the broker was restarted")
        if now.last < position:
            raise StreamMoved(f"the stream went back from {position} to {now.last}")
        self._see(position, now)
        if position > self._purged and position >= now.first:
            # never beyond what this session has in the store
            await self._stream.purge(position)
            self._purged = position

    async def _announce(self, last_call: bool = False) -> None:
        due = self._announcer.take_due(last_call)
        if not due:
            return
        for run_id, marks in (await self._store.marks(due)).items():
            told = Committed(run_id=run_id, marks=marks)
            await self._bus.publish(subjects.committed(run_id), told.model_dump_json().encode())

    def _report(self, commit: Commit) -> None:
        self._announcer.note(commit.run_ids)
        if commit.quarantined:
            first = commit.quarantined[0]
            get_log().warning(
                "batch.set_aside",
                count=len(commit.quarantined),
                subject=first.subject,
                stream_seq=first.stream_seq,
                reason=first.reason[:500],
            )

    def _note(self, reason: str | None, error: Exception) -> None:
        """Say why a session ended: once, however often it fails."""
        if self._failures == 0 or self.condition.reason != reason:
            get_log().warning("session.ended", reason=reason, error=repr(error))
        self._failures += 1
        self.condition.reason = reason

    def _see(self, position: int, stream: StreamState) -> None:
        """Report how far the store is. What the stream no longer holds is not waiting to be read."""
        self.condition.cursor = max(position, stream.first - 1)
        self.condition.stream_last = stream.last
        self._note_advanced()

    def _note_advanced(self) -> None:
        advanced, self._advanced = self._advanced, asyncio.Event()
        advanced.set()

    async def _wait_connected(self) -> bool:
        """Wait for the broker; False when asked to stop."""
        if not self._bus.connected.is_set():
            self.condition.reason = _NO_BROKER
            await self._wait_stop(None, self._bus.connected.wait())
        return not self._stop.is_set()

    async def _pause(self) -> None:
        """Wait before the next session when the last one failed."""
        if self._failures:
            await self._wait_stop(_RETRY_S[min(self._failures, len(_RETRY_S)) - 1])

    async def _wait_stop(self, seconds: float | None, *others: Coroutine[Any, Any, Any]) -> None:
        """Wait until asked to stop, for `seconds`, or until one of `others` is done."""
        wakers = [asyncio.ensure_future(work) for work in (self._stop.wait(), *others)]
        await asyncio.wait(wakers, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for waker in wakers:
            waker.cancel()

    async def _finish(self) -> None:
        if self._bus.connected.is_set():
            await self._announce(last_call=True)
        await self._store.close()
        get_log().info("recorder.stopped", cursor=self.condition.cursor)


def is_final(error: StoreError) -> bool:
    """Whether trying again is of no use."""
    return isinstance(error, StoreForeign | StoreWalRefused)
