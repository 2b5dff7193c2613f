"""What waits to be sent to one client: bounded, so that a stalled client costs neither memory nor anybody's time."""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from mosaic_gateway.live.wire_format import Payload

FRAMES = 8
"""Entries that wait for one subscription, a tick's worth each: 0.4 s at 20 Hz."""
BYTES = 16 * 2**20
"""Limit of one subscription. One entry always fits, whatever its size."""
NOTES = 32
"""Answers that wait (pong, problems); of more the oldest goes, for who never reads them needs none."""


@dataclass
class _Slot:
    entries: deque[tuple[Payload, ...]] = field(default_factory=deque)
    size: int = 0
    room: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when something was taken out."""

    def is_full(self, more: int, frames: int) -> bool:
        return bool(self.entries) and (len(self.entries) >= frames or self.size + more > BYTES)


class Mailbox:
    """Frames for one client: a slot for each subscription in order, the newest `run` frame of each run, and notes."""

    def __init__(self) -> None:
        self._notes: deque[Payload] = deque(maxlen=NOTES)
        self._runs: OrderedDict[str, Payload] = OrderedDict()
        self._slots: OrderedDict[Hashable, _Slot] = OrderedDict()
        self._filled = asyncio.Event()

    def open(self, slot: Hashable) -> None:
        """Make room for a subscription."""
        self._slots[slot] = _Slot()

    def close(self, slot: Hashable) -> None:
        """Forget a subscription and what waits for it."""
        self._slots.pop(slot, None)

    def note(self, payload: Payload) -> None:
        """An answer outside the order of events."""
        self._notes.append(payload)
        self._filled.set()

    def run_changed(self, run_id: str, payload: Payload) -> None:
        """A run's newest state; takes the place of one that waits still."""
        self._runs[run_id] = payload
        self._filled.set()

    def offer(self, slot: Hashable, payloads: tuple[Payload, ...]) -> bool:
        """Add one entry unless the slot is full."""
        waiting = self._slots[slot]
        size = _size(payloads)
        if waiting.is_full(size, FRAMES):
            return False
        self._add(waiting, payloads, size)
        return True

    async def put(self, slot: Hashable, payloads: tuple[Payload, ...]) -> None:
        """Add one entry, waiting for room; half the slot is left for what comes live right after."""
        waiting = self._slots[slot]
        size = _size(payloads)
        while waiting.is_full(size, FRAMES // 2):
            waiting.room.clear()
            await waiting.room.wait()
        self._add(waiting, payloads, size)

    async def drained(self, slot: Hashable) -> None:
        """Wait until nothing waits for this subscription."""
        waiting = self._slots[slot]
        while waiting.entries:
            waiting.room.clear()
            await waiting.room.wait()

    async def next(self) -> tuple[Payload, ...]:
        """What to send next; waits for it. Subscriptions take turns."""
        while True:
            if self._notes:
                return (self._notes.popleft(),)
            if self._runs:
                return (self._runs.popitem(last=False)[1],)
            for key, waiting in self._slots.items():
                if waiting.entries:
                    self._slots.move_to_end(key)
                    payloads = waiting.entries.popleft()
                    waiting.size -= _size(payloads)
                    waiting.room.set()
                    return payloads
            self._filled.clear()
            await self._filled.wait()

    def _add(self, waiting: _Slot, payloads: tuple[Payload, ...], size: int) -> None:
        waiting.entries.append(payloads)
        waiting.size += size
        self._filled.set()


def _size(payloads: tuple[Payload, ...]) -> int:
    return sum(len(payload) for payload in payloads)
