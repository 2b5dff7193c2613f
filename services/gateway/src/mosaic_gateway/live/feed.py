"""One run's live events, shared by all clients that follow it: one subscription, one decode, one encode a tick."""

import asyncio
import time
from collections.abc import Iterable
from functools import partial
from typing import Protocol

from nats.aio.msg import Msg
from pydantic import ValidationError

from mosaic_contracts import subjects
from mosaic_contracts.cursor import Cursor, format_cursor
from mosaic_contracts.live import TICK_S
from mosaic_contracts.runs import EventPage, SourceMark
from mosaic_contracts.services import Committed
from mosaic_contracts.wire import (
    BATCH_HEADER,
    ENCODING_HEADER,
    ENCODING_IDENTITY,
    ENCODING_ZSTD,
    Batch,
    BatchInvalid,
    Config,
    decode_batch,
    parse_batch_header,
)
from mosaic_gateway.history import History
from mosaic_gateway.live.sequence import Key, Piece, Sequence, covers
from mosaic_gateway.live.tick import Spaces, Tick
from mosaic_servicekit.bus import Bus, Subscription
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to
from mosaic_store import Reader
from mosaic_store.batch import unpack

HOLE_WAIT_S = 0.25
"""How long a missing batch may still come live: a refused one is sent again at once. Then the store is asked."""
OLD_HOLE_S = 2.0
"""A hole in the store that was seen that long ago is not filled any more: a refused batch is sent again within this."""
OLD_EVENT_S = 60.0
"""The same of a hole that is seen for the first time, by the age of what follows it (the writer's clock): longer,
for a shipper that works off its outbox may have been refused just now."""


class Joined(Protocol):
    """A reader that is at the feed's position."""

    def take(self, tick: Tick) -> None:
        """The next events."""
        ...

    def fall_behind(self) -> None:
        """Something was skipped: read the store, then join again."""
        ...


