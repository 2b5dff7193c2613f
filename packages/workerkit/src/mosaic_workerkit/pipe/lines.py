"""Cuts a byte stream into lines, whatever their length, in bounded memory."""

import re
from typing import NamedTuple

MAX_LINE_BYTES = 2**20
"""Longer lines are no events: an event may not be larger than the wire's 2 MiB, and a line is text."""
SHOWN_BYTES = 200

_ENDS = re.compile(rb"[\r\n]")


class Line(NamedTuple):
    """One line without its end. Of one above the limit only the beginning is here."""

    data: bytes
    size: int

    @property
    def is_whole(self) -> bool:
        """Whether `data` is all of it."""
        return len(self.data) == self.size


class LineSplitter:
    """Lines end with LF, CR LF or CR alone: a bar that redraws itself must not grow into one endless line."""

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._size = 0

    def feed(self, chunk: bytes) -> list[Line]:
        """Whole lines that end in this chunk; empty ones are left out."""
        *ended, rest = _ENDS.split(chunk)
        lines = []
        for part in ended:
            self._hold(part)
            lines += self.finish()
        self._hold(rest)
        return lines

    def finish(self) -> list[Line]:
        """What stands there without an end: one line, or none."""
        size, data = self._size, b"".join(self._parts)
        self._parts, self._held, self._size = [], 0, 0
        if not size:
            return []
        return [Line(data if size <= self._limit else data[:SHOWN_BYTES], size)]

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self._held <= self._limit:
            kept = part[: self._limit + 1 - self._held]
            self._parts.append(kept)
            self._held += len(kept)
