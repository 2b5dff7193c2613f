"""A person's end of a play: keys go out and frames come in over one WebSocket. Sync and async in one module, for little
of it is I/O."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any

from websockets.asyncio.client import ClientConnection as AsyncConnection
from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import ClientConnection, connect

from mosaic_client.connection import LIVE_ERRORS, live_options, refusal
from mosaic_client.errors import WaitTimedOut, problem_error
from mosaic_client.faults import unreachable
from mosaic_client.frame_stream import FrameStream, read_message
from mosaic_client.location import Location
from mosaic_contracts.compat import Self
from mosaic_contracts.frames import SUBPROTOCOL, EnvironmentFrame, WatchFrames
from mosaic_contracts.play import Act, Acted, ActRefused, PlayCommand
from mosaic_contracts.problems import ProblemCode

START_S = 60.0
"""Seconds in which a run must send its first frame."""
ANSWER_S = 10.0


class PlayState:
    """What a session has said and heard. No I/O here."""

    def __init__(self, request: WatchFrames) -> None:
        self.request = request
        self.stream = FrameStream(request, None)
        self.number = 0
        """Number of the last input."""
        self.acted = 0
        """Every input up to this number has reached the worker."""
        self.keys: tuple[str, ...] = ()
        self.axes: tuple[float, ...] = ()
        self.frame: EnvironmentFrame | None = None
        """The newest frame that was not handed out."""
        self.refused: list[ActRefused] = []

    def say(
        self, keys: Sequence[str] | None = None, axes: Sequence[float] | None = None, **more: Any
    ) -> str:
        """Return the next input; None: keys or axes are as before. Raises ValueError: it is none."""
        act = Act(
            run_id=self.request.run_id,
            env=self.request.env,
            number=self.number + 1,
            keys=list(self.keys if keys is None else keys),
            axes=list(self.axes if axes is None else axes),
            **more,
        )
        self.number, self.keys, self.axes = act.number, tuple(act.keys), tuple(act.axes)
        return act.model_dump_json()

    def take(self, raw: str | bytes) -> None:
        """Read one message.

        Raises:
            MosaicProblem: the run cannot be played.
            AnswerInvalid: not a message of this version.
        """
        message = read_message(raw) if isinstance(raw, str) else {}
        if message.get("op") == "acted":
            self.acted = max(self.acted, Acted.model_validate(message).number)
        elif message.get("op") == "refused":
            self._take_refused(ActRefused.model_validate(message))
        elif (frame := self.stream.take(raw)) is not None:
            self.frame = frame

    def taken_frame(self, least: int) -> EnvironmentFrame | None:
        """Return the newest frame once, if it knows the input `least`."""
        frame = self.frame
        if frame is None or frame.input < least:
            return None
        self.frame = None
        return frame

    def check_refused(self) -> None:
        """Raise MosaicProblem where an input was refused."""
        if self.refused:
            problem = self.refused[0].problem
            self.refused.clear()
            raise problem_error(problem)

    def check_ended(self) -> None:
        """Raise RunEnded where the run has ended. Call it when nothing that came before the end is left."""
        if self.stream.ended is not None:
            raise problem_error(self.stream.ended)

    def has_acted(self, number: int) -> bool:
        """Return whether the worker has an input. Raises MosaicProblem: one was refused, or the run has ended."""
        self.check_refused()
        if self.acted >= number:
            return True
        self.check_ended()
        return False

    def next_frame(self, least: int) -> EnvironmentFrame | None:
        """Return the newest frame once, if it knows the input `least`. Raises as `has_acted`."""
        self.check_refused()
        if (frame := self.taken_frame(least)) is None:
            self.check_ended()
        return frame

    def _take_refused(self, refused: ActRefused) -> None:
        """Note a refusal. Where the run has ended, frames and answers from before its end are still handed out."""
        if refused.problem.code is not ProblemCode.RUN_ENDED:
            self.refused.append(refused)
        elif self.stream.ended is None:
            self.stream.ended = refused.problem


class PlaySession:
    """A play that `Client.act` opened, used without asyncio.

    Each method that acts returns the number of its input; `frame(after=number)` then returns the first frame
    that shows its effect. If the run refuses an input, the next call raises the error.
    """

    def __init__(self, location: Location, request: WatchFrames) -> None:
        self._location = location
        self._state = PlayState(request)
        self._socket: ClientConnection | None = None
        self._opened = ExitStack()

    def hold(self, *keys: str) -> int:
        """Hold exactly these keys, in the order in which they were pressed, e.g. `hold("left", "space")`."""
        return self._say(keys)

    def steer(self, *axes: float) -> int:
        """Move axes, one for each part of a continuous action, from -1 to 1; without arguments all to the middle."""
        return self._say(None, axes=axes)

    def release(self) -> int:
        """Let all keys and axes go."""
        return self._say((), axes=())

    def set_keys(self, key_map: Mapping[str, Any]) -> int:
        """Change the key map, e.g. `{"a": 0, "d": 1}`; it counts from the next step on. Empty: the default."""
        return self._say(None, do=PlayCommand.KEYS, key_map=dict(key_map))

    def tap(self, *keys: str) -> int:
        """Press and release keys. Returns the number of the press."""
        held = self._state.keys
        number = self._say((*held, *(key for key in keys if key not in held)))
        self._say(held)
        return number

    def pause(self) -> int:
        """Pause the play."""
        return self._say(None, do=PlayCommand.PAUSE)

    def resume(self) -> int:
        """Let the play go on, or begin."""
        return self._say(None, do=PlayCommand.RESUME)

    def step(self) -> int:
        """Pause, and take one step with the keys that are held."""
        return self._say(None, do=PlayCommand.STEP)

    def reset(self, seed: int | None = None) -> int:
        """Begin another episode. None: the environment goes on with its generator."""
        return self._say(None, do=PlayCommand.RESET, seed=seed)

    def set_rate(self, steps_per_s: float) -> int:
        """Set the steps per second in real time."""
        return self._say(None, do=PlayCommand.RATE, rate=steps_per_s)

    def take(self) -> int:
        """Take control from the policy, until `give`. Keys that are held override it without that."""
        return self._say(None, do=PlayCommand.TAKE)

    def give(self) -> int:
        """Let the policy act from now on."""
        return self._say(None, do=PlayCommand.GIVE)

    def frame(self, after: int = 0, timeout_s: float = START_S) -> EnvironmentFrame:
        """Wait for a frame that was not returned before; older ones that wait are left out.

        Args:
            after: number of an input that the frame must know.
            timeout_s: seconds to wait at most.

        Raises:
            MosaicProblem: an input was refused, or the run cannot be played; `RunEnded` once it has ended and its last
                frame was returned.
            WaitTimedOut: no such frame came in time.
            StackUnreachable: the connection broke.
        """
        until = time.monotonic() + timeout_s
        while True:
            self._read_waiting()
            if (frame := self._state.next_frame(after)) is not None:
                return frame
            self._read(until, "no frame came")

    def wait_acted(self, number: int, timeout_s: float = ANSWER_S) -> None:
        """Wait until the run's worker has an input. Errors as for `frame`."""
        until = time.monotonic() + timeout_s
        while True:
            if self._state.has_acted(number):
                return
            self._read(until, f"input {number} was not acknowledged")

    def close(self) -> None:
        """Leave; keys that are held are released."""
        self._opened.close()
        self._socket = None

    def __enter__(self) -> Self:
        self._call(self._open)
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _open(self) -> None:
        options = live_options(self._location, SUBPROTOCOL)
        opening = connect(self._location.frames_url, **options)
        self._socket = self._opened.enter_context(opening)
        self._socket.send(self._state.stream.request)

    def _say(self, keys: Sequence[str] | None, **more: Any) -> int:
        message = self._state.say(keys, **more)
        self._call(lambda: self._connection().send(message))
        return self._state.number

    def _read_waiting(self) -> None:
        """Read what has come already, so that the newest frame is the newest."""
        with suppress(TimeoutError):
            while True:
                self._state.take(self._call(lambda: self._connection().recv(timeout=0)))

    def _read(self, until: float, what: str) -> None:
        left_s = until - time.monotonic()
        try:
            if left_s <= 0:
                raise TimeoutError
            raw = self._call(lambda: self._connection().recv(timeout=left_s))
        except TimeoutError as error:
            raise WaitTimedOut(f"{what} in time") from error
        self._state.take(raw)

    def _connection(self) -> ClientConnection:
        if self._socket is None:
            raise RuntimeError("the session is not open: use `with client.act(run_id) as session`")
        return self._socket

    def _call(self, act: Any) -> Any:
        try:
            return act()
        except TimeoutError:
            raise
        except LIVE_ERRORS as error:
            final = refusal(self._location, error) or unreachable(self._location, error)
            raise final from error