class Feed:
    """Live events of one run, in order and each once, from the moment it started."""

    def __init__(self, run_id: str, bus: Bus, history: History) -> None:
        self.run_id = run_id
        self.started = asyncio.Event()
        self.changed = asyncio.Event()
        """Pulses whenever the store may have more: readers on their way to the joint wait for it."""
        self.sequence = Sequence()
        self._bus = bus
        self._history = history
        self._spaces = Spaces()
        self._inbox: list[tuple[Batch, int]] = []
        """Batches that wait for the next tick, with their raw bytes."""
        self._joined: set[Joined] = set()
        self._subscriptions: list[Subscription] = []
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._hole_timers: dict[Key, asyncio.TimerHandle] = {}
        self._store_holes: dict[Key, tuple[int, float]] = {}
        """First missing seq in the store, and when it was first seen (loop time)."""
        self._last_tick = 0.0
        self._closed = False

    async def start(self) -> None:
        """Subscribe, then begin after what the store has. Raises ProblemError."""
        if not self._subscriptions:
            # Started again after the store could not be read, it has them already.
            for subject, handler in (
                (subjects.events(self.run_id), self._on_events),
                (subjects.committed(self.run_id), self._on_committed),
            ):
                self._subscriptions.append(await self._bus.subscribe(subject, handler))
        marks = await self._history.marks(self.run_id)
        none = EventPage(events=[], cursor="", has_more=False)
        configs = await self._history.read(
            lambda reader: reader.events(self.run_id, "", 16, ["config"]), none
        )
        for event in configs.events:
            self._spaces.learn(event["attempt"], event["data"])
        self._note_holes(marks)
        await self._age_holes(marks)
        self.sequence.start({(mark.attempt, mark.source): mark.last_seq for mark in marks})
        self.started.set()
        self._schedule()

    async def close(self) -> None:
        """Nobody follows any more."""
        self._closed = True
        for timer in (self._timer, *self._hole_timers.values()):
            if timer is not None:
                timer.cancel()
        for subscription in self._subscriptions:
            await subscription.cancel()

    def join(self, reader: Joined) -> None:
        """From now on `reader` gets every tick. It must be at `sequence.position` or beyond."""
        self._joined.add(reader)

    def leave(self, reader: Joined) -> None:
        """No more ticks."""
        self._joined.discard(reader)

    async def catch_up(self) -> Cursor:
        """Look into the store for what never came live; return how far it is. Raises ProblemError."""
        marks = await self._history.marks(self.run_id)
        self._see_marks(marks)
        return {(mark.attempt, mark.source): mark.last_seq for mark in marks}

    @property
    def has_old_hole(self) -> bool:
        """The store has a hole that will stay: who reads past it need not wait."""
        now = self._loop.time()
        return any(since + OLD_HOLE_S <= now for _, since in self._store_holes.values())

    def tick_of(self, pieces: Iterable[Piece], start: Cursor, end: Cursor) -> Tick:
        """A tick of a reader's own."""
        return Tick(list(pieces), start, end, self._spaces.to_builtin)

    async def wait_changed(self, timeout_s: float) -> None:
        """Wait until the store may have more, or the time is over."""
        self.changed.clear()
        await wait_up_to(self.changed, timeout_s)

    async def _on_events(self, message: Msg) -> None:
        # Decoded as they come, so that a tick has nothing left to do but to order and to encode.
        batch, raw_bytes = self._decode(message)
        if batch is not None:
            self._inbox.append((batch, raw_bytes))
            self._schedule()

    async def _on_committed(self, message: Msg) -> None:
        try:
            committed = Committed.model_validate_json(message.data)
        except ValidationError as error:
            get_log().warning("committed.invalid", run_id=self.run_id, error=str(error)[:200])
            return
        self.changed.set()
        self._see_marks(committed.marks)

    def _schedule(self) -> None:
        # The first of a burst goes at once, the rest together a tick later.
        if self._timer is None and self.started.is_set() and self._inbox and not self._closed:
            delay = max(0.0, self._last_tick + TICK_S - self._loop.time())
            self._timer = self._loop.call_later(delay, self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._last_tick = self._loop.time()
        batches, self._inbox = self._inbox, []
        start = dict(self.sequence.position)
        pieces: list[Piece] = []
        for batch, raw_bytes in batches:
            self._learn_spaces(batch)
            pieces += self.sequence.add(batch, raw_bytes)
        self._give(pieces, start)
        for key in self.sequence.holes:
            self._wait_for(key)
        if self.sequence.is_overfull:
            for key in self.sequence.holes:
                self._skip_hole(key)
        self._schedule()

    def _give(self, pieces: list[Piece], start: Cursor) -> None:
        if not pieces:
            return
        self.changed.set()
        tick = Tick(pieces, start, dict(self.sequence.position), self._spaces.to_builtin)
        for reader in list(self._joined):
            reader.take(tick)

    def _decode(self, message: Msg) -> tuple[Batch | None, int]:
        """The batch of a message and its size; None for an invalid batch, which the recorder sets aside and reports."""
        headers = message.headers or {}
        try:
            head = parse_batch_header(headers.get(BATCH_HEADER, ""))
            encoding = headers.get(ENCODING_HEADER, ENCODING_IDENTITY)
            if encoding not in (ENCODING_ZSTD, ENCODING_IDENTITY):
                raise BatchInvalid(f"encoding {encoding[:40]!r} is not known")
            raw = unpack(message.data) if encoding == ENCODING_ZSTD else message.data
            batch = decode_batch(raw)
            if batch.run_id != self.run_id or batch.run_id != head.run_id:
                raise BatchInvalid("the batch is of another run")
        except BatchInvalid as error:
            get_log().warning("batch.invalid", run_id=self.run_id, error=str(error)[:200])
            return None, 0
        return batch, len(raw)

    def _learn_spaces(self, batch: Batch) -> None:
        # The config is a worker's first event; looking at the head of a batch is enough.
        for record in batch.records[:16]:
            if isinstance(record, Config):
                self._spaces.learn(batch.attempt, record.data)

    def _note_holes(self, marks: list[SourceMark]) -> None:
        known, now = self._store_holes, self._loop.time()
        self._store_holes = {}
        for mark in marks:
            if mark.missing:
                key = (mark.attempt, mark.source)
                first, since = known.get(key, (mark.next_seq, now))
                self._store_holes[key] = (mark.next_seq, since if first == mark.next_seq else now)

    async def _age_holes(self, marks: list[SourceMark]) -> None:
        """A hole that was there before anybody followed the run is as old as what the store has behind it."""
        none = EventPage(events=[], cursor="", has_more=False)
        for mark in marks:
            key = (mark.attempt, mark.source)
            if key not in self._store_holes:
                continue
            others = {(m.attempt, m.source): m.last_seq for m in marks}
            behind = format_cursor({**others, key: mark.next_seq - 1})
            first_behind = partial(Reader.events, run_id=self.run_id, cursor=behind, limit=1)
            found = await self._history.read(first_behind, none)
            if found.events and found.events[0]["t"] + OLD_EVENT_S < time.time():
                self._store_holes[key] = (mark.next_seq, self._loop.time() - OLD_HOLE_S)

    def _see_marks(self, marks: list[SourceMark]) -> None:
        """The store is ahead of what came live: give the rest a moment, then send readers to the store."""
        self._note_holes(marks)
        for mark in marks:
            key = (mark.attempt, mark.source)
            if mark.last_seq > self.sequence.position.get(key, 0):
                self._wait_for(key, mark.last_seq)

    def _wait_for(self, key: Key, seq: int = 0) -> None:
        if key not in self._hole_timers and not self._closed:
            self._hole_timers[key] = self._loop.call_later(
                HOLE_WAIT_S, self._give_up, key, self.sequence.position.get(key, 0), seq
            )

    def _give_up(self, key: Key, position: int, seq: int) -> None:
        """The wait for what follows `position` is over; `seq` is in the store."""
        del self._hole_timers[key]
        if self._inbox:
            self._tick_now()
        if self.sequence.position.get(key, 0) > position:
            # It moved. If there is a hole still, or the store is still ahead, a new wait begins.
            if key in self.sequence.holes:
                self._wait_for(key)
            elif seq > self.sequence.position.get(key, 0):
                self._wait_for(key, seq)
            return
        if key in self.sequence.holes:
            self._skip_hole(key)
        elif self.sequence.skip_to(key, seq):
            self._send_to_store()

    def _tick_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._tick()

    def _skip_hole(self, key: Key) -> None:
        before = self.sequence.position.get(key, 0)
        # Pieces released here are in `recent`: readers come for them once they have read what is before.
        self.sequence.skip_hole(key)
        get_log().info("feed.skipped", run_id=self.run_id, source=key[1], after_seq=before)
        self._send_to_store()

    def _send_to_store(self) -> None:
        for reader in list(self._joined):
            self._joined.discard(reader)
            reader.fall_behind()
        self.changed.set()


def is_joinable(feed: Feed, cursor: Cursor) -> bool:
    """Whether the feed has everything that follows `cursor`."""
    return covers(cursor, feed.sequence.recent_from)
