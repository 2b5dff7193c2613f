"""The trainer's progress: 64 bytes, mapped, in `control/progress`. No system call to write.

Five little-endian 64-bit words: magic, step, total (0: unknown), CLOCK_MONOTONIC in ns, pid. Reader and writer
share the host, hence the clock.
"""

import mmap
import os
import struct
import time
from pathlib import Path
from typing import NamedTuple

from mosaic_contracts.launch import PROGRESS_FILE

_BYTES = 64
_MAGIC = 0x31474F52504F534D
_words = struct.Struct("<5Q")


class ProgressWord(NamedTuple):
    """The progress that the trainer wrote last."""

    step: int
    total: int | None
    age_s: float
    """Since it was written."""


class ProgressWriter:
    """Writes the progress, for the trainer."""

    def __init__(self, run_dir: Path) -> None:
        self._path = run_dir / PROGRESS_FILE
        self._map = _make(self._path)
        # Word stores, never pack_into: that zeroes bytes first and a reader would see the zero.
        self._words = memoryview(self._map).cast("Q")
        self._words[4] = os.getpid()
        self.write(0, None)
        self._words[0] = _MAGIC

    @property
    def is_deleted(self) -> bool:
        """Whether the file was deleted."""
        return not self._path.exists()

    def restore(self) -> None:
        """Make the file again.

        Raises:
            OSError: its folder cannot be made.
        """
        made = _make(self._path)
        words = self._words.tolist()
        self.close()
        self._map = made
        self._words = memoryview(self._map).cast("Q")
        for place in (1, 2, 3, 4, 0):
            self._words[place] = words[place]

    def write(self, step: int, total: int | None = None) -> None:
        """Write that `step` environment steps are done, of `total` when that is known."""
        words = self._words
        words[1] = step
        if total is not None:
            words[2] = total
        words[3] = time.monotonic_ns()

    def close(self) -> None:
        """Let go of the file; what was written stays."""
        self._words.release()
        self._map.close()


def _make(path: Path) -> mmap.mmap:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        os.posix_fallocate(fd, 0, _BYTES)
        return mmap.mmap(fd, _BYTES)
    finally:
        os.close(fd)


def read_progress(run_dir: Path) -> ProgressWord | None:
    """The progress that the trainer wrote last, or None when it has written none yet."""
    try:
        data = (run_dir / PROGRESS_FILE).read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < _words.size:
        return None
    magic, step, total, written_ns, _pid = _words.unpack_from(data)
    if magic != _MAGIC:
        return None
    age_s = max(0.0, (time.monotonic_ns() - written_ns) / 1e9)
    return ProgressWord(step, total or None, age_s)
