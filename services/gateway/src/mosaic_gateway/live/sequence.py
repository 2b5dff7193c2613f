"""From batches as they arrive to events in order, each once. No I/O: the joint of history and live rests on this.

Batches come doubled (re-sent after a reconnect), late (one was refused and sent again) or not at all (core messages
are lost with a connection). What is missing is not waited for long: the store has it, and readers go there.
"""

import heapq
from collections import deque
from dataclasses import dataclass

from mosaic_contracts.cursor import Cursor
from mosaic_contracts.wire import Batch, Record

Key = tuple[int, str]
"""Attempt and source."""

RECENT_EVENTS = 65_536
RECENT_BYTES = 8 * 2**20
"""What is kept for readers that come from the store: it must span the recorder's delay, about 0.1 s, many times."""
PENDING_EVENTS = 100_000
"""Events held back behind a missing batch, at most."""


@dataclass(frozen=True)
class Piece:
    """Consecutive events of one source: the records of `batch` from `first` (an index) on."""

    batch: Batch
    first: int
    raw_bytes: int

    @property
    def key(self) -> Key:
        """Whose events these are."""
        return (self.batch.attempt, self.batch.source)

    @property
    def begin(self) -> int:
        """Seq of the first event."""
        return self.batch.seq0 + self.first

    @property
    def end(self) -> int:
        """Seq of the last event."""
        return self.batch.seq0 + len(self.batch.records) - 1

    @property
    def records(self) -> list[Record]:
        """The events."""
        return self.batch.records[self.first :] if self.first else self.batch.records

    def after(self, seq: int) -> "Piece | None":
        """The part above `seq`, or None when there is none."""
        if seq < self.begin:
            return self
        if seq >= self.end:
            return None
        return Piece(self.batch, seq + 1 - self.batch.seq0, self.raw_bytes)


def covers(cursor: Cursor, needed: Cursor) -> bool:
    """Whether `cursor` is at or beyond `needed` for every source."""
    return all(cursor.get(key, 0) >= seq for key, seq in needed.items())


def merged(cursor: Cursor, other: Cursor) -> Cursor:
    """The further of both for every source."""
    return {key: max(cursor.get(key, 0), other.get(key, 0)) for key in cursor.keys() | other.keys()}


def distance(cursor: Cursor, target: Cursor) -> int:
    """Events between `cursor` and `target`."""
    return sum(max(0, seq - cursor.get(key, 0)) for key, seq in target.items())


class Sequence:
    """Orders the batches of one run."""

    def __init__(self) -> None:
        self.position: Cursor = {}
        """Last event given out, per source."""
        self.recent_from: Cursor = {}
        """A reader at or beyond this finds the rest up to `position` in `recent`."""
        self._pending: dict[Key, list[tuple[int, int, Piece]]] = {}
        self._pending_events = 0
        self._counter = 0
        self._recent: deque[Piece] = deque()
        self._recent_events = 0
        self._recent_bytes = 0

    def start(self, position: Cursor) -> None:
        """Begin after `position`: what the store has already."""
        self.position = dict(position)
        self._forget_recent()

    def add(self, batch: Batch, raw_bytes: int) -> list[Piece]:
        """Take one batch; return what can be given out now, in order and without doubles."""
        piece = Piece(batch, 0, raw_bytes)
        if piece.end <= self.position.get(piece.key, 0):
            return []
        self._counter += 1
        heap = self._pending.setdefault(piece.key, [])
        heapq.heappush(heap, (piece.begin, self._counter, piece))
        self._pending_events += len(batch.records)
        return self._release(piece.key)

    @property
    def holes(self) -> list[Key]:
        """Sources whose next event is missing while later ones are here."""
        return list(self._pending)

    @property
    def is_overfull(self) -> bool:
        """Too much is held back; skip the holes now."""
        return self._pending_events > PENDING_EVENTS

    def skip_to(self, key: Key, seq: int) -> bool:
        """Go on after `seq` without having seen what is before it. Return whether anything was skipped.

        Readers that were at `position` must then read from the store.
        """
        if seq <= self.position.get(key, 0):
            return False
        self.position[key] = seq
        self._forget_recent()
        return True

    def skip_hole(self, key: Key) -> list[Piece]:
        """Go on with the first batch that is here; return what can be given out."""
        heap = self._pending.get(key)
        if not heap:
            return []
        self.skip_to(key, heap[0][0] - 1)
        return self._release(key)

    def recent_after(self, cursor: Cursor, limit: int) -> list[Piece]:
        """Pieces that were given out, after `cursor`, about `limit` events of them."""
        found: list[Piece] = []
        count = 0
        for piece in self._recent:
            rest = piece.after(cursor.get(piece.key, 0))
            if rest is not None:
                found.append(rest)
                count += rest.end - rest.begin + 1
                if count >= limit:
                    break
        return found

    def _release(self, key: Key) -> list[Piece]:
        heap = self._pending[key]
        released: list[Piece] = []
        while heap and heap[0][0] <= self.position.get(key, 0) + 1:
            _, _, piece = heapq.heappop(heap)
            self._pending_events -= len(piece.batch.records)
            rest = piece.after(self.position.get(key, 0))
            if rest is not None:
                self.position[key] = rest.end
                released.append(rest)
                self._remember(rest)
        if not heap:
            del self._pending[key]
        return released

    def _remember(self, piece: Piece) -> None:
        self._recent.append(piece)
        self._recent_events += len(piece.batch.records)
        self._recent_bytes += piece.raw_bytes
        while len(self._recent) > 1 and (
            self._recent_events > RECENT_EVENTS or self._recent_bytes > RECENT_BYTES
        ):
            oldest = self._recent.popleft()
            self._recent_events -= len(oldest.batch.records)
            self._recent_bytes -= oldest.raw_bytes
            self.recent_from[oldest.key] = oldest.end

    def _forget_recent(self) -> None:
        self._recent.clear()
        self._recent_events = self._recent_bytes = 0
        self.recent_from = dict(self.position)
