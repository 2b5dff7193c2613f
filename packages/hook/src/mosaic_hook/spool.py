"""Appends lines to the spool, a folder that the run's worker reads.

A process writes files of its own, `PID-START-NUMBER.jsonl`, one after the other: the reader deletes each when it has
read it and the next one is there. A line is one `write` to a file, so that it survives whatever ends the process, and
lines of several threads stay whole. A forked child begins a file of its own.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any, Mapping

SEGMENT_BYTES = 2 * 2**20
"""A file that has this size is followed by another."""
UNREAD_SEGMENTS = 8
"""While more full files are unread, of all processes, the script waits. What is unread at a stop must be read within
the grace of the run: 16 MiB are about 120,000 steps, and 3 s of processor time for the reader."""
BELL = "bell"
"""Named pipe that wakes the reader."""
_RING_S = 0.02
_WAIT_S = 0.05


class Spool:
    """The lines of this process.

    Args:
        folder: an existing folder; the reader has made a named pipe `BELL` in it.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._begin()
        os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        """Begin the files of this process; of a fork, those of the child."""
        self._stem = f"{os.getpid()}-{time.time_ns()}"
        self._number = 0
        self._file = -1
        self._size = 0
        self._bell = -1
        self._rung_at = 0.0

    def add(self, fields: Mapping[str, Any]) -> None:
        """Append one line. Values that JSON does not know are written as text.

        Raises:
            OSError: the disk is full, or the folder is gone.
        """
        self.add_line(json.dumps(fields, default=str) + "\n")

    def add_line(self, line: str) -> None:
        """Append one line that is JSON already and ends with a line break.

        Raises:
            OSError: as for `add`.
        """
        data = line.encode("utf-8", "backslashreplace")
        if self._file < 0 or self._size >= SEGMENT_BYTES:
            self._next_file()
        self._size += len(data)
        written = os.write(self._file, data)
        while written < len(data):  # a signal or a nearly full disk
            written += os.write(self._file, data[written:])
        now = time.monotonic()
        if now - self._rung_at > _RING_S:
            self._rung_at = now
            self._ring()

    def _next_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        while self._unread() > UNREAD_SEGMENTS:
            self._ring()
            time.sleep(_WAIT_S)
        path = os.path.join(self.folder, f"{self._stem}-{self._number:06d}.jsonl")
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        self._file = os.open(path, flags, 0o600)
        self._number += 1
        self._size = 0

    def _unread(self) -> int:
        """Number of files that are full: each process has one more."""
        names = [name for name in os.listdir(self.folder) if name.endswith(".jsonl")]
        return len(names) - len({name.rpartition("-")[0] for name in names})

    def _ring(self) -> None:
        """Wake the reader. Without one nothing happens: it reads everything when it looks next."""
        try:
            if self._bell < 0:
                flags = os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC
                self._bell = os.open(os.path.join(self.folder, BELL), flags)
            os.write(self._bell, b".")
        except BlockingIOError:
            pass  # full of rings that are not heard yet
        except OSError:
            if self._bell >= 0:
                os.close(self._bell)
            self._bell = -1
