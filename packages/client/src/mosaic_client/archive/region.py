"""Part of a file as a file of its own."""

import io
import os
from pathlib import Path
from typing import BinaryIO


class _Region(io.RawIOBase):
    def __init__(self, path: Path, start: int, size: int) -> None:
        self._file = path.open("rb", 0)
        self._at, self._end = start, start + size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override] # what BufferedReader gives
        piece = os.pread(self._file.fileno(), min(len(buffer), self._end - self._at), self._at)
        buffer[: len(piece)] = piece
        self._at += len(piece)
        return len(piece)

    def close(self) -> None:
        self._file.close()
        super().close()


def open_region(path: Path, start: int, size: int) -> BinaryIO:
    """Open bytes `start` to `start + size` of a file for reading."""
    return io.BufferedReader(_Region(path, start, size), 2**20)
