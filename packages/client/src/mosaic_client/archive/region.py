"""Part of a file as a file of its own; its end may still be in the making."""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO


class _Region(io.RawIOBase):
    def __init__(self, path: Path, start: int, wait_beyond: Callable[[int], int]) -> None:
        self._file = path.open("rb", 0)
        self._start, self._at, self._size = start, 0, 0
        self._wait_beyond = wait_beyond

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # what BufferedReader gives
        if self._at == self._size:
            self._size = self._wait_beyond(self._at)
        size = min(len(buffer), self._size - self._at)
        piece = os.pread(self._file.fileno(), size, self._start + self._at)
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()


def open_region(path: Path, start: int, wait_beyond: Callable[[int], int]) -> BinaryIO:
    """Open bytes of a file from `start` on for reading.

    Args:
        path: the file.
        start: where the region begins.
        wait_beyond: called with the number of bytes that were read. It waits until the region has more, and returns
            how many it has; the same number is its end.
    """
    return io.BufferedReader(_Region(path, start, wait_beyond), 2**20)
