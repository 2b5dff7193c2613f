"""The trainer's side of the outbox: two stores into a mapped segment an event, no thread, no broker.

Mapped, for a `write()` an event costs six times the encoding (benchmarks/outbox.py); allocated before it is
mapped, so that a full disk is an ENOSPC at a segment's start and never a SIGBUS. What was stored is in the page
cache and outlives a SIGKILL at any instant.
"""

import errno
import mmap
import os
import select
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from mosaic_base.locks import open_lock
from mosaic_contracts.choices import FullOutboxPolicy
from mosaic_contracts.wire import MAX_EVENT_BYTES
from mosaic_workerkit.errors import (
    ContractViolation,
    EventTooLarge,
    OutboxInUse,
    OutboxWriteFailed,
)
from mosaic_workerkit.outbox.segment import (
    CUT_BYTES,
    CUT_EVENTS,
    CUTS,
    FREED_PIPE,
    HEAD_BYTES,
    SHIFT,
    TABLE_AT,
    WAITING_FILE,
    WORD_AT,
    WRITER_LOCK,
    SegmentHeader,
    segment_name,
    segment_seqs,
)

SEGMENT_BYTES = 32 * 2**20
_SMALLEST_SEGMENT_BYTES = 4 * 2**20
"""Holds the largest event."""
_ROOM_CHECK_S = 0.01
"""While steps are dropped, looking for room costs a listing of the folder: not at every step."""
_WAIT_CHECK_MS = 1000
"""A wake-up comes through the pipe; this bounds what a shipper killed between freeing and the wake-up can cost."""
_WORD = WORD_AT // 8
_TABLE = TABLE_AT // 8
"""Places in the segment seen as 64-bit words. One is stored by a single instruction, which `struct.pack_into` does not
promise (it zeroes the bytes first)."""
_UNIT = 1 << SHIFT


