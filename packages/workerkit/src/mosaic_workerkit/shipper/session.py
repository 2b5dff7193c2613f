"""What is done on one connection: publish the outbox from the committed mark on, listen, and say how the trainer is."""

import asyncio
import json
import secrets
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import nats.errors
import zstandard
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import ValidationError

from mosaic_contracts import subjects
from mosaic_contracts.frames import CHANNEL as FRAMES_CHANNEL
from mosaic_contracts.frames import FRAMES_HEADER
from mosaic_contracts.shipper_messages import Committed, CommittedRequest, Reply
from mosaic_contracts.wire import (
    BATCH_HEADER,
    ENCODING_HEADER,
    ENCODING_ZSTD,
    MSG_ID_HEADER,
    SOURCE_WORKER,
    BatchHead,
    join_batch,
)
from mosaic_workerkit.outbox import Region
from mosaic_workerkit.shipper.command import answer
from mosaic_workerkit.shipper.delivery import DeliveryState, wait_for_event
from mosaic_workerkit.shipper.heartbeat import heartbeat
from mosaic_workerkit.shipper.log import log_event
from mosaic_workerkit.shipper.node_client import NodeClient
from mosaic_workerkit.shipper.node_work import NodeWork

TICK_S = 0.1
WATCHED_TICK_S = 0.02
LONGEST_TICK_S = 2.0
"""Bound on the time in which events gather: the cost follows messages, and a hundred runs may share the machine."""
ENOUGH_EVENTS = 250
"""Number of events to gather before a batch of an unwatched run is sent."""
_NO_RESPONDERS = "503"
_WINDOW_MESSAGES = 64
_WINDOW_BYTES = 16 * 2**20
_ACK_S = 5.0
_SETTLE_S = 2
_FIRST_REFUSAL_S = 0.1
_LONGEST_REFUSAL_S = 1.0
HEARTBEAT_S = 1.0
_FIRST_HEARTBEAT_S = 0.5
"""Behind the first heartbeat; then twice as long each time, for a run's beginning is looked at."""
UNWATCHED_HEARTBEAT_S = 2.0
"""Interval for a run that nobody watches; the scheduler waits for seven of them before it calls a run unresponsive."""
_ASK_S = 2.0
"""Acknowledged but not committed for so long: ask the recorder, a message may have been missed."""
_DRAIN_ASK_S = 0.2
_STALL_S = 5.0
_LONGEST_STALL_S = 60.0


class BatchRefused(RuntimeError):
    """The broker does not accept a batch now."""


class PublishRefused(RuntimeError):
    """The connection ended, or the broker did not accept a batch."""


@dataclass(slots=True)
class _Sent:
    last_seq: int
    size: int
    at: float
    """Monotonic."""
    ack: "asyncio.Future[None]"


