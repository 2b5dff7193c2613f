"""Keeps a few MiB of the database's volume for deletions: on a full disk nothing else could be removed (ADR 0029)."""

import os
from pathlib import Path

from mosaic_servicekit.logging import get_log

SPARE_BYTES = 16 * 2**20
PORTION_BYTES = 4 * 2**20
"""Given up at once: enough for the logs of both databases. What is left is for another try."""
MIN_FREE_BYTES = 2 * 2**20
"""With fewer free bytes a portion is given up."""


class SpareSpace:
    """A file that only takes space. Blocks for the time of one small system call each: call it in a thread."""

    def __init__(self, path: Path) -> None:
        """`path`: in the folder of the databases."""
        self._path = path

    @property
    def device(self) -> int | None:
        """Device number of its volume; None: its folder is not there yet."""
        try:
            return self._path.parent.stat().st_dev
        except FileNotFoundError:
            return None

    def fill(self) -> None:
        """Take the space again, on a volume that has enough. Raises OSError: the volume refuses."""
        if self._size() >= SPARE_BYTES:
            return
        fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, SPARE_BYTES)
        finally:
            os.close(fd)

    def release(self) -> None:
        """Give up a portion for a deletion that comes next, if the volume is full."""
        size = self._size()
        if not size:
            return
        space = os.statvfs(self._path.parent)
        if space.f_bavail * space.f_frsize >= MIN_FREE_BYTES:
            return
        os.truncate(self._path, max(0, size - PORTION_BYTES))
        get_log().warning("disk.spare_released", left_bytes=max(0, size - PORTION_BYTES))

    def _size(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0
