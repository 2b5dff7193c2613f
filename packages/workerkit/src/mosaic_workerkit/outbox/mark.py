"""The committed mark: up to which seq the store has everything. Only beyond it must the outbox be kept."""

import errno
import os
from pathlib import Path

from mosaic_workerkit.outbox.segment import (
    COMMITTED_FILE,
    FREED_PIPE,
    segment_name,
    segment_seqs,
)

_DIGITS = 20
"""Every mark has the same width, so that one is written over another."""


class CommittedMark:
    """Reads and moves the committed mark, and deletes segments below it. Only the shipper uses it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.seq = max(_read(folder / COMMITTED_FILE), _first_kept(folder) - 1)

    def move(self, seq: int, is_all: bool = False) -> int:
        """Move up to `seq` and free what lies wholly below; returns the number of segments deleted.

        `is_all`: the writer is dead and wrote nothing beyond `seq`, so that the
        last segment may go too.
        """
        if seq > self.seq:
            self.seq = seq
            self._save()
        firsts = segment_seqs(self._folder)
        # A segment ends where the next begins; the end of the last one is known only when its writer is dead.
        ends = [first - 1 for first in firsts[1:]]
        if is_all and firsts:
            ends.append(self.seq)
        freed = 0
        for first, end in zip(firsts, ends, strict=False):
            if end > self.seq:
                break
            (self._folder / segment_name(first)).unlink(missing_ok=True)
            freed += 1
        if freed:
            self._wake_writer()
        return freed

    def go_back(self) -> int:
        """Go back to the oldest segment that is kept, after the store lost data, and return its first seq."""
        firsts = segment_seqs(self._folder)
        floor = min(firsts[0], self.seq + 1) if firsts else self.seq + 1
        self.seq = floor - 1
        self._save()
        return floor

    def _save(self) -> None:
        """Write the mark over the one before, in one call that a kill cannot cut.

        No fsync and no new file, for it moves with every commit of every run: an older mark after a power cut, or none,
        only sends again what is stored.
        """
        try:
            fd = os.open(
                self._folder / COMMITTED_FILE, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666
            )
            try:
                os.pwrite(fd, b"%0*d\n" % (_DIGITS, self.seq), 0)
            finally:
                os.close(fd)
        except OSError as error:
            # On a full disk freeing segments matters more than remembering it; and a folder that the program deleted
            # is made again by the writer.
            if error.errno not in (errno.ENOSPC, errno.ENOENT, errno.ENOTDIR):
                raise

    def _wake_writer(self) -> None:
        try:
            fd = os.open(self._folder / FREED_PIPE, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.ENXIO):
                return  # nobody waits
            raise
        try:
            os.write(fd, b"1")
        except BlockingIOError:
            pass  # the pipe is full of wake-ups already
        finally:
            os.close(fd)


def _read(path: Path) -> int:
    try:
        return int(path.read_text())
    except FileNotFoundError:
        return 0
    except ValueError:
        return 0  # cut short by a power loss: send again what is still there


def _first_kept(folder: Path) -> int:
    firsts = segment_seqs(folder)
    return firsts[0] if firsts else 1
