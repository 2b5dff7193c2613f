"""The events stream: made when absent, put right when wrong, and the one consumer through which it is read."""

from typing import NamedTuple

from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    PersistMode,
    RetentionPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import APIError, NotFoundError, ServerError

from mosaic_contracts import subjects
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log
from mosaic_store import StreamCursor

MAX_BYTES = 2**30
"""Small, for the broker's restart takes 0.8 s a GB; a full stream refuses, and outboxes wait."""
DUPLICATE_WINDOW_S = 120.0
_CANNOT_CHANGE = 10052
"""The server's code for an update that it refuses on principle."""


class StreamState(NamedTuple):
    """The stream at one moment."""

    created: str
    """Distinguishes this stream from one that was created later."""
    server: str
    """Distinguishes this start of the broker from another."""
    first: int
    last: int

    @property
    def incarnation(self) -> str:
        """What a cursor keeps of it."""
        return f"{self.created} {self.server}"


class ReadStart(NamedTuple):
    """Where to read on."""

    seq: int
    healed: str | None
    """Why the stream is not the one that the cursor knows, in words."""


def read_start(cursor: StreamCursor | None, state: StreamState) -> ReadStart:
    """Where to read a stream, given the store's cursor. Too early costs a little, too late loses events."""
    if cursor is None:
        return ReadStart(1, None)
    created, _, server = cursor.incarnation.rpartition(" ")
    if created != state.created:
        return ReadStart(1, "the broker's stream was created again")
    if state.last < cursor.seq:
        return ReadStart(1, f"the stream went back from {cursor.seq} to {state.last}")
    if server != state.server:
        # A broker that lost its tail and took new messages since looks as if nothing had happened.
        return ReadStart(1, None)
    return ReadStart(cursor.seq + 1, None)


class BrokerStream:
    """Stream and consumer on a bus. Methods raise nats errors and BrokerUnavailable."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def ensure(self, room_bytes: int | None = None) -> StreamState:
        """Make the stream, or put its configuration right, and say how it is.

        Args:
            room_bytes: bytes that it may still grow by, as its disk has little space; None: up to its usual limit.
                Beyond them it refuses messages, which wait in the outboxes. Without this limit the broker would fill
                the disk, and after a write that failed it takes nothing until its stream is created again.
        """
        jetstream = self._bus.jetstream()
        try:
            info = await jetstream.stream_info(subjects.EVENTS_STREAM)
        except NotFoundError:
            info = await jetstream.add_stream(stream_config())
            get_log().info("stream.created", name=subjects.EVENTS_STREAM)
        max_bytes = MAX_BYTES
        if room_bytes is not None:
            now = info.config.max_bytes or MAX_BYTES
            max_bytes = min(now if now > 0 else MAX_BYTES, info.state.bytes + room_bytes)
        wrong = differences(info.config, max_bytes)
        if wrong:
            get_log().warning("stream.repaired", name=subjects.EVENTS_STREAM, wrong=wrong)
            info = await self._repair(wrong, max_bytes)
        return self._state(info)

    async def state(self) -> StreamState:
        """How the stream is. Raises NotFoundError when it was deleted."""
        return self._state(await self._bus.jetstream().stream_info(subjects.EVENTS_STREAM))

    async def is_writable(self, position: int) -> bool:
        """Whether the broker still takes messages.

        After one failed write (a full disk) nats-server refuses all writes, even when there is room again, until it is
        restarted or the stream is created again.

        Args:
            position: last message that is in the store. What the stream has up to there is deleted: a request that
                deletes nothing may succeed on a stream that cannot be written.
        """
        try:
            await self.purge(position)
        except ServerError as error:
            get_log().warning("stream.broken", why=str(error))
            return False
        return True

    async def replace(self) -> None:
        """Delete the stream and create it again. Nothing is lost: only the recorder frees outboxes; they send again."""
        jetstream = self._bus.jetstream()
        await jetstream.delete_stream(subjects.EVENTS_STREAM)
        await jetstream.add_stream(stream_config())

    async def place_consumer(self, seq: int) -> None:
        """Delete the consumer and create it again at `seq`. It acknowledges nothing: the cursor is in the store."""
        jetstream = self._bus.jetstream()
        name = subjects.EVENTS_CONSUMER
        try:
            await jetstream.delete_consumer(subjects.EVENTS_STREAM, name)
        except NotFoundError:
            get_log().debug("consumer.absent", name=name)
        config = ConsumerConfig(
            durable_name=name,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=seq,
            ack_policy=AckPolicy.NONE,
            mem_storage=True,
        )
        await jetstream.add_consumer(subjects.EVENTS_STREAM, config)

    async def purge(self, last: int) -> None:
        """Delete messages up to `last`, which must be in the store."""
        await self._bus.jetstream().purge_stream(subjects.EVENTS_STREAM, seq=last + 1)

    async def _repair(self, wrong: dict[str, str], max_bytes: int) -> StreamInfo:
        jetstream = self._bus.jetstream()
        try:
            return await jetstream.update_stream(stream_config(max_bytes))
        except APIError as error:
            if error.err_code != _CANNOT_CHANGE:
                raise
            # Storage, retention, persist mode. Deleting loses nothing: outboxes are freed by us only.
            get_log().warning("stream.replaced", wrong=wrong, error=repr(error))
            await jetstream.delete_stream(subjects.EVENTS_STREAM)
            return await jetstream.add_stream(stream_config(max_bytes))

    def _state(self, info: StreamInfo) -> StreamState:
        created = info.created.isoformat() if info.created else ""
        server = str(self._bus.client._server_info.get("server_id", ""))
        return StreamState(created, server, info.state.first_seq, info.state.last_seq)


def stream_config(max_bytes: int = MAX_BYTES) -> StreamConfig:
    """The stream as docs/interfaces.md fixes it."""
    return StreamConfig(
        name=subjects.EVENTS_STREAM,
        subjects=[subjects.EVENTS_ALL],
        retention=RetentionPolicy.LIMITS,
        storage=StorageType.FILE,
        discard=DiscardPolicy.NEW,
        max_bytes=max_bytes,
        max_msgs=-1,
        max_age=0,
        duplicate_window=DUPLICATE_WINDOW_S,
        num_replicas=1,
    )


def differences(config: StreamConfig, max_bytes: int = MAX_BYTES) -> dict[str, str]:
    """What of a stream's configuration would lose or hold up events, as `is, not should`."""
    wanted = stream_config(max_bytes)
    wrong = {
        name: f"{getattr(config, name)!r}, not {getattr(wanted, name)!r}"
        for name in (
            *("subjects", "retention", "storage", "discard", "max_bytes", "max_msgs"),
            *("max_age", "duplicate_window"),
        )
        if getattr(config, name) != getattr(wanted, name)
    }
    if config.persist_mode == PersistMode.ASYNC:
        wrong["persist_mode"] = "'async', which loses acknowledged messages when the broker dies"
    return wrong
