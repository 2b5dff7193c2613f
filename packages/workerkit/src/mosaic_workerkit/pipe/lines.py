"""Cuts a byte stream into lines, whatever their length, in bounded memory."""

import re
from typing import NamedTuple

from mosaic_workerkit.pipe.reading import BYTE_ORDER_MARK

MAX_LINE_BYTES = 2**20
"""Longer lines are no events: an event may not be larger than the wire's 2 MiB, and a line is text."""
SHOWN_BYTES = 200
_END_BYTES = 4096

_ENDS = re.compile(rb"[\r\n]")


class OutputLine(NamedTuple):
    """One line without its end. If it is above the limit, only its beginning."""

    data: bytes
    size: int
    ends: tuple[bytes, bytes] = (b"", b"")
    """More of the beginning and the end of a line above the limit, when it begins like a JSON object."""

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
        self._end = b""

    def feed(self, chunk: bytes) -> list[OutputLine]:
        """Whole lines that end in this chunk; empty ones are left out."""
        return [
            OutputLine(line, len(line)) if isinstance(line, bytes) else line
            for line in self.cut(chunk)
        ]

    def cut(self, chunk: bytes) -> list[bytes | OutputLine]:
        """As `feed`, with plain bytes for a line that is whole: most are, and they need no more."""
        parts = _ENDS.split(chunk) if b"\r" in chunk else chunk.split(b"\n")
        rest = parts.pop()
        lines: list[bytes | OutputLine] = []
        # Only the first line has a beginning in an earlier chunk; the others are whole, and of allowed length.
        held = parts if len(chunk) > self._limit else parts[:1]
        for part in held:
            self._hold(part)
            lines += self._take_held()
        lines += filter(None, parts[len(held) :])
        self._hold(rest)
        return lines

    def finish(self) -> list[OutputLine]:
        """What stands there without an end: one line, or none."""
        return [
            OutputLine(line, len(line)) if isinstance(line, bytes) else line
            for line in self._take_held()
        ]

    def _take_held(self) -> list[bytes | OutputLine]:
        size, data, end = self._size, b"".join(self._parts), self._end
        self._parts, self._held, self._size, self._end = [], 0, 0, b""
        if not size:
            return []
        if size <= self._limit:
            return [data]
        ends = (data[:_END_BYTES], (data[-_END_BYTES:] + end)[-_END_BYTES:])
        is_object = data.removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"{")
        return [OutputLine(data[:SHOWN_BYTES], size, ends if is_object else (b"", b""))]

    def _hold(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self._held <= self._limit:
            kept = part[: self._limit + 1 - self._held]
            self._parts.append(kept)
            self._held += len(kept)
            part = part[len(kept) :]
        if part:
            self._end = (self._end + part[-_END_BYTES:])[-_END_BYTES:]
