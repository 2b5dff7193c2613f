"""Live frames of a run over the WebSocket for frames: one module for both clients, for little of it is I/O."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Any

from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import connect

from mosaic_client.connection import LIVE_ERRORS, live_options, refusal
from mosaic_client.errors import AnswerInvalid, problem_error
from mosaic_client.faults import unreachable
from mosaic_client.location import Location
from mosaic_client.patience import BoundedBackoff
from mosaic_client.replays import read_frame
from mosaic_contracts.frames import SUBPROTOCOL, EnvironmentFrame, FramesProblem, WatchFrames
from mosaic_contracts.problems import Problem, ProblemCode

OnProblem = Callable[[Problem], None]
"""Called when frames do not come now, and why."""


class FrameStream:
    """Reads the messages of one watched sub-environment."""

    def __init__(self, request: WatchFrames, on_problem: OnProblem | None) -> None:
        self.request = request.model_dump_json()
        self.ended: Problem | None = None
        """Why no frame comes any more; None: the run goes on."""
        self._run_id = request.run_id
        self._env = request.env
        self._on_problem = on_problem or (lambda _: None)

    def take(self, raw: str | bytes) -> EnvironmentFrame | None:
        """Read one message; None if it is no frame of this sub-environment.

        Raises:
            MosaicProblem: the run cannot be watched.
            AnswerInvalid: not a message of this version.
        """
        if isinstance(raw, bytes):
            frame = read_frame(raw)
            is_mine = (frame.run_id, frame.env) == (self._run_id, self._env)
            return frame if is_mine else None
        message = read_message(raw)
        if message.get("op") == "problem":
            self._take_problem(FramesProblem.model_validate(message).problem)
        return None

    def _take_problem(self, problem: Problem) -> None:
        if problem.code is ProblemCode.RUN_ENDED:
            self.ended = problem
        elif problem.code in (ProblemCode.RUN_UNKNOWN, ProblemCode.REQUEST_INVALID):
            raise problem_error(problem)
        else:  # the gateway goes on trying
            self._on_problem(problem)


def watch(
    location: Location, request: WatchFrames, patience_s: float, on_problem: OnProblem | None
) -> Iterator[EnvironmentFrame]:
    """Yield live frames until the run has ended; see `Client.watch_frames`."""
    stream, backoff = FrameStream(request, on_problem), BoundedBackoff(patience_s)
    while stream.ended is None:
        try:
            with connect(location.frames_url, **_options(location)) as socket:
                socket.send(stream.request)
                while stream.ended is None:
                    frame = stream.take(socket.recv())
                    backoff.reset()
                    if frame is not None:
                        yield frame
        except LIVE_ERRORS as error:
            time.sleep(_delay_s(location, error, backoff))


async def watch_async(
    location: Location, request: WatchFrames, patience_s: float, on_problem: OnProblem | None
) -> AsyncGenerator[EnvironmentFrame, None]:
    """Yield live frames until the run has ended; see `Client.watch_frames`."""
    stream, backoff = FrameStream(request, on_problem), BoundedBackoff(patience_s)
    while stream.ended is None:
        try:
            async with connect_async(location.frames_url, **_options(location)) as socket:
                await socket.send(stream.request)
                while stream.ended is None:
                    frame = stream.take(await socket.recv())
                    backoff.reset()
                    if frame is not None:
                        yield frame
        except LIVE_ERRORS as error:
            await asyncio.sleep(_delay_s(location, error, backoff))


def _options(location: Location) -> Any:
    return live_options(location, SUBPROTOCOL)


def _delay_s(location: Location, error: Exception, backoff: BoundedBackoff) -> float:
    """Seconds to wait before the next connection.

    Raises:
        MosaicProblem: refused.
        StackUnreachable: the connection did not come back in time.
    """
    if (final := refusal(location, error)) is not None:
        raise final from error
    delay_s = backoff.delay(time.monotonic())
    if delay_s is None:
        raise unreachable(location, error) from error
    return delay_s


def read_message(raw: str) -> dict[str, Any]:
    """Read one text message; what is no object is an empty one. Raises AnswerInvalid: it is no JSON."""
    try:
        message = json.loads(raw)
    except ValueError as error:
        raise AnswerInvalid(
            f"the frames connection sent a message that is no JSON: {error}"
        ) from error
    return message if isinstance(message, dict) else {}
