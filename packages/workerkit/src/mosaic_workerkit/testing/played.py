"""A play in this process: the worker in a thread, the test as the shipper that watches and acts."""

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mosaic_contracts.frames import MAX_FRAME_BYTES, EnvironmentFrame, decode_frame
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.testing.recorded import open_context, read_events, write_spec

WAIT_S = 60.0
"""Seconds to wait for the play's answer."""


class PlayedRun:
    """A play in a thread, and the other end of its channel.

    Args:
        folder: of the run.
        play: the worker's `play`.
        spec: fields of the run's spec.
        watches: whether to watch from the beginning.
        wait_s: seconds to wait for the channel: a worker may import much first.
    """

    def __init__(
        self,
        folder: Path,
        play: Callable[[TrainContext], None],
        spec: dict[str, Any],
        *,
        watches: bool = True,
        wait_s: float = WAIT_S,
    ) -> None:
        self.folder = folder
        write_spec(folder, {"kind": "play", "outbox_bytes": 64 * 2**20, **spec})
        self.context = open_context(folder)
        self._play_run = play
        self._wait_s = wait_s
        self.error: BaseException | None = None
        self.number = 0
        self.keys: list[str] = []
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(wait_s)
        self._connect()
        self._frames: list[EnvironmentFrame] = []
        if watches:
            self.watch()

    def watch(self, wanted: bool = True) -> None:
        """Watch, or watch no more."""
        envs = [{"env": 0, "fps": 120, "smooth": True}] if wanted else []
        self._socket.send(json.dumps({"op": "watch", "envs": envs}).encode())

    def say(self, *keys: str, number: int | None = None, **more: Any) -> list[dict[str, Any]]:
        """Hold exactly these keys; return what was refused."""
        self.number = self.number + 1 if number is None else number
        self.keys = list(keys)
        return self.send([{"number": self.number, "keys": self.keys, "player": "p", **more}])

    def send(self, inputs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Send inputs in one packet; return what was refused."""
        self._socket.send(json.dumps({"op": "act", "id": 5, "inputs": list(inputs)}).encode())
        while True:
            packet = self._socket.recv(2 * MAX_FRAME_BYTES)
            _require(packet, "the worker has gone")
            if packet[:1] == b"{":
                refused: list[dict[str, Any]] = json.loads(packet)["refused"]
                return refused
            self._frames.append(decode_frame(packet))

    def do(self, command: str, **more: Any) -> list[dict[str, Any]]:
        """Ask for something, with the keys as they are."""
        return self.say(*self.keys, do=command, **more)

    def tap(self, *keys: str) -> None:
        """Press and release keys, in one packet."""
        first = self.number + 1
        self.number += 2
        said: list[dict[str, Any]] = [{"number": first, "keys": [*keys], "player": "p"}]
        said.append({"number": first + 1, "keys": [], "player": "p"})
        _require_taken(self.send(said))

    def frame(self, after: int = 0) -> EnvironmentFrame:
        """The next frame that knows this input."""
        deadline = time.monotonic() + self._wait_s
        while time.monotonic() < deadline:
            frame = self._frames.pop(0) if self._frames else self._receive()
            if frame is not None and frame.input >= after:
                return frame
        raise AssertionError("no such frame came")

    def step(self, *keys: str) -> EnvironmentFrame:
        """Hold exactly these keys for one step, and return its frame; the play is paused then."""
        _require_taken(self.say(*keys, do="step"))
        return self.frame(after=self.number)

    def step_after(self, step: int) -> EnvironmentFrame:
        """The next frame of a step beyond this one."""
        while (frame := self.frame()).step <= step:
            pass
        return frame

    def _receive(self) -> EnvironmentFrame | None:
        packet = self._socket.recv(2 * MAX_FRAME_BYTES)
        _require(packet, f"the worker has gone: {self.error!r}")
        return None if packet[:1] == b"{" else decode_frame(packet)

    def end(self) -> list[dict[str, Any]]:
        """Stop the play and return its events."""
        self.context.stop.request("test")
        return self.ended()

    def ended(self) -> list[dict[str, Any]]:
        """Wait for the play's end and return its events."""
        self._thread.join(self._wait_s)
        _require(not self._thread.is_alive(), "the play goes on")
        self._socket.close()
        return read_events(self.folder)

    def _play(self) -> None:
        with self.context.telemetry:
            try:
                self._play_run(self.context)
            except BaseException as error:  # noqa: BLE001 - for the test
                self.error = error

    def _connect(self) -> None:
        deadline = time.monotonic() + self._wait_s
        while True:
            try:
                self._socket.connect(str(self.folder / FRAMES_SOCKET))
            except OSError:
                _require(time.monotonic() < deadline, f"nobody listens: {self.error!r}")
                time.sleep(0.01)
            else:
                return


def _require(is_so: object, words: str) -> None:
    if not is_so:
        raise AssertionError(words)


def _require_taken(refused: Sequence[dict[str, Any]]) -> None:
    _require(not refused, f"refused: {refused}")
