"""Starts the program, reads its output, passes signals on, and learns how it ended."""

import ctypes
import fcntl
import os
import resource
import select
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO

from mosaic_workerkit.control import StopFlag
from mosaic_workerkit.pipe.copy import OutputCopy
from mosaic_workerkit.pipe.errors import ProgramNotStarted

STDOUT, STDERR = "stdout", "stderr"
_CHUNK_BYTES = 64 * 1024
_PIPE_BYTES = 2**20
"""So much may a program print while this process is busy; 64 KiB is the kernel's default."""
_GATHER_MS = 10
"""After a small read, so long are further lines gathered: a wake-up costs as much as ten lines."""
_SMALL_BYTES = 16 * 1024
_LOOK_S = 0.5
"""How soon a stop from the control socket and an idle program are seen."""
_LINGER_QUIET_S = 0.3
_LINGER_S = 3.0
"""What is in the pipe at the program's end is read; no process that still holds it open is waited for."""
_FORWARDED = (
    *(signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2),
)
_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a program ended: by an exit code or a signal."""

    code: int | None
    signal: int | None
    is_left_open: bool
    """Whether a process that the program left behind still holds its output."""
    lost_bytes: int
    """Bytes of output that the reader did not receive."""

    @property
    def words(self) -> str:
        """Return the end in words."""
        if self.signal is not None:
            return f"ended by signal {signal.Signals(self.signal).name}"
        return f"ended with exit code {self.code}"


class Child:
    """Runs one program from start to end. Main thread only, because it handles signals.

    Args:
        on_chunk: called with the stream (`STDOUT`, `STDERR`) and what comes from it, as it comes.
        on_idle: called after each look, at least twice a second.
        bell: file descriptor that wakes the look when it can be read, and what is then called; None: there is none.
    """

    def __init__(
        self,
        argv: list[str],
        directory: Path,
        environment: Mapping[str, str],
        stop: StopFlag,
        on_chunk: Callable[[str, bytes], None],
        on_idle: Callable[[], None],
        bell: tuple[int, Callable[[], None]] | None = None,
    ) -> None:
        self._argv = argv
        self._directory = directory
        self._environment = environment
        self._stop = stop
        self._on_chunk = on_chunk
        self._on_idle = on_idle
        self._bell = bell
        self._pidfd = -1
        self._has_passed_stop = False
        self._selector = selectors.DefaultSelector()
        self._copies: dict[int, OutputCopy] = {}

    def run(self) -> Ending:
        """Start the program and wait for its end.

        Raises:
            ProgramNotStarted: it cannot be executed.
        """
        with ExitStack() as stack:
            stack.enter_context(self._signals())
            process = self._start()
            self._pidfd = os.pidfd_open(process.pid)
            stack.callback(os.close, self._pidfd)
            stack.callback(self._selector.close)
            for stream, fd in ((process.stdout, 1), (process.stderr, 2)):
                self._listen(stack, stream, fd)
            self._selector.register(self._pidfd, selectors.EVENT_READ)
            self._read_output()
            self._read_rest()
            code = process.wait()
            is_left_open = bool(self._selector.get_map())
            for copy in self._copies.values():
                copy.close()
        return Ending(
            code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            is_left_open=is_left_open,
            lost_bytes=sum(copy.lost_bytes for copy in self._copies.values()),
        )

    def _start(self) -> subprocess.Popen[bytes]:
        parent = os.getpid()

        def prepare() -> None:
            # With this process killed nobody reads the program's output any more: it gets the polite signal.
            _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)

        try:
            return subprocess.Popen(
                self._argv,
                cwd=self._directory,
                env=self._environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                preexec_fn=prepare,
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            code = 127 if isinstance(error, FileNotFoundError) else 126
            raise ProgramNotStarted(f"cannot execute {self._argv[0]!r}: {error}", code) from error

    def _listen(self, stack: ExitStack, stream: IO[bytes] | None, fd: int) -> None:
        if stream is None:
            return
        stack.callback(stream.close)
        source = stream.fileno()
        os.set_blocking(source, False)
        _widen(source)
        self._copies[source] = OutputCopy(fd)
        self._selector.register(source, selectors.EVENT_READ, STDOUT if fd == 1 else STDERR)

    def _read_output(self) -> None:
        """Until the program has ended."""
        end = select.poll()
        end.register(self._pidfd, select.POLLIN)
        bell, on_bell = self._bell or (-1, None)
        if on_bell is not None:
            self._selector.register(bell, selectors.EVENT_READ)
        while True:
            self._pass_stop()
            ready = {key.fd: key for key, _ in self._selector.select(self._timeout_s())}
            sizes = [self._read(key.fd, key.data) for key in ready.values() if key.data is not None]
            if on_bell is not None and bell in ready:
                on_bell()
            for copy in self._copies.values():
                copy.tick()
            self._on_idle()
            if self._pidfd in ready:
                self._selector.unregister(self._pidfd)
                if on_bell is not None:
                    self._selector.unregister(bell)
                return
            if sizes and max(sizes) < _SMALL_BYTES:
                end.poll(_GATHER_MS)

    def _timeout_s(self) -> float:
        due = [copy.due for copy in self._copies.values() if copy.due is not None]
        return max(0.0, min([_LOOK_S, *(when - time.monotonic() for when in due)]))

    def _read_rest(self) -> None:
        """What the program printed before it ended, and a moment for its children."""
        deadline = time.monotonic() + _LINGER_S
        while self._selector.get_map():
            ready = self._selector.select(min(_LINGER_QUIET_S, deadline - time.monotonic()))
            if not ready or time.monotonic() > deadline:
                return
            for key, _ in ready:
                self._read(key.fd, key.data)

    def _read(self, fd: int, name: str) -> int:
        """Take what a stream has; returns how many bytes that were."""
        try:
            chunk = os.read(fd, _CHUNK_BYTES)
        except BlockingIOError:
            return 0
        if not chunk:
            self._selector.unregister(fd)
            return 0
        self._copies[fd].write(chunk)
        self._on_chunk(name, chunk)
        return len(chunk)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._on_signal) for number in _FORWARDED}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        """Passed on at once, also while the outbox waits for room; each one, for a second may mean more."""
        if number in (signal.SIGTERM, signal.SIGINT):
            self._stop.request(signal.Signals(number).name)
            self._has_passed_stop = self._pidfd >= 0
        # A terminal's Ctrl-C went to the program already, which is in the same group.
        if number != signal.SIGINT or not sys.stdin.isatty():
            self._send(number)

    def _pass_stop(self) -> None:
        """A stop that came before the program was there, or through the control socket."""
        if self._stop.requested and not self._has_passed_stop:
            self._has_passed_stop = True
            self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        if self._pidfd < 0:
            return
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, number)


def _widen(pipe: int) -> None:
    with suppress(OSError):  # beyond a user's limit: the usual size does as well
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def die_by(number: int) -> None:
    """End this process by the signal that ended the program, so that the parent sees the true cause."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program's core is the one that matters
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