class AsyncPlaySession:
    """A play from an event loop, as `AsyncClient.act` opens it; as `PlaySession`."""

    def __init__(self, location: Location, request: WatchFrames) -> None:
        self._location = location
        self._state = PlayState(request)
        self._socket: AsyncConnection | None = None
        self._reading: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._error: BaseException | None = None

    async def hold(self, *keys: str) -> int:
        """Hold exactly these keys, in the order in which they were pressed."""
        return await self._say(keys)

    async def steer(self, *axes: float) -> int:
        """Move axes, one for each part of a continuous action, from -1 to 1; without arguments all to the middle."""
        return await self._say(None, axes=axes)

    async def release(self) -> int:
        """Let all keys and axes go."""
        return await self._say((), axes=())

    async def set_keys(self, key_map: Mapping[str, Any]) -> int:
        """Change the key map, e.g. `{"a": 0, "d": 1}`; it counts from the next step on. Empty: the default."""
        return await self._say(None, do=PlayCommand.KEYS, key_map=dict(key_map))

    async def tap(self, *keys: str) -> int:
        """Press and release keys. Returns the number of the press."""
        held = self._state.keys
        number = await self._say((*held, *(key for key in keys if key not in held)))
        await self._say(held)
        return number

    async def pause(self) -> int:
        """Pause the play."""
        return await self._say(None, do=PlayCommand.PAUSE)

    async def resume(self) -> int:
        """Let the play go on, or begin."""
        return await self._say(None, do=PlayCommand.RESUME)

    async def step(self) -> int:
        """Pause, and take one step with the keys that are held."""
        return await self._say(None, do=PlayCommand.STEP)

    async def reset(self, seed: int | None = None) -> int:
        """Begin another episode. None: the environment goes on with its generator."""
        return await self._say(None, do=PlayCommand.RESET, seed=seed)

    async def set_rate(self, steps_per_s: float) -> int:
        """Set the steps per second in real time."""
        return await self._say(None, do=PlayCommand.RATE, rate=steps_per_s)

    async def take(self) -> int:
        """Take control from the policy, until `give`. Keys that are held override it without that."""
        return await self._say(None, do=PlayCommand.TAKE)

    async def give(self) -> int:
        """Let the policy act from now on."""
        return await self._say(None, do=PlayCommand.GIVE)

    async def frame(self, after: int = 0, timeout_s: float = START_S) -> EnvironmentFrame:
        """Wait for a frame that was not returned before. Arguments and errors as for `PlaySession.frame`."""
        until = time.monotonic() + timeout_s
        while True:
            if (frame := self._state.next_frame(after)) is not None:
                return frame
            await self._wait(until, "no frame came")

    async def wait_acted(self, number: int, timeout_s: float = ANSWER_S) -> None:
        """Wait until the run's worker has an input. Errors as for `PlaySession.frame`."""
        until = time.monotonic() + timeout_s
        while True:
            if self._state.has_acted(number):
                return
            await self._wait(until, f"input {number} was not acknowledged")

    async def close(self) -> None:
        """Leave; keys that are held are released."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        if self._socket is not None:
            await self._socket.close()
            self._socket = None

    async def __aenter__(self) -> Self:
        try:
            options = live_options(self._location, SUBPROTOCOL)
            self._socket = await connect_async(self._location.frames_url, **options)
            await self._socket.send(self._state.stream.request)
        except LIVE_ERRORS as error:
            raise self._fault(error) from error
        self._reading = asyncio.create_task(self._read(self._socket))
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def _say(self, keys: Sequence[str] | None, **more: Any) -> int:
        if self._socket is None:
            raise RuntimeError(
                "the session is not open: use `async with client.act(run_id) as session`"
            )
        number_before = self._state.number
        message = self._state.say(keys, **more)
        try:
            await self._socket.send(message)
        except LIVE_ERRORS as error:
            raise self._fault(error) from error
        return number_before + 1

    async def _read(self, socket: AsyncConnection) -> None:
        try:
            while True:
                self._state.take(await socket.recv())
                self._changed.set()
        except Exception as error:  # noqa: BLE001 - handed to the caller that waits
            self._error = error
            self._changed.set()

    async def _wait(self, until: float, what: str) -> None:
        if self._error is not None:
            error = self._error
            raise (self._fault(error) if isinstance(error, LIVE_ERRORS) else error)
        self._changed.clear()
        try:
            await asyncio.wait_for(self._changed.wait(), until - time.monotonic())
        except (asyncio.TimeoutError, TimeoutError) as error:
            raise WaitTimedOut(f"{what} in time") from error

    def _fault(self, error: Exception) -> Exception:
        return refusal(self._location, error) or unreachable(self._location, error)