class PublishSession:
    """Publishes over one connection."""

    def __init__(
        self,
        delivery: DeliveryState,
        connection: Client,
        closed: asyncio.Event,
        on_accepted: Callable[[], None],
        node: NodeWork,
    ) -> None:
        """`on_accepted`: called once the broker takes our credentials and lets us listen."""
        self._delivery = delivery
        self._on_accepted = on_accepted
        self._node = node
        self._node_client = NodeClient(connection, delivery.launch)
        self._connection = connection
        self._closed = closed
        self._run_id = delivery.launch.run_id
        self._subject = subjects.events(self._run_id)
        self._frames_subject = subjects.live(self._run_id, FRAMES_CHANNEL)
        self._answering: set[asyncio.Task[None]] = set()
        self._acks = connection.new_inbox()
        """Replies of the broker come to `<this>.<number>`: not by nats-py's publish_async, which (2.16) raises in
        its own reader when the broker refuses a message, so that the waiting future never ends."""
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._number = 0
        self._compress = zstandard.ZstdCompressor(level=1).compress
        self._in_flight: deque[_Sent] = deque()
        self._in_flight_bytes = 0
        self._refusal_s = _FIRST_REFUSAL_S
        self._tick_s = TICK_S
        self._has_sent = delivery.mark.seq > 0
        self._note = ""
        self._stall_s = _STALL_S
        self._announced_at = time.monotonic()
        self._must_rewind = False
        self._losses = delivery.losses
        self._nonce = delivery.launch.nonce

    async def run(self) -> None:
        """Publish until the connection ends or, in a drain, until everything is committed.

        Raises:
            PublishRefused: the connection ended.
            nats.errors.Error: the broker does not answer.
        """
        run = self._run_id
        await self._connection.subscribe(subjects.committed(run), cb=self._on_committed)
        await self._connection.subscribe(subjects.control(run), cb=self._on_control)
        await self._connection.subscribe(f"{self._acks}.*", cb=self._on_ack)
        await self._settle()
        self._delivery.acked_seq = self._delivery.mark.seq
        self._delivery.reader.seek(self._delivery.mark.seq + 1)
        tasks = {
            asyncio.create_task(self._publish()),
            asyncio.create_task(self._look_after()),
            asyncio.create_task(self._closed.wait()),
        }
        if not self._delivery.launch.shares_folder:
            tasks.add(asyncio.create_task(self._node.run(self._node_client)))
        self._delivery.frames.publish_with(self._publish_frame)
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
            if self._closed.is_set():
                raise PublishRefused("the connection ended")
        finally:
            self._delivery.frames.publish_with(None)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
            self._forget_in_flight()

    async def _settle(self) -> None:
        """Learn whether the broker lets us listen: its refusals come before its answer to a ping."""
        # Twice: nats-py 2.16 writes the ping of `flush` ahead of what still waits in its buffer.
        for _ in range(2):
            await self._connection.flush(timeout=_SETTLE_S)
        if self._closed.is_set():
            raise PublishRefused("the connection ended")
        self._on_accepted()

    async def _publish(self) -> None:
        delivery, reader = self._delivery, self._delivery.reader
        while True:
            refusal = self._take_acks()
            if refusal is not None:
                await self._stand_back(refusal)
            if self._losses != delivery.losses:
                self._losses = delivery.losses
                self._start_over()
            if self._must_rewind or delivery.mark.seq >= reader.next_seq:
                self._rewind(delivery.mark.seq)
            if self._is_window_full():
                await self._wait_for_ack()
                continue
            delivery.wake.clear()
            region = reader.read()
            if region is not None:
                await self._send(region)
                if region.is_full:
                    continue
            elif self._has_ended():
                await self._node.finish(self._node_client)
                return
            await self._tick(region.n if region is not None else 0)

    def _has_ended(self) -> bool:
        delivery = self._delivery
        if not delivery.is_draining or delivery.mark.seq < delivery.reader.next_seq - 1:
            return False
        return delivery.is_all_committed()

    async def _tick(self, sent: int) -> None:
        """Let events gather after `sent` of them were sent; a drain and a refusal are other reasons to go on."""
        self._has_sent |= sent > 0
        # a run's first event is waited for: it says that the run has started
        may_wait = self._has_sent and not self._delivery.is_draining
        self._tick_s = next_tick(self._tick_s, sent) if may_wait else TICK_S
        await self._delivery.pause(WATCHED_TICK_S if self._is_watched() else self._tick_s)

    async def _send(self, region: Region) -> None:
        launch = self._delivery.launch
        head = BatchHead(self._run_id, launch.attempt, SOURCE_WORKER, region.seq0, region.n)
        data = self._compress(join_batch(head, region.t0_us, region.records))
        headers = {
            MSG_ID_HEADER: head.msg_id(self._nonce),
            BATCH_HEADER: head.header(),
            ENCODING_HEADER: ENCODING_ZSTD,
        }
        self._number += 1
        reply = f"{self._acks}.{self._number}"
        ack: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[reply] = ack
        await self._connection.publish(self._subject, data, reply=reply, headers=headers)
        self._in_flight.append(_Sent(region.seq0 + region.n - 1, len(data), time.monotonic(), ack))
        self._in_flight_bytes += len(data)

    def _is_window_full(self) -> bool:
        return len(self._in_flight) >= _WINDOW_MESSAGES or self._in_flight_bytes >= _WINDOW_BYTES

    def _take_acks(self) -> Exception | None:
        """Move the acked mark over what is acknowledged in order; returns the first refusal.

        Raises:
            PublishRefused: the broker is silent.
        """
        while self._in_flight and self._in_flight[0].ack.done():
            sent = self._in_flight[0]
            error = sent.ack.exception()
            if isinstance(error, Exception):
                return error
            self._in_flight.popleft()
            self._in_flight_bytes -= sent.size
            self._delivery.acked_seq = max(self._delivery.acked_seq, sent.last_seq)
            self._refusal_s, self._note = _FIRST_REFUSAL_S, ""
        if self._in_flight and time.monotonic() - self._in_flight[0].at > _ACK_S:
            raise PublishRefused(f"the broker has not acknowledged for {_ACK_S} s")
        return None

    async def _stand_back(self, refusal: Exception) -> None:
        """The stream is full or not made yet: go back to what is acknowledged and try a little later."""
        self._note = str(refusal)
        self._delivery.log_error("batch.refused", refusal)
        self._rewind(self._delivery.acked_seq)
        await asyncio.sleep(self._refusal_s)
        self._refusal_s = min(2 * self._refusal_s, _LONGEST_REFUSAL_S)

    async def _wait_for_ack(self) -> None:
        await asyncio.wait({self._in_flight[0].ack}, timeout=_ACK_S)

    def _rewind(self, seq: int) -> None:
        """Send again from `seq` + 1 on."""
        self._forget_in_flight()
        self._must_rewind = False
        self._delivery.acked_seq = seq
        self._delivery.reader.seek(seq + 1)

    def _forget_in_flight(self) -> None:
        for sent in self._in_flight:
            if not sent.ack.cancel() and not sent.ack.cancelled():
                sent.ack.exception()  # looked at, or asyncio would complain
        self._waiting.clear()
        self._in_flight.clear()
        self._in_flight_bytes = 0

    async def _on_ack(self, message: Msg) -> None:
        ack = self._waiting.pop(message.subject, None)
        if ack is None or ack.done():
            return  # of a batch that was given up
        if message.headers and message.headers.get("Status") == _NO_RESPONDERS:
            ack.set_exception(BatchRefused("no stream takes events yet; the recorder makes it"))
            return
        answer_data = json.loads(message.data)
        if "error" in answer_data:
            error = answer_data["error"]
            ack.set_exception(BatchRefused(f"{error.get('description')} ({error.get('err_code')})"))
        else:
            ack.set_result(None)

    async def _look_after(self) -> None:
        """Send heartbeats, and see that what was sent gets committed. One loop, for each wake-up costs a run."""
        interval_s = _FIRST_HEARTBEAT_S
        while True:
            await self._beat()
            ends_at = time.monotonic() + interval_s
            longest_s = HEARTBEAT_S if self._is_watched() else UNWATCHED_HEARTBEAT_S
            interval_s = min(2 * interval_s, longest_s)
            while (left_s := ends_at - time.monotonic()) > 0:
                await self._ask_if_overdue()
                await self._rest(left_s)

    async def _rest(self, seconds: float) -> None:
        """Wait so long, or until there is a drain, and then a little between questions to the recorder."""
        if self._delivery.is_draining:
            await asyncio.sleep(min(seconds, _DRAIN_ASK_S))
            return
        await wait_for_event(self._delivery.draining, seconds)

    def _is_watched(self) -> bool:
        return time.monotonic() < self._delivery.watched_until

    async def _beat(self) -> None:
        beat = heartbeat(self._delivery)
        if self._note:
            beat = beat.model_copy(update={"note": self._note})
        subject = subjects.heartbeat(self._run_id)
        await self._connection.publish(subject, beat.model_dump_json().encode())

    async def _ask_if_overdue(self) -> None:
        """Ask how far the recorder is when its word is overdue, and go back when that does not move."""
        delivery, now = self._delivery, time.monotonic()
        if delivery.acked_seq <= delivery.mark.seq:
            self._stall_s = _STALL_S
            delivery.moved_at = now
            return
        is_overdue = now - max(self._announced_at, delivery.moved_at) >= _ASK_S
        is_stalled = now - delivery.moved_at >= self._stall_s
        if not (delivery.is_draining or is_overdue or is_stalled):
            return
        if await self._ask_recorder() and now - delivery.moved_at >= self._stall_s:
            log_event("commit.stalled", **delivery.marks())
            # A recorder that is merely slow must not be given the same again and again.
            self._stall_s = min(2 * self._stall_s, _LONGEST_STALL_S)
            delivery.moved_at = time.monotonic()
            self._start_over()
            delivery.wake.set()

    def _start_over(self) -> None:
        """Send again from the mark on, as new messages: the broker remembers ids of messages that it no longer has,
        and would swallow them."""
        self._nonce = f"{self._delivery.launch.nonce}.{secrets.token_hex(4)}"
        self._must_rewind = True

    async def _ask_recorder(self) -> bool:
        """Whether it answered; the answer is taken."""
        known = self._delivery.mark.seq
        asked = CommittedRequest(run_id=self._run_id, from_seq=self._delivery.floor)
        request = asked.model_dump_json().encode()
        try:
            message = await self._connection.request(
                subjects.service("recorder", "committed"), request, timeout=1.0
            )
            reply = Reply.model_validate_json(message.data)
            if reply.problem is not None or reply.result is None:
                return False
            self._delivery.take_answer(
                Committed.model_validate(reply.result), asked.from_seq, known
            )
        except (nats.errors.TimeoutError, nats.errors.NoRespondersError):
            return False
        except ValidationError as error:
            log_event("recorder.answer_invalid", error=str(error))
            return False
        return True

    async def _on_committed(self, message: Msg) -> None:
        try:
            committed = Committed.model_validate_json(message.data)
        except ValidationError as error:
            log_event("committed.invalid", error=str(error))
            return
        # An announcement of a gap below what is here says nothing about the rest: that must be asked for.
        if self._delivery.take_committed(committed):
            self._announced_at = time.monotonic()

    async def _on_control(self, message: Msg) -> None:
        """Answer in a task of its own: drawing a page of frames takes a while, and a stop must not wait for it."""
        task = asyncio.create_task(self._answer_control(message))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _answer_control(self, message: Msg) -> None:
        reply = await answer(self._delivery, message.data)
        if not message.reply:
            return
        headers = {FRAMES_HEADER: "1"} if isinstance(reply, bytes) else None
        data = reply if isinstance(reply, bytes) else reply.model_dump_json().encode()
        # The connection is about to end; the caller asks again.
        with suppress(nats.errors.Error):
            await self._connection.publish(message.reply, data, headers=headers)

    async def _publish_frame(self, data: bytes) -> None:
        """Publish a live frame; one that finds the connection broken is dropped."""
        with suppress(nats.errors.Error):
            await self._connection.publish(self._frames_subject, data)


def next_tick(tick_s: float, sent: int) -> float:
    """Return the seconds to gather events, after `sent` events had gathered in `tick_s`.

    At the same rate ENOUGH_EVENTS will gather; at most twice the time before, within TICK_S to LONGEST_TICK_S.
    """
    wanted = tick_s * ENOUGH_EVENTS / max(sent, 1)
    return max(TICK_S, min(wanted, 2 * tick_s, LONGEST_TICK_S))
