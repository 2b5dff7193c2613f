"""How the shipper and people at the same host speak to a trainer: stop flag, and a Unix socket in the run folder.

One JSON object a line each way: `{"op": "stop" | "ping" | "status"}` -> `{"ok": true, ...}`.
"""

import json
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any

from mosaic_contracts.compat import Self
from mosaic_contracts.launch import TRAINER_SOCKET
from mosaic_workerkit.errors import TrainerUnreachable

_MAX_LINE_BYTES = 64 * 1024
_PEER_TIMEOUT_S = 5.0


class StopForced(BaseException):
    """A second stop signal arrived: leave at once. It is no Exception, so that `except Exception` in a script does
    not catch it."""


class StopFlag:
    """Set by the first SIGTERM or SIGINT (or by the control socket); the second signal raises `StopForced`.

    The flag is to be looked at where all networks are between updates; nothing is raised from the first signal,
    for it could land between a backward pass and its optimizer step.
    """

    def __init__(self) -> None:
        self.reason: str | None = None

    @property
    def requested(self) -> bool:
        """Whether the trainer should stop at its next safe point."""
        return self.reason is not None

    def request(self, reason: str) -> None:
        """Request a stop. The first reason is kept."""
        if self.reason is None:
            self.reason = reason

    def install(self) -> Self:
        """Handle SIGTERM and SIGINT. Call it in the main thread only."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        return self

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise StopForced(signal.Signals(number).name)
        self.request(signal.Signals(number).name)


class TrainerControl:
    """Serves the control socket in a daemon thread.

    Args:
        status: called in that thread, for `status`; returns plain values.
    """

    def __init__(self, run_dir: Path, stop: StopFlag, status: Callable[[], dict[str, Any]]) -> None:
        self._stop = stop
        self._status = status
        self._path = run_dir / TRAINER_SOCKET
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with short_name(self._path) as name:
            self._socket.bind(name)
        self._path.chmod(0o600)
        self._socket.listen(8)
        self._is_open = True
        self._thread = threading.Thread(target=self._serve, name="trainer-control", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving and remove the socket."""
        self._is_open = False
        # Closing alone leaves accept() asleep; shutting down wakes it.
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
        with suppress(OSError):  # a program may have deleted its folder, or put a file in its place
            self._path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _serve(self) -> None:
        while self._is_open:
            try:
                peer, _ = self._socket.accept()
            except OSError:
                return  # shut down
            with peer:
                peer.settimeout(_PEER_TIMEOUT_S)
                # A peer that left or sends nonsense costs only its own connection.
                with suppress(OSError):
                    peer.sendall(json.dumps(self._answer(_read_line(peer))).encode() + b"\n")

    def _answer(self, line: bytes) -> dict[str, Any]:
        try:
            request = json.loads(line)
            op = request["op"]
        except (ValueError, KeyError, TypeError):
            return {"ok": False, "error": 'send one JSON object a line, e.g. {"op": "ping"}'}
        if op == "ping":
            return {"ok": True, "pid": os.getpid()}
        if op == "stop":
            self._stop.request("control")
            return {"ok": True}
        if op == "status":
            return {"ok": True, "stopping": self._stop.requested, **self._status()}
        return {"ok": False, "error": f"unknown op {op!r}; known are stop, ping, status"}


def ask_trainer(run_dir: Path, request: dict[str, Any], timeout_s: float = 2.0) -> dict[str, Any]:
    """Send one request to the trainer of a run and return its answer.

    Raises:
        TrainerUnreachable: no trainer listens, or it did not answer in time.
    """
    path = run_dir / TRAINER_SOCKET
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(timeout_s)
            with short_name(path) as name:
                peer.connect(name)
            peer.sendall(json.dumps(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(_read_line(peer))
    except (OSError, ValueError) as error:
        raise TrainerUnreachable(
            f"no trainer answers at {path} ({error}); it may have ended"
        ) from error
    return answer


@contextmanager
def short_name(path: Path) -> Iterator[str]:
    """A name for a socket's path of at most 108 bytes, which is all that a Unix socket address holds."""
    fd = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{fd}/{path.name}"
    finally:
        os.close(fd)


def _read_line(peer: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and len(data) < _MAX_LINE_BYTES:
        part = peer.recv(4096)
        if not part:
            break
        data += part
    return data
