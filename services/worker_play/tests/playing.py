"""A play in this process: the worker in a thread, the test as the shipper that watches and acts."""

import json
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic_contracts.frames import MAX_FRAME_BYTES, EnvironmentFrame, decode_frame
from mosaic_contracts.launch import FRAMES_SOCKET
from mosaic_contracts.replays import REPLAY_RESULT, ReplayResult
from mosaic_gymkit.testing import write_replay_record
from mosaic_worker_play.worker import HumanWorker
from mosaic_workerkit.entry import TrainContext
from mosaic_workerkit.telemetry import Telemetry
from mosaic_workerkit.testing.recorded import RUN_ID, of_type, open_context, read_events, write_spec

WAIT_S = 20.0


class Player:
    """A play, and the other end of its channel."""

    def __init__(self, folder: Path, environment: str, *, watches: bool = True, **fields: Any) -> None:  # fmt: skip
        self.folder = folder
        self.context, self._telemetry = context_in(folder, environment, kind="play", **fields)
        self.error: BaseException | None = None
        self.number = 0
        self.keys: list[str] = []
        self._thread = threading.Thread(target=self._play, daemon=True)
        self._thread.start()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(WAIT_S)
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
            assert packet, "the worker has gone"
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
        assert self.send(said) == []

    def frame(self, after: int = 0) -> EnvironmentFrame:
        """The next frame that knows this input."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            frame = self._frames.pop(0) if self._frames else self._receive()
            if frame is not None and frame.input >= after:
                return frame
        raise AssertionError("no such frame came")

    def step_after(self, step: int) -> EnvironmentFrame:
        """The next frame of a step beyond this one."""
        while (frame := self.frame()).step <= step:
            pass
        return frame

    def _receive(self) -> EnvironmentFrame | None:
        packet = self._socket.recv(2 * MAX_FRAME_BYTES)
        assert packet, f"the worker has gone: {self.error!r}"
        return None if packet[:1] == b"{" else decode_frame(packet)

    def end(self) -> list[dict[str, Any]]:
        """Stop the play and return its events."""
        self.context.stop.request("test")
        return self.ended()

    def ended(self) -> list[dict[str, Any]]:
        """Wait for the play's end and return its events."""
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive()
        self._socket.close()
        return read_events(self.folder)

    def _play(self) -> None:
        with self._telemetry:
            try:
                HumanWorker().play(self.context)
            except BaseException as error:  # noqa: BLE001 - for the test
                self.error = error

    def _connect(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                self._socket.connect(str(self.folder / FRAMES_SOCKET))
            except OSError:
                assert time.monotonic() < deadline, self.error
                time.sleep(0.01)
            else:
                return


def context_in(folder: Path, environment: str, **fields: Any) -> tuple[TrainContext, Telemetry]:
    """Make a run folder and open its telemetry."""
    spec = {
        "worker": "play",
        "algorithm": "human",
        "environment": environment,
        "outbox_bytes": 64 * 2**20,
        **fields,
    }
    write_spec(folder, spec)
    context = open_context(folder)
    return context, context.telemetry


def rebuild(folder: Path, events: list[dict[str, Any]], episode: int) -> ReplayResult:
    """Replay one episode of these events."""
    source = {"run_id": RUN_ID, "attempt": 1, "env": 0, "episode": episode, "draws": False}
    environment = events[0]["data"]["environment"]
    context, telemetry = context_in(folder, environment, kind="replay", replay=source)
    write_replay_record(folder, events, 0, episode)
    with telemetry:
        HumanWorker().replay(context)
    (found,) = of_type(read_events(folder), REPLAY_RESULT)
    return ReplayResult.model_validate(found["data"])


def steps_of(events: list[dict[str, Any]], episode: int = 0) -> list[dict[str, Any]]:
    """The recorded steps of an episode."""
    return [e for e in events if e["type"] == "step" and e["episode"] == episode]
