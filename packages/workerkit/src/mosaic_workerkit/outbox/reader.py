"""The shipper's side of the outbox: whole frames from any seq on, undecoded."""

import fcntl
import os
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from mosaic_contracts.wire import MAX_BATCH_BYTES, MAX_BATCH_EVENTS
from mosaic_workerkit.errors import OutboxCorrupted
from mosaic_workerkit.outbox.segment import (
    FRAME,
    FRAME_BYTES,
    HEADER_BYTES,
    WAITING_FILE,
    WRITER_LOCK,
    SegmentHeader,
    read_header,
    segment_name,
    segment_seqs,
)

_READ_BYTES = 256 * 1024
_unpack = FRAME.unpack_from


class Region(NamedTuple):
    """Records back to back, ready for `wire.join_batch`."""

    seq0: int
    n: int
    t0_us: int
    records: bytes


class OutboxReader:
    """Tails one outbox. Stops at the last whole frame, whatever lies behind it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.next_seq = 1
        """First seq that was not read yet."""
        self._fd = -1
        self._at = 0
        self._header: SegmentHeader | None = None
        self._ahead = b""
        """Bytes read from the segment at `_at` on."""
        self._used = 0
        """How much of `_ahead` was taken."""
        self._places: list[tuple[int, int, int]] = []
        """Where regions ended: next seq, first seq of the segment, offset. A way back without walking."""

    def seek(self, seq: int) -> None:
        """Go to `seq`, or to the oldest one kept when that is later."""
        self.close()
        firsts = segment_seqs(self.folder)
        below = [first for first in firsts if first <= seq]
        self.next_seq = below[-1] if below else (firsts[0] if firsts else seq)
        self._jump(seq)
        while self.next_seq < seq:
            if self.read(max_events=min(MAX_BATCH_EVENTS, seq - self.next_seq)) is None:
                # Everything below is stored and gone; the writer goes on from there.
                self.close()
                self.next_seq = seq

    def forget_below(self, seq: int) -> None:
        """Nobody will seek before `seq` any more."""
        del self._places[: max(0, bisect_right(self._places, (seq,)) - 1)]

    def _jump(self, seq: int) -> None:
        """Go to the last place that is known at or below `seq`, if it is in the segment of `next_seq`."""
        del self._places[bisect_right(self._places, (seq + 1,)) :]
        if not self._places or self._places[-1][1] != self.next_seq or not self._open():
            return
        self.next_seq, _, self._at = self._places[-1]

    def read(
        self, max_events: int = MAX_BATCH_EVENTS, max_bytes: int = MAX_BATCH_BYTES
    ) -> Region | None:
        """The next records, at most so many, or None when there is none yet.

        Raises:
            OutboxCorrupted: the segment is damaged, and it is not the end of a killed writer.
        """
        if self._fd < 0 and not self._open():
            return None
        region = self._take(max_events, max_bytes)
        if region is None and self._has_later_segment():
            # The writer has gone on. What it wrote last here may be newer than our look.
            region = self._take(max_events, max_bytes)
            if region is None:
                damaged = self._header
                self.close()
                if not self._open():
                    raise OutboxCorrupted(
                        f"seq {self.next_seq} is damaged, in {damaged}; set it aside"
                    )
                region = self._take(max_events, max_bytes)
        return region

    def writer_is_dead(self) -> bool:
        """Whether no process can append any more."""
        try:
            fd = os.open(self.folder / WRITER_LOCK, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return True
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        finally:
            os.close(fd)
        return True

    def is_waited_for(self) -> bool:
        """Whether the trainer stands still at its quota."""
        # One that was killed while it waited leaves the file.
        return (self.folder / WAITING_FILE).exists() and not self.writer_is_dead()

    def unfreed_bytes(self) -> int:
        """Bytes of the outbox: whole segments, and of the one being read what was read."""
        total = 0
        for seq0 in segment_seqs(self.folder):
            if self._header is not None and seq0 == self._header.seq0:
                total += self._at + self._used
                continue
            try:
                total += (self.folder / segment_name(seq0)).stat().st_size
            except FileNotFoundError:
                continue  # freed meanwhile
        return total

    def close(self) -> None:
        """Let go of the segment; the place is kept."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._header = -1, None
        self._ahead, self._used, self._at = b"", 0, 0

    def _open(self) -> bool:
        path = self.folder / segment_name(self.next_seq)
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        self._header = read_header(os.pread(self._fd, HEADER_BYTES, 0), path)
        if self._header.seq0 != self.next_seq:
            raise OutboxCorrupted(f"{path} begins with seq {self._header.seq0}; set it aside")
        self._at = HEADER_BYTES
        return True

    def _has_later_segment(self) -> bool:
        firsts = segment_seqs(self.folder)
        return bool(firsts) and self._header is not None and firsts[-1] > self._header.seq0

    def _take(self, max_events: int, max_bytes: int) -> Region | None:
        records: list[bytes] = []
        size = self._collect(records, max_events, max_bytes)
        if len(records) < max_events and size < max_bytes:
            self._refill()
            self._collect(records, max_events, max_bytes - size)
        if not records or self._header is None:
            return None
        region = Region(self.next_seq, len(records), self._header.t0_us, b"".join(records))
        self.next_seq += len(records)
        self._places.append((self.next_seq, self._header.seq0, self._at + self._used))
        return region

    def _collect(self, records: list[bytes], max_events: int, max_bytes: int) -> int:
        """Take whole frames from the buffer; the shipper's inner loop, hence flat."""
        data, at, room = self._ahead, self._used, max_bytes
        last = len(data) - FRAME_BYTES
        left = max_events - len(records)
        take = records.append
        while left and at <= last:
            size, crc = _unpack(data, at)
            end = at + FRAME_BYTES + size
            if not size or end > last + FRAME_BYTES or size > room:
                break
            record = data[at + FRAME_BYTES : end]
            if crc32(record) != crc:
                break
            take(record)
            room -= size
            left -= 1
            at = end
        self._used = at
        return max_bytes - room

    def _refill(self) -> None:
        """Read on from the first byte not taken; a frame larger than a read gets the room it asks for."""
        self._at += self._used
        self._used = 0
        self._ahead = b""
        head = os.pread(self._fd, FRAME_BYTES, self._at)
        size = _unpack(head)[0] if len(head) == FRAME_BYTES else 0
        if size:
            want = max(_READ_BYTES, FRAME_BYTES + min(size, 2 * MAX_BATCH_BYTES))
            self._ahead = os.pread(self._fd, want, self._at)
