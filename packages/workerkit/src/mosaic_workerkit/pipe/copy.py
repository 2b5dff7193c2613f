"""Copies a program's output on, byte by byte, without ever making the program wait for the reader.

Nothing is changed but bars that redraw themselves (carriage returns): of these one state a second and the last are
copied, or a bar in a log would fill the disk.
"""

import errno
import os
import stat
import threading
import time
from collections import deque

from mosaic_workerkit.capture import is_captured

REDRAW_S = 1.0
QUEUE_BYTES = 4 * 2**20
"""Bytes that a slow reader may be behind before output is dropped. A file is never behind."""
_CLOSE_S = 2.0
_HELD_BYTES = 64 * 1024


class OutputCopy:
    """Copies one stream to a log file, a terminal, or another program's pipe."""

    def __init__(self, fd: int) -> None:
        self._bar = b""
        self._bar_due = 0.0
        # The runner, which masks secrets, takes everything; any other reader may be slow or gone.
        is_reliable = stat.S_ISREG(os.fstat(fd).st_mode) or is_captured(fd, os.environ)
        self._sink = _File(fd) if is_reliable else _Reader(fd)

    @property
    def lost_bytes(self) -> int:
        """Bytes that could not be written, because the disk was full or the reader was slow or gone."""
        return self._sink.lost_bytes

    @property
    def due(self) -> float | None:
        """Time at which `tick` has something to do, on the monotonic clock."""
        return self._bar_due if self._bar else None

    def write(self, chunk: bytes) -> None:
        """Copy a chunk."""
        data = self._bar + chunk
        self._bar = b""
        end = data.rfind(b"\n") + 1
        whole, rest = _last_states(data[:end]), data[end:]
        if whole:
            self._sink.write(whole)
        if b"\r" not in rest:
            self._sink.write(rest)
            return
        # One at the very end may be half of a CR LF, or a bar that ends its states with it.
        self._bar = rest[max(0, rest.rfind(b"\r", 0, len(rest) - 1)) :]
        if len(self._bar) > _HELD_BYTES:
            self.flush()
        self.tick()

    def tick(self) -> None:
        """Copy the current state of a progress bar that has waited long enough."""
        if self._bar and time.monotonic() >= self._bar_due:
            self.flush()

    def flush(self) -> None:
        """Copy the output that is held back."""
        if self._bar:
            self._sink.write(self._bar)
            self._bar = b""
            self._bar_due = time.monotonic() + REDRAW_S

    def close(self) -> None:
        """Copy the rest. A reader that does not read it soon gets no more."""
        self.flush()
        self._sink.close()


def _last_states(data: bytes) -> bytes:
    """Whole lines, each as it looked when its end came. CR LF is a line's end and not a redraw."""
    if b"\r" not in data:
        return data
    lines = []
    for line in data.split(b"\n")[:-1]:
        ending = b"\r\n" if line.endswith(b"\r") else b"\n"
        body = line.removesuffix(b"\r")
        redraw = body.rfind(b"\r")
        lines.append((body if redraw < 0 else body[redraw:]) + ending)
    return b"".join(lines)


class _File:
    """A file takes what it is given, or says that the disk is full. So does the runner, in front of the log."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.lost_bytes = 0

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._fd, view) :]
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
                    raise
                self.lost_bytes += len(view)
                return

    def close(self) -> None:
        return


class _Reader:
    """A pipe or terminal, whose other end may be slow or gone: written by a thread of its own."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._missed = 0
        self.lost_bytes = 0
        self._is_gone = False
        self._is_closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._serve, name="output-copy", daemon=True)
        self._thread.start()

    def write(self, data: bytes) -> None:
        if not data:
            return
        with self._changed:
            if self._is_gone or self._queued + len(data) > QUEUE_BYTES:
                self.lost_bytes += len(data)
                self._missed += len(data)
                return
            if self._missed:
                mark = f"\n[mosaic-pipe: {self._missed} bytes left out, the reader was too slow]\n"
                self._put(mark.encode())
                self._missed = 0
            self._put(data)
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join(_CLOSE_S)

    def _put(self, data: bytes) -> None:
        self._queue.append(data)
        self._queued += len(data)

    def _serve(self) -> None:
        while (data := self._next()) is not None:
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(self._fd, view) :]
            except OSError:
                with self._changed:
                    self._is_gone = True
                    self.lost_bytes += self._queued + len(view)
                    self._queue.clear()
                return

    def _next(self) -> bytes | None:
        with self._changed:
            while not self._queue:
                if self._is_closing:
                    return None
                self._changed.wait()
            data = self._queue.popleft()
            self._queued -= len(data)
            return data
