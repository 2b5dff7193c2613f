"""Cuts a byte stream into lines, whatever their length, in bounded memory."""

import re
from typing import NamedTuple

from mosaic_workerkit.pipe.reading import BYTE_ORDER_MARK

MAX_LINE_BYTES = 2**20
"""Maximum size in bytes of a line that can be an event, below the 2 MiB that the wire permits."""
SHOWN_BYTES = 200
_END_BYTES = 4096

_ENDS = re.compile(rb"[\r\n]")


class OutputLine(NamedTuple):
    """One line without its line end; only the beginning if it is above the limit."""

    data: bytes
    size: int
    ends: tuple[bytes, bytes] = (b"", b"")
    """Longer beginning and end of a line above the limit, if it begins like a JSON object."""

    @property
    def is_whole(self) -> bool:
        """Whether `data` is the complete line."""
        return len(self.data) == self.size


class LineSplitter:
    """Splits output into lines that end with LF, CR LF or CR alone, so that a progress bar is no endless line."""

    def __init__(self, limit_bytes: int = MAX_LINE_BYTES) -> None:
        self._limit = limit_bytes
        self._parts: list[bytes] = []
        self._held = 0
        self._size = 0
        self._end = b""

    def feed(self, chunk: bytes) -> list[OutputLine]:
        """Return the complete lines that end in this chunk, without empty ones."""
        return [
            OutputLine(line, len(line)) if isinstance(line, bytes) else line
            for line in self.cut(chunk)
        ]

    def cut(self, chunk: bytes) -> list[bytes | OutputLine]:
        """Return lines as `feed` does, with plain bytes for complete lines, which is faster."""
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
        """Return the last line if it has no line end."""
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
