"""The runner's capture of its worker's output, for a run with secrets: what goes into the log is masked first.

Standard library only, for the runner. Without secrets a worker writes into its log itself.
"""

import ctypes
import errno
import fcntl
import os
import select
import signal
import stat
import struct
import time
from collections.abc import Mapping
from contextlib import suppress

from mosaic_workerkit.masking import MaskedStream, SecretMask

ENV_CAPTURE = "MOSAIC_CAPTURE_PIPE"
"""Inode number of the runner's pipe, for a worker that copies another program's output: all of it must reach the
pipe."""
_CHUNK_BYTES = 64 * 1024
_PIPE_BYTES = 2**20
_SIGINFO = struct.Struct("<I124x")
_SIGSET_BYTES = 128
_SFD_FLAGS = os.O_NONBLOCK | os.O_CLOEXEC
_libc = ctypes.CDLL(None, use_errno=True)


class OutputCapture:
    """Reads a worker's output from a pipe and writes it to the log.

    Args:
        log_fd: where the masked output is written; taken over.
    """

    def __init__(self, mask: SecretMask, log_fd: int) -> None:
        self._log_fd = log_fd
        self._stream = MaskedStream(mask, self._write)
        self._read_fd, self.write_fd = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._read_fd, False)
        with suppress(OSError):  # beyond a user's limit: the usual size does as well
            fcntl.fcntl(self._read_fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self.inode = os.fstat(self._read_fd).st_ino
        self._poll = select.poll()
        self._poll.register(self._read_fd, select.POLLIN)
        self._is_open = True

    def close_write_end(self) -> None:
        """Close this process's write end, because the end of output is not seen while it is open."""
        os.close(self.write_fd)

    def wait(self, signals: "SignalFile", timeout_s: float) -> int | None:
        """Copy output until one of the signals arrives and return its number; None after the timeout."""
        self._poll.register(signals.fd, select.POLLIN)
        deadline = time.monotonic() + timeout_s
        while True:
            left_ms = max(0.0, deadline - time.monotonic()) * 1000
            ready = {fd for fd, _ in self._poll.poll(left_ms)}
            if signals.fd in ready and (number := signals.read()) is not None:
                return number
            if self._read_fd in ready:
                self._copy()
            if not ready or time.monotonic() >= deadline:
                return None

    def finish(self) -> None:
        """Copy the rest of the output, after all writers have ended."""
        while self._copy():
            continue
        self._stream.finish()

    def _copy(self) -> bool:
        """Copy one chunk; returns whether there was one."""
        try:
            chunk = os.read(self._read_fd, _CHUNK_BYTES) if self._is_open else b""
        except BlockingIOError:
            return False
        if chunk:
            self._stream.feed(chunk)
        elif self._is_open:
            self._poll.unregister(self._read_fd)
            self._is_open = False
        return bool(chunk)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._log_fd, view) :]
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
                    raise
                return  # a full disk costs the log, not the run


class SignalFile:
    """Blocked signals as a file (signalfd), so that one wait sees signals and output."""

    def __init__(self, numbers: "frozenset[signal.Signals]") -> None:
        signals = ctypes.create_string_buffer(_SIGSET_BYTES)
        _libc.sigemptyset(signals)
        for number in numbers:
            _libc.sigaddset(signals, int(number))
        self.fd = _libc.signalfd(-1, signals, _SFD_FLAGS)
        if self.fd < 0:
            raise OSError(ctypes.get_errno(), "signalfd failed")

    def read(self) -> int | None:
        """Return the next pending signal."""
        try:
            return int(_SIGINFO.unpack(os.read(self.fd, _SIGINFO.size))[0])
        except BlockingIOError:
            return None


def is_captured(fd: int, environment: Mapping[str, str]) -> bool:
    """Whether `fd` is the pipe into the runner's capture."""
    found = os.fstat(fd)
    return stat.S_ISFIFO(found.st_mode) and environment.get(ENV_CAPTURE) == str(found.st_ino)
