"""Watching the free bytes of the store's disk."""

import os
from collections.abc import Callable
from pathlib import Path

from mosaic_recorder.errors import DiskReserveReached

_RESUME_FACTOR = 1.05
"""Taking up again needs a little more than the reserve, or a disk at its edge would flap."""


def free_bytes(folder: Path) -> int:
    """Bytes that an ordinary user may still write on the disk of `folder`, or of its nearest parent there is."""
    while not folder.exists():
        folder = folder.parent
    stat = os.statvfs(folder)
    return stat.f_bavail * stat.f_frsize


class DiskGuard:
    """Says when the recorder must stop taking messages: before the disk is full, not after."""

    def __init__(
        self, folder: Path, reserve_bytes: int, measure: Callable[[Path], int] = free_bytes
    ) -> None:
        self.free = 0
        """Free bytes when last looked."""
        self._folder = folder
        self._reserve = reserve_bytes
        self._measure = measure
        self._low = False

    def room_for_stream(self) -> int | None:
        """Look; bytes that the broker may still add to its stream while nothing is taken. None: there is no limit."""
        self._look()
        return self.free // 2 if self._low else None

    def check(self) -> None:
        """Look.

        Raises:
            DiskReserveReached: with the numbers and what to do.
        """
        self._look()
        if self._low:
            raise DiskReserveReached(
                f"disk low: {self.free // 2**20} MiB free at {self._folder}, {self._reserve // 2**20} MiB are"
                " kept free (MOSAIC_DISK_RESERVE_BYTES); delete runs or make room, recording goes on by itself"
            )

    def _look(self) -> None:
        self.free = self._measure(self._folder)
        limit = self._reserve * (_RESUME_FACTOR if self._low else 1)
        self._low = self.free < limit