class OutboxWriter:
    """Appends encoded records to an outbox. One writer and one thread for each attempt.

    Args:
        folder: see `outbox_dir`; made when absent.
        quota_bytes: bound of the unfreed segments on disk, as allocated.
        policy: what to do at the bound.

    Raises:
        OutboxInUse: another writer holds the folder, or one has written there before.
        OutboxWriteFailed: the disk has no room for a segment.
    """

    def __init__(
        self,
        folder: Path,
        run_id: str,
        attempt: int,
        source: str,
        quota_bytes: int,
        policy: FullOutboxPolicy = FullOutboxPolicy.WAIT,
    ) -> None:
        self._folder = folder
        self._quota_bytes = quota_bytes
        self._policy = policy
        self._segment_bytes = max(min(SEGMENT_BYTES, quota_bytes // 4), _SMALLEST_SEGMENT_BYTES)
        self.next_seq = 1
        self.thinned = 0
        """Steps dropped since the last event; the next kept event reports them."""
        self.t0_us = time.time_ns() // 1000
        self.t0_ns = time.monotonic_ns()
        self._header = SegmentHeader(run_id, attempt, source, 1, self.t0_us)
        self._next_room_check = 0.0
        self._map: mmap.mmap | None = None
        self._words: memoryview[int] | None = None
        self._fd = -1
        self._seq0 = 1
        """First seq of the mapped segment."""
        self._at = 0
        self._end = 0
        """Bytes of the mapped segment."""
        self._limit = 0
        """Up to here records go without a new cut or segment; 0 sends every append into `_make_room`."""
        self._cuts = 0
        self._cut_at = 0
        self._cut_seq = 0
        """At this next seq a cut is due."""
        folder.mkdir(parents=True, exist_ok=True)
        self._lock_fd = _lock(folder)
        _live.add(self)
        self._open_segment()

    def append(self, record: bytes, may_drop: bool = False) -> bool:
        """Store one record, whose seq must be `next_seq`. Waits at the quota.

        `may_drop`: policy `thin` may drop it there, which is counted; then False is returned.

        Raises:
            EventTooLarge: the record is above `MAX_EVENT_BYTES`.
            OutboxWriteFailed: the disk is full; nothing of the record was kept.
        """
        at = self._at
        end = at + len(record)
        if end > self._limit:
            if not self._make_room(len(record), may_drop):
                self.thinned += 1
                return False
            at = self._at
            end = at + len(record)
        # None never gets here: without a map _limit is 0.
        self._map[at:end] = record  # type: ignore[index]
        self._at = end
        self.next_seq = seq = self.next_seq + 1
        # Only now, and in one store, is the record there for a reader.
        self._words[_WORD] = seq * _UNIT + end  # type: ignore[index]
        if seq == self._cut_seq:
            self._cut()
        return True

    def append_all(self, records: Sequence[bytes]) -> bool:
        """Store several records, published at once, where no cut and no new segment comes between them.

        Returns:
            False where one does; then nothing is stored, and each record has to be appended by itself.
        """
        data = b"".join(records)
        at = self._at
        end = at + len(data)
        seq = self.next_seq + len(records)
        if end > self._limit or seq > self._cut_seq:
            return False
        self._map[at:end] = data  # type: ignore[index] # see `append`
        self._at = end
        self.next_seq = seq
        self._words[_WORD] = seq * _UNIT + end  # type: ignore[index]
        if seq == self._cut_seq:
            self._cut()
        return True

    def has_room(self) -> bool:
        """Return whether a segment was freed since steps are thinned. It is cheap enough for every step."""
        now = time.monotonic()
        if now < self._next_room_check:
            return False
        self._next_room_check = now + _ROOM_CHECK_S
        return self._limit > 0 or self._is_below_quota()

    def close(self) -> None:
        """Cut the last segment to its content and release the folder."""
        if self._lock_fd >= 0:
            self._seal()
            os.close(self._lock_fd)
            self._lock_fd = -1
        _live.discard(self)

    @property
    def is_deleted(self) -> bool:
        """Whether the file of the current segment was deleted."""
        return self._map is not None and not os.fstat(self._fd).st_nlink

    def restore(self) -> bool:
        """Write the segment again whose file was deleted under it; returns whether that was needed.

        A program may empty its output folder, which is the run's. Segments that wait behind this one are lost then.

        Raises:
            OutboxWriteFailed: the disk refused.
        """
        if not self.is_deleted:
            return False
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not os.fstat(self._lock_fd).st_nlink:
                deleted, self._lock_fd = self._lock_fd, _lock(self._folder)
                os.close(deleted)
            self._copy_segment()
        except (FileNotFoundError, FileExistsError, NotADirectoryError):
            return False  # the program is still deleting; the next look finds it done
        except OSError as error:
            raise OutboxWriteFailed(_why(error, self._folder)) from error
        return True

    def _copy_segment(self) -> None:
        path = self._folder / segment_name(self._seq0)
        draft = path.with_suffix(".draft")
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, self._end)
            view = mmap.mmap(fd, self._end)
            if self._map is not None:
                view[: self._at] = self._map[: self._at]
            draft.rename(path)
        except BaseException:
            os.close(fd)
            raise
        limit = self._limit
        self._unmap()
        os.close(self._fd)
        self._fd, self._map, self._words = fd, view, memoryview(view).cast("Q")
        self._limit = limit

    def _make_room(self, size: int, may_drop: bool) -> bool:
        if self._lock_fd < 0:
            raise ContractViolation(
                "this outbox is closed, or belongs to the process that forked this one: "
                "send telemetry from the process that opened it"
            )
        if size > MAX_EVENT_BYTES:
            raise EventTooLarge(
                f"an event of {size} bytes is above {MAX_EVENT_BYTES}: write the data to a file "
                "and announce it as an artifact"
            )
        if self._map is not None and self._at + size <= self._end:
            self._cut()
            if self._limit > 0:
                return True
        # Sealed first, so that the shipper may free the whole of what is waiting.
        self._seal()
        if not self._is_below_quota():
            if may_drop and self._policy is FullOutboxPolicy.THIN:
                self._next_room_check = time.monotonic() + _ROOM_CHECK_S
                return False
            self._wait_for_room()
        self._open_segment()
        return True

    def _is_below_quota(self) -> bool:
        used = 0
        for seq0 in segment_seqs(self._folder):
            try:
                used += (self._folder / segment_name(seq0)).stat().st_size
            except FileNotFoundError:
                continue  # freed between listing and looking
        return used + self._segment_bytes <= self._quota_bytes

    def _wait_for_room(self) -> None:
        """Stand still until the shipper has freed a segment, woken through the pipe."""
        pipe = self._folder / FREED_PIPE
        if not pipe.is_fifo():
            os.mkfifo(pipe, 0o600)
        # Open for both, or opening would wait for a writer and the end of one would look like data.
        fd = os.open(pipe, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        waiting = self._folder / WAITING_FILE
        try:
            waiting.touch()
            poll = select.poll()
            poll.register(fd, select.POLLIN)
            while not self._is_below_quota():
                if poll.poll(_WAIT_CHECK_MS):
                    os.read(fd, 4096)
        finally:
            waiting.unlink(missing_ok=True)
            os.close(fd)

    def _open_segment(self) -> None:
        """Make the segment that begins with `next_seq`: allocated, headed, and only then under its name."""
        path = self._folder / segment_name(self.next_seq)
        if path.exists():
            raise OutboxInUse(f"{path} exists: an attempt has one writer; start a new attempt")
        draft = path.with_suffix(".draft")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd, size = self._allocate(draft)
            try:
                self._seq0 = self.next_seq
                os.pwrite(fd, self._header._replace(seq0=self.next_seq).to_bytes(), 0)
                view = mmap.mmap(fd, size)
                words = memoryview(view).cast("Q")
                words[_WORD] = self.next_seq * _UNIT + HEAD_BYTES
                draft.rename(path)
            except BaseException:
                os.close(fd)
                raise
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise OutboxWriteFailed(_why(error, self._folder)) from error
        self._fd, self._map, self._words = fd, view, words
        self._at, self._end = HEAD_BYTES, size
        self._cuts = 0
        self._begin_cut()

    def _allocate(self, draft: Path) -> tuple[int, int]:
        """Make a file with blocks under all of it: of the usual size, or of what a nearly full disk has left."""
        fd = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        size = self._segment_bytes
        try:
            while True:
                try:
                    os.posix_fallocate(fd, 0, size)
                except OSError as error:
                    if error.errno != errno.ENOSPC or size <= _SMALLEST_SEGMENT_BYTES:
                        raise
                    os.ftruncate(fd, 0)
                    size = max(size // 2, _SMALLEST_SEGMENT_BYTES)
                else:
                    return fd, size
        except BaseException:
            os.close(fd)
            raise

    def _cut(self) -> None:
        """Note that a batch may end here. The CRC goes first: the word is what makes the entry."""
        if self._at > self._cut_at and self._map is not None and self._words is not None:
            place = _TABLE + 2 * self._cuts
            with memoryview(self._map) as whole, whole[self._cut_at : self._at] as part:
                self._words[place + 1] = crc32(part)
            self._words[place] = self.next_seq * _UNIT + self._at
            self._cuts += 1
        self._begin_cut()

    def _begin_cut(self) -> None:
        self._cut_at = self._at
        self._cut_seq = self.next_seq + CUT_EVENTS
        # Without an entry for the next cut the segment is full.
        self._limit = min(self._end, self._at + CUT_BYTES) if self._cuts < CUTS else 0

    def _seal(self) -> None:
        if self._map is None:
            return
        self.restore()
        self._cut()
        self._unmap()
        os.ftruncate(self._fd, self._at)
        os.close(self._fd)
        self._fd, self._end = -1, 0

    def _unmap(self) -> None:
        if self._words is not None:
            self._words.release()
        if self._map is not None:
            self._map.close()
        self._map, self._words, self._limit = None, None, 0

    def _leave_to_parent(self) -> None:
        """In a forked child: let go without touching the file or the parent's lock."""
        if self._map is not None:
            self._unmap()
            os.close(self._fd)
        if self._lock_fd >= 0:
            os.close(self._lock_fd)
        self._fd, self._lock_fd, self._end = -1, -1, 0


def _lock(folder: Path) -> int:
    fd = open_lock(folder / WRITER_LOCK)
    if fd is None:
        raise OutboxInUse(f"{folder} has a living writer; one process writes a run's events")
    if os.fstat(fd).st_size:
        os.close(fd)
        raise OutboxInUse(f"{folder} was written by an earlier process; start a new attempt")
    os.write(fd, f"{os.getpid()}\n".encode())
    return fd


def _why(error: OSError, folder: Path) -> str:
    if error.errno == errno.ENOSPC:
        return (
            f"the disk has no room for more telemetry in {folder}: "
            "free space and start the run again"
        )
    return f"cannot write telemetry in {folder}: {error}"


_live: "weakref.WeakSet[OutboxWriter]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for writer in list(_live):
        writer._leave_to_parent()


os.register_at_fork(after_in_child=_after_fork_in_child)
