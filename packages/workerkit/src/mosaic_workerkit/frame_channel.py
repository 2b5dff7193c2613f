"""The worker's end of the local channel to viewers: requests come in, frames go out (ADR 0015)."""

import json
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue

from mosaic_contracts.compat import Self
from mosaic_contracts.frames import MAX_FRAME_BYTES, MAX_PAGE_FRAMES, WatchedEnv
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_contracts.play import PlayInput, RefusedInput
from mosaic_workerkit.control import short_name

MAX_REQUEST_BYTES = 64 * 1024
_BUFFER_BYTES = 4 * MAX_FRAME_BYTES
"""Asked for; the kernel gives what its limit permits, at the least one frame."""
_ANSWER_S = 5.0
"""Seconds in which a shipper must read the answer to its last request, when the channel closes."""
NO_INPUTS = "This run takes no inputs of a person."


class ShowRequest:
    """A request for drawn steps of a replay.

    Attributes:
        id: number of the request, which its answer names.
        first: first step.
        last: last step.
        every: distance between two steps.
    """

    def __init__(self, id: int, first: int, last: int, every: int) -> None:
        self.id = id
        self.first = first
        self.last = last
        self.every = every


TakeInput = Callable[[PlayInput], str]
"""Called with an input of a person; returns why it is refused, in words; empty: it is taken."""


class FrameChannel:
    """Listens for the run's shipper, which connects while somebody watches or acts.

    Args:
        run_dir: the run's folder.
        on_watch: called in the channel's thread with what is to be watched from now on; empty: nothing, also when
            the connection ends.
        on_act: called in the channel's thread with each input of a person, in order; None: this worker takes none.
    """

    def __init__(
        self,
        run_dir: Path,
        on_watch: Callable[[Sequence[WatchedEnv]], None],
        on_act: TakeInput | None = None,
    ) -> None:
        self._on_watch = on_watch
        self._on_act = on_act
        self.requests: Queue[ShowRequest] = Queue(maxsize=MAX_PAGE_FRAMES)
        """Requests for drawn steps, in order."""
        self._path = run_dir / FRAMES_SOCKET
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.unlink(missing_ok=True)
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with short_name(self._path) as name:
            self._listening.bind(name)
        self._path.chmod(0o600)
        self._listening.listen(2)
        self._peer: socket.socket | None = None
        self._is_open = True
        self._thread = threading.Thread(target=self._serve, name="frame-channel", daemon=True)
        self._thread.start()

    def send(self, data: bytes, *, wait: bool = False) -> bool:
        """Send one packet.

        Args:
            data: an encoded frame or JSON, at most `MAX_FRAME_BYTES`.
            wait: whether to wait while the other side is slow. False: the packet is dropped then.

        Returns:
            Whether it was sent.
        """
        peer = self._peer
        if peer is None:
            return False
        try:
            peer.send(data, 0 if wait else socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False  # the viewer is slow: a newer frame follows
        except OSError:
            return False  # the shipper has gone; the thread sees it too
        return True

    def answer(self, request: ShowRequest, next_step: int | None, last: int) -> bool:
        """Say that all frames of a request were sent.

        Args:
            request: the request.
            next_step: step to ask for next; None: nothing is left of its range.
            last: last recorded step.

        Returns:
            Whether it was sent.
        """
        said = {"op": "shown", "id": request.id, "next": next_step, "last": last}
        return self.send(json.dumps(said).encode(), wait=True)

    def next_request(self, timeout_s: float) -> ShowRequest | None:
        """Wait for a request for drawn steps.

        Args:
            timeout_s: seconds to wait at most.

        Returns:
            The request; None: none came.
        """
        try:
            return self.requests.get(timeout=timeout_s)
        except Empty:
            return None

    def close(self) -> None:
        """Take no more requests. Those that came before are answered."""
        self._is_open = False
        peer = self._peer
        _shut(self._listening, socket.SHUT_RDWR)
        _shut(peer, socket.SHUT_RD)
        self._thread.join(_ANSWER_S)
        _shut(peer, socket.SHUT_WR)
        self._thread.join()
        self._listening.close()
        with suppress(OSError):  # a program may have deleted its folder
            self._path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _serve(self) -> None:
        while self._is_open:
            try:
                peer, _ = self._listening.accept()
            except OSError:
                return  # closed
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _BUFFER_BYTES)
            self._peer = peer
            try:
                if self._is_open:  # `close` may not have seen this connection
                    self._read(peer)
            finally:
                self._peer = None
                self._on_watch([])
                peer.close()

    def _read(self, peer: socket.socket) -> None:
        while True:
            try:
                data = peer.recv(MAX_REQUEST_BYTES)
            except OSError:
                return
            if not data:
                return
            # A request that cannot be read costs only itself: the shipper may be of another version.
            with suppress(ValueError, KeyError, TypeError):
                self._take(json.loads(data))

    def _take(self, request: dict[str, object]) -> None:
        if request["op"] == "watch":
            listed = request["envs"]
            if isinstance(listed, list):
                self._on_watch([WatchedEnv.model_validate(each) for each in listed])
        elif request["op"] == "act":
            self._take_inputs(request)
        elif request["op"] == "show":
            numbers = [request[name] for name in ("id", "first", "last", "every")]
            self.requests.put(ShowRequest(*(int(str(number)) for number in numbers)))

    def _take_inputs(self, request: dict[str, object]) -> None:
        """Take the inputs of one packet, and answer it."""
        listed = request["inputs"]
        refused = []
        for each in listed if isinstance(listed, list) else []:
            given = PlayInput.model_validate(each)
            why = NO_INPUTS if self._on_act is None else self._on_act(given)
            if why:
                refused.append(RefusedInput(number=given.number, why=why).model_dump())
        said = {"op": "acted", "id": request["id"], "refused": refused}
        self.send(json.dumps(said).encode(), wait=True)


def _shut(end: socket.socket | None, how: int) -> None:
    if end is not None:
        with suppress(OSError):  # it has gone already
            end.shutdown(how)
