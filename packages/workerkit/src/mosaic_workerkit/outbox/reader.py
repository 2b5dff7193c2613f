"""The shipper's side of the outbox: whole records from any seq on, undecoded."""

import os
import platform
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from mosaic_base.locks import is_locked
from mosaic_workerkit.errors import OutboxCorrupted
from mosaic_workerkit.outbox.segment import (
    CUT,
    CUTS,
    HEAD_BYTES,
    OFFSETS,
    SHIFT,
    TABLE_AT,
    WAITING_FILE,
    WORD_AT,
    WRITER_LOCK,
    SegmentHeader,
    read_header,
    segment_name,
    segment_seqs,
)

_KEEPS_STORE_ORDER = platform.machine().lower() in ("x86_64", "amd64", "i686")
"""Whether a reader that sees the word sees the record too. Elsewhere the word of the look before is taken: looks are
milliseconds apart, and a store is seen within microseconds."""
_raws = msgspec.msgpack.Decoder(list[msgspec.Raw])


class Region(NamedTuple):
    """Consecutive records, ready for `wire.join_batch`."""

    seq0: int
    n: int
    t0_us: int
    records: bytes
    is_full: bool = False
    """Whether the region ends at a cut of the writer, so that more may be waiting."""

    def split(self) -> list[bytes]:
        """Return the records one by one.

        Raises:
            OutboxCorrupted: these are not `n` msgpack values.
        """
        try:
            return [bytes(raw) for raw in _raws.decode(_array32(self.n) + self.records)]
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise OutboxCorrupted(
                f"seq {self.seq0} to {self.seq0 + self.n - 1} are damaged: {error}"
            ) from error


class _Position(NamedTuple):
    """A point between two records of one segment."""

    seq: int
    """First seq behind it."""
    at: int
    """Offset."""


