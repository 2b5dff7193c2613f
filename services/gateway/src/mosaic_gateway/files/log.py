"""The worker's log, by byte offset or from its end. Read without the broker: it is a file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mosaic_contracts.launch import WORKER_LOG
from mosaic_contracts.problems import ProblemError
from mosaic_gateway.files.artifacts import open_file

TAIL_BYTES = 2**20
"""The end of the log that a tail looks at: a progress bar may have written a gigabyte without a line end."""

LINE_BYTES = 2**16
"""A longer line of a tail shows its first `HEAD_BYTES`, the number of bytes left out, and its last `END_BYTES`."""
HEAD_BYTES = 3 * 2**14
END_BYTES = 2**13


@dataclass(frozen=True)
class LogSlice:
    """A piece of a log and the offset from which to go on."""

    text: bytes
    next_offset: int


def read_from(run_dir: Path, offset: int, limit_bytes: int) -> LogSlice:
    """Bytes from `offset`; an offset beyond the end gives nothing and the end."""
    with _open(run_dir) as fd:
        if fd is None:
            return LogSlice(b"", 0)
        size = os.fstat(fd).st_size
        start = min(offset, size)
        data = os.pread(fd, limit_bytes, start)
        kept = _whole_characters(data) if start + len(data) < size else data
        return LogSlice(kept, start + len(kept))


def read_tail(run_dir: Path, lines: int) -> LogSlice:
    """The last `lines` lines, each as a terminal would show it: only what follows its last carriage return."""
    with _open(run_dir) as fd:
        if fd is None:
            return LogSlice(b"", 0)
        size = os.fstat(fd).st_size
        start = max(0, size - TAIL_BYTES)
        data = os.pread(fd, size - start, start)
        found = data.split(b"\n")
        ended = found[-1] == b""
        if ended:
            found.pop()
        shown = [_bounded(_as_shown(line)) for line in found[-lines:]]
        if start > 0 and len(found) <= lines and b"\r" not in found[0].rstrip(b"\r"):
            shown[0] = _read_line(fd, start, start + len(found[0].rstrip(b"\r")))
    return LogSlice(b"\n".join(shown) + (b"\n" if ended and shown else b""), start + len(data))


def _as_shown(line: bytes) -> bytes:
    return line.rstrip(b"\r").rpartition(b"\r")[2]


def _read_line(fd: int, inside: int, end: int) -> bytes:
    """The line that `inside` lies in, which may begin long before."""
    begin = _line_start(fd, inside)
    if end - begin <= LINE_BYTES:
        return os.pread(fd, end - begin, begin)
    head = os.pread(fd, HEAD_BYTES, begin)
    return _joined(head, os.pread(fd, END_BYTES, end - END_BYTES), end - begin)


def _line_start(fd: int, inside: int) -> int:
    """Where the line around `inside` begins, or was last drawn again."""
    while inside > 0:
        block_start = max(0, inside - TAIL_BYTES)
        block = os.pread(fd, inside - block_start, block_start)
        found = max(block.rfind(b"\n"), block.rfind(b"\r"))
        if found >= 0:
            return block_start + found + 1
        inside = block_start
    return 0


def _bounded(line: bytes) -> bytes:
    if len(line) <= LINE_BYTES:
        return line
    return _joined(line[:HEAD_BYTES], line[-END_BYTES:], len(line))


def _joined(head: bytes, end: bytes, length: int) -> bytes:
    """Both ends of a line of `length` bytes, cut between characters."""
    head = _whole_characters(head)
    first = next((n for n in range(min(4, len(end))) if end[n] & 0xC0 != 0x80), 0)
    end = end[first:]
    return head + f" … [{length - len(head) - len(end):,} bytes left out] … ".encode() + end


def _whole_characters(data: bytes) -> bytes:
    """`data` without an UTF-8 character that was cut at its end; something is always kept."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
        return data[:-back] if length > back and len(data) > back else data
    return data


@contextmanager
def _open(run_dir: Path) -> Iterator[int | None]:
    """The log's file descriptor, or None when there is no log."""
    try:
        # As any file of the run: a worker may have put a folder, a pipe or a link in its place.
        fd = open_file(run_dir, WORKER_LOG).fd
    except ProblemError:
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)
