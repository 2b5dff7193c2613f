"""One WebSocket: what the client asks for, and the one task that sends to it."""

import asyncio
from functools import partial
from typing import Protocol

from pydantic import TypeAdapter, ValidationError
from starlette.websockets import WebSocket

from mosaic_contracts import VERSION
from mosaic_contracts.cursor import Cursor
from mosaic_contracts.live import (
    DEFAULT_TYPES,
    ClientFrame,
    Hello,
    Ping,
    Pong,
    ProblemFrame,
    Subscribe,
    SubscribeRuns,
    Unsubscribe,
)
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_gateway.history import History
from mosaic_gateway.live.follower import RunSubscription
from mosaic_gateway.live.mailbox import Mailbox
from mosaic_gateway.live.socket_client import SocketClient
from mosaic_gateway.live.watched import WatchedRun
from mosaic_gateway.live.wire_format import Payload, TypeSelection, WireFormat
from mosaic_gateway.problem_reply import request_invalid, validation_problem
from mosaic_gateway.telemetry_queries import read_cursor
from mosaic_servicekit.logging import get_log

MAX_SUBSCRIPTIONS = 64
"""A client that needs more follows the run list instead."""

_frames: TypeAdapter[ClientFrame] = TypeAdapter(ClientFrame)


class RunWatcher(Protocol):
    """What a client needs of the hub."""

    async def watch(self, run_id: str) -> WatchedRun:
        """Begin to follow a run."""
        ...

    def unwatch(self, watched: WatchedRun) -> None:
        """Follow it no longer."""
        ...


class LiveClient(SocketClient):
    """A connection that follows runs."""

    def __init__(
        self, socket: WebSocket, wire: WireFormat, hub: RunWatcher, history: History
    ) -> None:
        super().__init__(socket)
        self.wire = wire
        self.follows_list = False
        self._hub = hub
        self._history = history
        self._mailbox = Mailbox()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._followers: set[RunSubscription] = set()

    async def serve(self) -> None:
        """Speak with the client until it leaves or `close` is called."""
        self._mailbox.note(self.wire.frame(Hello(version=VERSION)))
        await super().serve()

    def follows(self, record: RunRecord) -> bool:
        """Whether `run` frames of this run are for this client. Only followers of a derived run get its own."""
        is_listed = not record.spec.kind.is_derived
        return (self.follows_list and is_listed) or any(
            follower.run_id == record.run_id and follower.snapshot_sent
            for follower in self._followers
        )

    def run_changed(self, run_id: str, payload: Payload) -> None:
        """A `run` frame."""
        self._mailbox.run_changed(run_id, payload)

    def tell(self, problem: Problem, run_id: str | None = None) -> None:
        """Something cannot be had; the connection stays."""
        self._mailbox.note(self.wire.frame(ProblemFrame(problem=problem, run_id=run_id)))

    async def _next(self) -> tuple[Payload, ...]:
        return await self._mailbox.next()

    def _other_tasks(self) -> list[asyncio.Task[None]]:
        return list(self._tasks.values())

    def _take(self, payload: Payload) -> None:
        try:
            self._act(_frames.validate_python(self.wire.read(payload)))
        except ValidationError as error:
            self.tell(validation_problem(error.errors()))
        except ProblemError as error:
            self.tell(error.problem)
        except ValueError as error:
            self.tell(request_invalid(f"The frame cannot be read: {error}.").problem)

    def _act(self, frame: ClientFrame) -> None:
        match frame:
            case Ping():
                self._mailbox.note(self.wire.frame(Pong()))
            case SubscribeRuns():
                self.follows_list = True
            case Unsubscribe():
                self._unsubscribe(frame.run_id)
            case Subscribe():
                self._subscribe(frame)

    def _subscribe(self, frame: Subscribe) -> None:
        self._unsubscribe(frame.run_id)
        if len(self._tasks) >= MAX_SUBSCRIPTIONS:
            raise request_invalid(f"One connection follows at most {MAX_SUBSCRIPTIONS} runs.")
        cursor = None if frame.cursor is None else read_cursor(frame.cursor)
        types = DEFAULT_TYPES if frame.types is None else frame.types
        wanted = TypeSelection(None if "*" in types else types)
        work = self._follow(frame.run_id, cursor, wanted)
        task = asyncio.get_running_loop().create_task(work, name=f"follow {frame.run_id}")
        self._tasks[frame.run_id] = task
        task.add_done_callback(partial(self._on_followed, frame.run_id))

    def _unsubscribe(self, run_id: str) -> None:
        task = self._tasks.pop(run_id, None)
        if task is not None:
            task.cancel()

    async def _follow(self, run_id: str, cursor: Cursor | None, wanted: TypeSelection) -> None:
        try:
            watched = await self._hub.watch(run_id)
        except ProblemError as error:
            self.tell(error.problem, run_id)
            return
        follower = RunSubscription(watched, self._history, self._mailbox, self.wire, wanted, cursor)
        self._mailbox.open(follower)
        self._followers.add(follower)
        try:
            await follower.run()
            await self._mailbox.drained(follower)
        except ProblemError as error:
            self.tell(error.problem, run_id)
        finally:
            self._followers.discard(follower)
            self._mailbox.close(follower)
            self._hub.unwatch(watched)

    def _on_followed(self, run_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(run_id) is task:
            del self._tasks[run_id]
        if task.cancelled() or (error := task.exception()) is None:
            return
        get_log().error("follower.died", run_id=run_id, error=repr(error), exc_info=error)
        problem = Problem(
            code=ProblemCode.INTERNAL,
            title="The gateway failed on this subscription",
            detail="The cause is in the gateway's log. Subscribe again from your cursor.",
        )
        self.tell(problem, run_id)