class OutboxReader:
    """Reads an outbox while it is written. A region ends at a cut of the writer, or at the last published record."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.next_seq = 1
        """First seq that was not read yet."""
        self._fd = -1
        self._at = 0
        self._header: SegmentHeader | None = None
        self._cut = 0
        """Entry of the table that ends the region being read."""
        self._cut_at = 0
        """Where that region begins; read whole from there, its CRC can be checked."""
        self._skip = 0
        """Records between the place and `next_seq`, after a seek into the middle of a region."""
        self._seen: _Position | None = None

    def seek(self, seq: int) -> None:
        """Go to `seq`, or to the oldest kept seq if that is higher."""
        self.close()
        firsts = segment_seqs(self.folder)
        below = [first for first in firsts if first <= seq]
        self.next_seq = below[-1] if below else (firsts[0] if firsts else seq)
        if not below or not self._open():
            return
        seq = min(seq, _position(os.pread(self._fd, 8, WORD_AT), self._name()).seq)
        begin = self.next_seq
        while (cut := self._read_cut(self._cut)) is not None and cut.seq <= seq:
            self._cut, self._cut_at, self._at = self._cut + 1, cut.at, cut.at
            begin = cut.seq
        self._skip = seq - begin
        self.next_seq = seq

    def last_seq(self) -> int:
        """Return the last seq that the writer published; 0 if there is none."""
        firsts = segment_seqs(self.folder)
        if not firsts:
            return self._published().seq - 1 if self._fd >= 0 else 0
        path = self.folder / segment_name(firsts[-1])
        try:
            with path.open("rb") as file:
                return _position(os.pread(file.fileno(), 8, WORD_AT), path).seq - 1
        except FileNotFoundError:
            return firsts[-1] - 1  # freed meanwhile

    def read(self) -> Region | None:
        """Return the next records, or None if there are none yet.

        Raises:
            OutboxCorrupted: the segment is damaged.
        """
        if self._fd < 0 and not self._open():
            return None
        region = self._take()
        if region is None and self._is_deleted() and segment_seqs(self.folder):
            # The writer has written the segment again, and goes on there.
            self.seek(self.next_seq)
            region = self._take() if self._fd >= 0 else None
        if region is None and self._has_later_segment():
            # The writer has gone on. What it wrote last here may be newer than our look.
            region = self._take()
            if region is None:
                damaged = self._header
                self.close()
                if not self._open():
                    raise OutboxCorrupted(
                        f"seq {self.next_seq} is missing behind {damaged}; set the outbox aside"
                    )
                region = self._take()
        return region

    def writer_is_dead(self) -> bool:
        """Whether no process can append any more."""
        try:
            return not is_locked(self.folder / WRITER_LOCK)
        except FileNotFoundError:
            return True

    def is_waited_for(self) -> bool:
        """Whether the trainer waits because the outbox is full."""
        # One that was killed while it waited leaves the file.
        return (self.folder / WAITING_FILE).exists() and not self.writer_is_dead()

    def unfreed_bytes(self) -> int:
        """Bytes of the outbox: whole segments, and of the one being read what was read."""
        total = 0
        for seq0 in segment_seqs(self.folder):
            if self._header is not None and seq0 == self._header.seq0:
                total += self._at
                continue
            try:
                total += (self.folder / segment_name(seq0)).stat().st_size
            except FileNotFoundError:
                continue  # freed meanwhile
        return total

    def close(self) -> None:
        """Close the segment. The position is kept."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._header, self._seen = -1, None, None
        self._at = self._cut = self._cut_at = self._skip = 0

    def _open(self) -> bool:
        path = self.folder / segment_name(self.next_seq)
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        self._header = read_header(os.pread(self._fd, WORD_AT, 0), path)
        if self._header.seq0 != self.next_seq:
            raise OutboxCorrupted(
                f"{path} begins with seq {self._header.seq0} and not with that of its name; move it out of the folder"
            )
        self._at = self._cut_at = HEAD_BYTES
        self._cut = self._skip = 0
        self._seen = None if _KEEPS_STORE_ORDER else _Position(self.next_seq, HEAD_BYTES)
        return True

    def _has_later_segment(self) -> bool:
        firsts = segment_seqs(self.folder)
        return bool(firsts) and self._header is not None and firsts[-1] > self._header.seq0

    def _is_deleted(self) -> bool:
        """Whether somebody deleted the segment being read; it is freed only when it was read to its end."""
        return self._fd >= 0 and not os.fstat(self._fd).st_nlink

    def _published(self) -> _Position:
        now = _position(os.pread(self._fd, 8, WORD_AT), self._name())
        if self._seen is None:
            return now
        before, self._seen = self._seen, now
        return before

    def _read_cut(self, number: int) -> _Position | None:
        """A cut of the writer's, or None when it has not come to it."""
        if number >= CUTS:
            return None
        data = os.pread(self._fd, 8, TABLE_AT + number * CUT.size)
        return _position(data, self._name()) if len(data) == 8 and any(data) else None

    def _take(self) -> Region | None:
        if self._header is None:
            return None
        published = self._published()
        if published.seq <= self.next_seq:
            return None
        cut = self._pass_cuts()
        seq0 = self.next_seq - self._skip
        is_whole = cut is not None and cut.seq <= published.seq
        end = cut if cut is not None and is_whole else published
        data = os.pread(self._fd, end.at - self._at, self._at)
        if len(data) != end.at - self._at:
            raise OutboxCorrupted(f"{self._name()} was cut short; move it out of the folder")
        if is_whole and self._at == self._cut_at:
            self._check(data)
        region = Region(seq0, end.seq - seq0, self._header.t0_us, data, is_whole)
        self._at = end.at
        if is_whole:
            self._cut, self._cut_at = self._cut + 1, end.at
        if self._skip:
            rest = region.split()[self._skip :]
            region = Region(self.next_seq, len(rest), region.t0_us, b"".join(rest), is_whole)
        self._skip, self.next_seq = 0, end.seq
        return region

    def _pass_cuts(self) -> _Position | None:
        """The next cut behind `next_seq`. One may have been noted after all before it was read as a tail."""
        while (cut := self._read_cut(self._cut)) is not None and cut.seq <= self.next_seq:
            self._cut, self._cut_at, self._at = self._cut + 1, cut.at, cut.at
            self._skip = 0
        return cut

    def _check(self, data: bytes) -> None:
        entry = os.pread(self._fd, CUT.size, TABLE_AT + self._cut * CUT.size)
        if CUT.unpack(entry)[1] != crc32(data):
            raise OutboxCorrupted(
                f"seq {self.next_seq} or one behind it is damaged, in {self._name()}; move it out of the folder"
            )

    def _name(self) -> Path:
        seq0 = self._header.seq0 if self._header is not None else self.next_seq
        return self.folder / segment_name(seq0)


def _position(data: bytes, path: Path) -> _Position:
    if len(data) < 8:
        raise OutboxCorrupted(f"{path} is shorter than a segment's head; move it out of the folder")
    word = int.from_bytes(data, "little")
    return _Position(word >> SHIFT, word & OFFSETS)


def _array32(n: int) -> bytes:
    """Head of a msgpack array of `n` values."""
    return b"\xdd" + n.to_bytes(4, "big")
