"""Sends the scheduler's events to the stream, again and again until the recorder says that it has them."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError

from mosaic_contracts import wire
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord, SourceMark
from mosaic_contracts.services import Committed, CommittedRequest
from mosaic_contracts.subjects import events as events_subject
from mosaic_scheduler.database import Database
from mosaic_scheduler.runs import outbox
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

RESEND_AFTER_S = 5.0
"""An event that the broker took but the recorder has not committed by then is asked for, and sent again."""
RETRY_S = 1.0
_PAGE = 2000
_PUBLISH_TIMEOUT_S = 2.0

_Key = tuple[str, int]
"""Run id and attempt."""


class EventPublisher:
    """The loop, and what it remembers of the connection of this moment."""

    def __init__(
        self,
        database: Database,
        bus: Bus,
        announce: Callable[[RunRecord], Awaitable[None]],
        events_due: asyncio.Event,
    ) -> None:
        """`events_due`: set when there is a new event."""
        self._database = database
        self._bus = bus
        self._announce = announce
        self._sending = asyncio.Lock()
        self._wake = events_due
        self._acked: dict[_Key, tuple[int, float]] = {}
        """Highest seq that the broker acknowledged and when (monotonic)."""
        self._resends = 0
        self._complained = False
        bus.on_connected(self._start_over)

    async def on_committed(self, committed: Committed) -> None:
        """The recorder says what is in the store. It does so four times a second; only news costs a write."""
        waiting = {attempt for run_id, attempt in self._acked if run_id == committed.run_id}
        for mark in committed.marks:
            if mark.source == wire.SOURCE_SUPERVISOR and mark.attempt in waiting:
                await self._forget(committed.run_id, mark)

    async def run(self) -> None:
        """Publish for ever."""
        while True:
            self._wake.clear()
            await self._bus.connected.wait()
            async with self._sending:
                waiting = await self._publish_all()
            # New events wake the loop; what waits for the recorder or a retry is looked at again soon.
            await wait_up_to(self._wake, RETRY_S if waiting else None)

    async def drop(self, run_id: str) -> None:
        """Send nothing of a run any more. When this returns, nothing of it is on its way to the broker."""
        async with self._sending:
            await self._database.call(outbox.delete_all, run_id)
            self._acked = {key: acked for key, acked in self._acked.items() if key[0] != run_id}

    def _start_over(self) -> None:
        # A broker that came back may have lost what it acknowledged before.
        self._acked.clear()
        self._wake.set()

    async def _publish_all(self) -> bool:
        """Send what is due. Return whether anything is not committed yet."""
        events = await self._database.call(outbox.pending, _PAGE)
        grouped = itertools.groupby(events, lambda event: (event.run_id, event.attempt))
        for key, group in grouped:
            if not await self._publish_run(key, list(group)):
                break  # the next would fare no better; the retry begins with the oldest again
        return bool(events)

    async def _publish_run(self, key: _Key, events: list[outbox.PendingEvent]) -> bool:
        """Return whether broker and recorder did what was asked of them."""
        acked, at = self._acked.get(key, (0, 0.0))
        if acked and time.monotonic() - at > RESEND_AFTER_S:
            if not await self._ask(key[0], events[0].seq):
                return False
            # What the recorder has is deleted by now; the rest goes again, under another Msg-Id: within its
            # duplicate window the broker would swallow the same one, although nothing of it is stored any more.
            self._resends += 1
            acked = 0
        due = [event for event in events if event.seq > acked][: wire.MAX_BATCH_EVENTS]
        if due:
            if not await self._publish(due):
                return False
            self._acked[key] = (due[-1].seq, time.monotonic())
        return True

    async def _forget(self, run_id: str, mark: SourceMark) -> None:
        settled = await self._database.call(
            outbox.delete_committed, run_id, mark.attempt, mark.next_seq
        )
        acked = self._acked.get((run_id, mark.attempt))
        if acked is not None and acked[0] < mark.next_seq:
            del self._acked[(run_id, mark.attempt)]
        if settled is not None:
            await self._announce(settled)

    async def _ask(self, run_id: str, first: int) -> bool:
        """`first`: the oldest that is still here; what came before it may be gone with a lost store."""
        try:
            committed = await self._bus.request(
                "recorder",
                "committed",
                CommittedRequest(run_id=run_id, from_seq=first),
                Committed,
            )
        except ProblemError as error:
            self._complain("recorder.silent", str(error))
            return False
        for mark in committed.marks:
            if mark.source == wire.SOURCE_SUPERVISOR:
                await self._forget(run_id, mark)
        return True

    async def _publish(self, events: list[outbox.PendingEvent]) -> bool:
        head, data = outbox.to_batch(events)
        headers = {
            wire.MSG_ID_HEADER: head.msg_id(f"{events[0].nonce}.{self._resends}"),
            wire.BATCH_HEADER: head.header(),
            wire.ENCODING_HEADER: wire.ENCODING_IDENTITY,
        }
        try:
            await self._bus.jetstream(_PUBLISH_TIMEOUT_S).publish(
                events_subject(head.run_id), data, headers=headers
            )
        except (NatsError, JetStreamError, ProblemError) as error:
            # No stream yet, the stream is full, or the broker has gone: all of them pass.
            self._complain("events.publish_failed", repr(error))
            return False
        self._complained = False
        return True

    def _complain(self, event: str, error: str) -> None:
        if not self._complained:
            self._complained = True
            get_log().warning(event, error=error)
