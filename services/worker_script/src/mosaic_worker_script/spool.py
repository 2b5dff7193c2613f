"""Reads the spool: the files to which the processes of a script append their lines (`mosaic_hook.spool`)."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from mosaic_hook.spool import BELL

_CHUNK = 1 << 20
OnLines = Callable[[str, list[bytes]], None]
"""Called with the process that wrote the lines and the lines, without their ends."""


class SpoolReader:
    """Reads every line once, in the order of each process.

    Args:
        folder: where the spool is made. What a killed attempt of the run has left there is deleted.
        on_lines: called with what was read.
    """

    def __init__(self, folder: Path, on_lines: OnLines) -> None:
        self.folder = folder
        self._on_lines = on_lines
        self._open: dict[str, _Segment] = {}
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        bell = folder / BELL
        os.mkfifo(bell, 0o600)
        # Open for reading and writing: with the last writer gone the pipe must not look readable for ever.
        self.bell = os.open(bell, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        """File descriptor that can be read when there is something new."""

    def close(self) -> None:
        """Close what is open, and delete the spool."""
        os.close(self.bell)
        for segment in self._open.values():
            segment.close()
        for entry in self.folder.iterdir():
            entry.unlink()
        self.folder.rmdir()

    def hear(self) -> None:
        """Take the rings, and read what is new."""
        with suppress(BlockingIOError):  # another look has taken them
            os.read(self.bell, _CHUNK)
        self.read()

    def read(self) -> None:
        """Read what is new. A file that is followed by another of its process is deleted when it was read."""
        names = sorted(path.name for path in self.folder.glob("*.jsonl"))
        for at, name in enumerate(names):
            if name not in self._open:
                self._open[name] = _Segment(self.folder / name)
            segment = self._open[name]
            process = name.rpartition("-")[0]
            for lines in segment.lines():
                self._on_lines(process, lines)
            is_followed = at + 1 < len(names) and names[at + 1].rpartition("-")[0] == process
            if is_followed and segment.is_read:
                self._open.pop(name).close()
                (self.folder / name).unlink()


class _Segment:
    """One file of the spool, read up to some place."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._rest = b""

    def close(self) -> None:
        self._file.close()

    @property
    def is_read(self) -> bool:
        """Whether all of the file was read; half a line at its end is what a killed process left."""
        return self._file.tell() == os.fstat(self._file.fileno()).st_size

    def lines(self) -> "list[list[bytes]]":
        """The complete lines that were not read yet, in chunks."""
        chunks = []
        while data := self._file.read(_CHUNK):
            *lines, self._rest = (self._rest + data).split(b"\n")
            if lines:
                chunks.append(lines)
        return chunks
