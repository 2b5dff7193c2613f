"""Pulling messages in stream order, bounded in bytes.

nats-py's own `fetch` has no limit in bytes (256 messages may be a gigabyte) and hides the consumer's sequence, by which
a message that was lost on the way is noticed.
"""

import asyncio
import json
from collections import deque

from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from mosaic_contracts import subjects
from mosaic_recorder.decode import Arrival
from mosaic_recorder.errors import ConsumerLost
from mosaic_servicekit.bus import Bus

BATCH = 1000
MAX_BYTES = 16 * 2**20
_EXPIRES_S = 5.0
_HEARTBEAT_S = 1.0
_SILENCE_S = 3.5
"""The server speaks at least every heartbeat while a request waits."""
_PENDING_BYTES = 4 * MAX_BYTES
_NEXT = f"$JS.API.CONSUMER.MSG.NEXT.{subjects.EVENTS_STREAM}.{subjects.EVENTS_CONSUMER}"
_REQUEST = json.dumps(
    {
        "batch": BATCH,
        "max_bytes": MAX_BYTES,
        "expires": int(_EXPIRES_S * 1e9),
        "idle_heartbeat": int(_HEARTBEAT_S * 1e9),
    }
).encode()
_GONE = ("Consumer Deleted", "Consumer is push based", "Leadership Change", "Server Shutdown")


class Puller:
    """One reading session on one connection; ends with ConsumerLost."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._connects = bus.connects
        self._subscription: Subscription | None = None
        self._buffer: deque[Arrival] = deque()
        self._buffered_bytes = 0
        self._changed = asyncio.Event()
        self._in_request = 0
        """Messages that the open request may still bring; 0: no request is open."""
        self._consumer_seq = 0
        self._heard_at = 0.0
        self._lost: str | None = None
        self.pending = 0
        """Messages of the stream behind the last one that came."""

    async def start(self) -> None:
        """Subscribe and ask for messages."""
        client = self._bus.client
        self._inbox = client.new_inbox()
        self._subscription = await client.subscribe(
            self._inbox,
            cb=self._on_message,
            pending_msgs_limit=4 * BATCH,
            pending_bytes_limit=_PENDING_BYTES,
        )
        await self._ask()

    async def close(self) -> None:
        """End the session; what is buffered is dropped (the cursor leads back to it)."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None and self._bus.connects == self._connects:
            client = self._bus.client if self._bus.connected.is_set() else None
            if client is not None:
                await subscription.unsubscribe()

    async def take(self, wait_s: float, enough_bytes: int, gather_s: float) -> list[Arrival]:
        """Messages in stream order: none after `wait_s`; otherwise what came within `gather_s` after the first,
        or until there are `enough_bytes`.

        Raises:
            ConsumerLost: a message may have been missed.
        """
        await self._wait(wait_s, 1)
        if self._buffer and gather_s > 0:
            await self._wait(gather_s, enough_bytes)
        self._check()
        taken = list(self._buffer)
        self._buffer.clear()
        self._buffered_bytes = 0
        if self._in_request == 0:
            await self._ask()
        return taken

    async def _wait(self, wait_s: float, enough_bytes: int) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_s
        while self._lost is None and self._buffered_bytes < enough_bytes:
            if self._in_request == 0 and self._buffered_bytes < MAX_BYTES:
                await self._ask()
            self._changed.clear()
            left = deadline - loop.time()
            if left <= 0:
                return
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                return

    def _check(self) -> None:
        if self._lost is None and self._bus.connects != self._connects:
            self._lost = "the connection was renewed"
        if self._lost is None and not self._bus.connected.is_set():
            self._lost = "the connection is gone"
        silence = asyncio.get_running_loop().time() - self._heard_at
        if self._lost is None and self._in_request and silence > _SILENCE_S:
            self._lost = f"the broker has not spoken for {silence:.1f} s"
        if self._lost is not None:
            raise ConsumerLost(self._lost)

    async def _ask(self) -> None:
        self._in_request = BATCH
        self._heard_at = asyncio.get_running_loop().time()
        await self._bus.client.publish(_NEXT, _REQUEST, reply=self._inbox)

    async def _on_message(self, message: Msg) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        headers = message.headers or {}
        status = headers.get("Status")
        if status is not None and not message.reply.startswith("$JS.ACK."):
            self._on_status(status, headers.get("Description", ""))
        else:
            self._on_arrival(message, headers)
        self._changed.set()

    def _on_status(self, status: str, description: str) -> None:
        if status == "100":
            return
        if status == "503" or (status == "404" and "Consumer" in description):
            self._lost = f"the consumer is gone ({status} {description})"
        elif status == "409" and any(word in description for word in _GONE):
            self._lost = f"the consumer is gone ({description})"
        else:
            # expired, or the next message would have passed the limit in bytes
            self._in_request = 0

    def _on_arrival(self, message: Msg, headers: dict[str, str]) -> None:
        # $JS.ACK.stream.consumer.delivered.stream_seq.consumer_seq.time.pending, or with domain and account
        tokens = message.reply.split(".")
        offset = 0 if len(tokens) == 9 else 2
        stream_seq, consumer_seq = int(tokens[5 + offset]), int(tokens[6 + offset])
        self._consumer_seq += 1
        if consumer_seq != self._consumer_seq:
            self._lost = f"message {self._consumer_seq} of the consumer did not come"
            return
        self.pending = int(tokens[8 + offset])
        self._in_request = max(0, self._in_request - 1)
        self._buffer.append(Arrival(stream_seq, message.subject, headers, message.data))
        self._buffered_bytes += len(message.data) + 1
