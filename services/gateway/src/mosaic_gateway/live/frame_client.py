"""One WebSocket for pictures of environments: what its client watches, and the newest frame of each.

A frame that its client has not taken yet is replaced by the next one: a client that does not read costs the memory of
one frame for each sub-environment that it watches, and nobody's time.
"""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass
from secrets import token_hex
from typing import Protocol

from pydantic import TypeAdapter, ValidationError
from starlette.websockets import WebSocket

from mosaic_contracts.frames import FramesProblem, FramesRequest, UnwatchFrames, WatchFrames
from mosaic_contracts.models import PeerModel
from mosaic_contracts.play import Act, ActRefused
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_gateway.live.socket_client import SocketClient
from mosaic_gateway.live.wire_format import Payload
from mosaic_gateway.meters import FRAMES
from mosaic_gateway.problem_reply import request_invalid, validation_problem
from mosaic_gateway.strict_json import JsonInvalid, read_json, write_json

NOTES = 512
"""Messages that wait (problems, promises); of more the oldest goes."""

_requests: TypeAdapter[FramesRequest] = TypeAdapter(FramesRequest)


class FrameRegistry(Protocol):
    """What a client needs of the hub."""

    def watch(self, client: "FrameClient", wanted: WatchFrames) -> None:
        """Send frames of one sub-environment to `client`. Raises ProblemError: it watches too many."""
        ...

    def unwatch(self, client: "FrameClient", run_id: str) -> None:
        """Send no more frames of this run to `client`."""
        ...

    def act(self, client: "FrameClient", act: Act) -> None:
        """Send an input of the person at `client` to a run. Raises ProblemError: too many wait."""
        ...


@dataclass(frozen=True)
class _Note:
    """A message that is no frame."""

    text: str
    ended_run: str | None
    """The run that it says has ended: that run's last frames go before it. None: it goes before all frames."""


@dataclass
class _Slot:
    """The newest frame of one sub-environment."""

    interval_s: float
    """Minimum seconds between two frames."""
    due_at: float
    """When the next may be sent, on the loop's clock."""
    frame: bytes | None = None
    """None: the client has taken the newest."""


class FrameMailbox:
    """What waits for one client."""

    def __init__(self) -> None:
        self._notes: deque[_Note] = deque(maxlen=NOTES)
        self._ready: deque[Payload] = deque()
        """Goes next: the last frames of a run that has ended, and the message that says so."""
        self._slots: OrderedDict[tuple[str, int], _Slot] = OrderedDict()
        self._filled = asyncio.Event()

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, key: tuple[str, int]) -> bool:
        return key in self._slots

    def open(self, key: tuple[str, int], fps: float) -> None:
        """Make room for frames of one sub-environment, or change their rate."""
        now = asyncio.get_running_loop().time()
        self._slots[key] = _Slot(1.0 / fps, now)

    def close(self, run_id: str) -> None:
        """Forget a run's frames."""
        for key in [key for key in self._slots if key[0] == run_id]:
            del self._slots[key]

    def note(self, message: PeerModel) -> None:
        """A message that is no frame. It goes before them, except before the last ones of a run that has ended."""
        self._notes.append(_Note(write_json(message).decode(), _ended_run(message)))
        self._filled.set()

    def put(self, key: tuple[str, int], frame: bytes) -> None:
        """The newest frame of a sub-environment; takes the place of one that waits still."""
        slot = self._slots.get(key)
        if slot is None:
            return
        if slot.frame is not None:
            FRAMES.labels("replaced").inc()
        slot.frame = frame
        self._filled.set()

    async def next(self) -> Payload:
        """What to send next; waits for it. Sub-environments take turns."""
        loop = asyncio.get_running_loop()
        while True:
            if not self._ready and self._notes:
                note = self._notes.popleft()
                self._ready.extend(self._last_frames(note.ended_run))
                self._ready.append(note.text)
            if self._ready:
                return self._ready.popleft()
            self._filled.clear()
            found = self._take_due(loop.time())
            if found is not None:
                return found
            waiting = [slot.due_at for slot in self._slots.values() if slot.frame is not None]
            try:
                async with asyncio.timeout_at(min(waiting, default=None)):
                    await self._filled.wait()
            except TimeoutError:
                continue  # one is due

    def _last_frames(self, run_id: str | None) -> list[bytes]:
        """Take the frames of a run that wait, due or not."""
        frames = []
        for (of_run, _), slot in self._slots.items():
            if of_run == run_id and slot.frame is not None:
                frames.append(slot.frame)
                slot.frame = None
                FRAMES.labels("sent").inc()
        return frames

    def _take_due(self, now: float) -> bytes | None:
        for key, slot in self._slots.items():
            if slot.frame is not None and slot.due_at <= now:
                frame, slot.frame = slot.frame, None
                # Half an interval is let pass: frames do not come as regularly as a clock.
                slot.due_at = max(slot.due_at + slot.interval_s, now + slot.interval_s / 2)
                self._slots.move_to_end(key)
                FRAMES.labels("sent").inc()
                return frame
        return None


def _ended_run(message: PeerModel) -> str | None:
    """The run that a message says has ended."""
    if isinstance(message, FramesProblem | ActRefused):
        return message.run_id if message.problem.code is ProblemCode.RUN_ENDED else None
    return None


class FrameClient(SocketClient):
    """A connection that watches environments."""

    def __init__(self, socket: WebSocket, source: FrameRegistry) -> None:
        super().__init__(socket)
        self._source = source
        self.player = token_hex(8)
        """Names this connection to runs in which its person acts."""
        self.mailbox = FrameMailbox()

    def tell(self, problem: Problem, run_id: str | None = None) -> None:
        """Something cannot be had; the connection stays."""
        self.mailbox.note(FramesProblem(run_id=run_id, problem=problem))

    async def _next(self) -> tuple[Payload]:
        return (await self.mailbox.next(),)

    def _take(self, payload: Payload) -> None:
        if not isinstance(payload, str):
            self.tell(
                request_invalid("A message here is JSON text, and this one is binary.").problem
            )
            return
        try:
            request = _requests.validate_python(read_json(payload.encode("utf-8", "replace")))
        except ValidationError as error:
            self.tell(validation_problem(error.errors()))
        except JsonInvalid as error:
            self.tell(request_invalid(f"The message cannot be read: {error}.").problem)
        else:
            self._act(request)

    def _act(self, request: WatchFrames | UnwatchFrames | Act) -> None:
        try:
            if isinstance(request, Act):
                self._source.act(self, request)
            elif isinstance(request, WatchFrames):
                self._source.watch(self, request)
            else:
                self._source.unwatch(self, request.run_id)
        except ProblemError as error:
            if isinstance(request, Act):
                number = request.number
                self.mailbox.note(
                    ActRefused(
                        run_id=request.run_id,
                        env=request.env,
                        first=number,
                        number=number,
                        problem=error.problem,
                    )
                )
            else:
                self.tell(error.problem, request.run_id)
