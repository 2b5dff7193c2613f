"""A person's end of a play, against a gateway that a test scripts."""

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

from mosaic_client import (
    AsyncClient,
    Client,
    Location,
    RequestRefused,
    RunEnded,
    StackUnreachable,
    WaitTimedOut,
)
from mosaic_contracts.frames import SUBPROTOCOL, EnvironmentFrame, encode_frame
from mosaic_contracts.problems import Problem, ProblemCode

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
Answer = Callable[[ServerConnection, dict[str, Any]], None]


def frame(number: int, known: int) -> bytes:
    return encode_frame(EnvironmentFrame(RUN_ID, 0, number, 0, number, 0, input=known))


def takes(socket: ServerConnection, said: dict[str, Any]) -> None:
    """A run that steps at each input."""
    number = said["number"]
    socket.send(json.dumps({"op": "acted", "run_id": RUN_ID, "env": 0, "number": number}))
    socket.send(frame(number, number))


def refuses(code: ProblemCode, op: str) -> Answer:
    """A run that refuses, or has ended."""

    def answer(socket: ServerConnection, said: dict[str, Any]) -> None:
        problem = Problem(code=code, title="No").model_dump(mode="json")
        named = {"run_id": RUN_ID, "env": 0, "first": said["number"], "number": said["number"]}
        socket.send(json.dumps({"op": op, **named, "problem": problem}))

    return answer


@contextmanager
def gateway(answer: Answer) -> Iterator[tuple[Location, list[dict[str, Any]]]]:
    """A WebSocket server that sends a frame when it is watched, and answers each input."""
    said: list[dict[str, Any]] = []

    def talk(socket: ServerConnection) -> None:
        for raw in socket:
            message = json.loads(raw)
            said.append(message)
            if message["op"] == "watch":
                socket.send(frame(0, 0))
            else:
                answer(socket, message)

    with serve(talk, "127.0.0.1", 0, subprotocols=[Subprotocol(SUBPROTOCOL)]) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Location(f"http://127.0.0.1:{server.socket.getsockname()[1]}", "secret"), said
        server.shutdown()
        thread.join()


def test_each_input_is_the_whole_state_with_a_number() -> None:
    """Keys that are held stay in what follows; a tap is a press and a release; a frame says what it knew."""
    with gateway(takes) as (location, said), Client(location).act(RUN_ID) as session:
        assert session.frame().input == 0
        assert session.hold("left", "space") == 1
        assert session.frame(after=1).input == 1
        assert session.tap("up") == 2
        assert session.pause() == 4
        assert session.reset(seed=0) == 5
        assert session.set_rate(30) == 6
        session.wait_acted(6)
        assert session.release() == 7
        assert session.frame(after=7).input == 7
        assert session.steer(0.5, -1) == 8
        assert session.set_keys({"a": 0}) == 9
        assert session.release() == 10
        session.wait_acted(10)
    said, more = said[:8], said[8:]
    assert [each["axes"] for each in more] == [[0.5, -1.0], [0.5, -1.0], []]
    assert (more[1]["do"], more[1]["key_map"]) == ("keys", {"a": 0})
    assert said[0]["op"] == "watch"
    assert (said[0]["fps"], said[0]["smooth"]) == (120.0, True)
    held = ["left", "space"]
    assert [each["keys"] for each in said[1:]] == [held, [*held, "up"], *[held] * 4, []]
    assert [each.get("do") for each in said[1:]] == [None] * 3 + ["pause", "reset", "rate", None]
    assert [each["number"] for each in said[1:]] == list(range(1, 8))


async def test_the_async_session_does_the_same() -> None:
    """From an event loop."""
    with gateway(takes) as (location, said):
        async with AsyncClient(location) as client, client.act(RUN_ID) as session:
            await session.frame()
            assert await session.hold("a") == 1
            assert (await session.frame(after=1)).input == 1
            assert await session.tap("b") == 2
            assert await session.step() == 4
            await session.wait_acted(4)
            await session.resume()
            await session.release()
            assert (await session.frame(after=6)).input == 6
    assert [each["keys"] for each in said[1:]] == [["a"], ["a", "b"], ["a"], ["a"], ["a"], []]


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (refuses(ProblemCode.REQUEST_INVALID, "refused"), RequestRefused),
        (refuses(ProblemCode.RUN_ENDED, "problem"), RunEnded),
    ],
)
async def test_a_refused_input_is_an_error_of_the_next_call(
    answer: Answer, error: type[Exception]
) -> None:
    """It is never dropped without a word; a run that has ended is said too."""
    with gateway(answer) as (location, _):
        with Client(location).act(RUN_ID) as session:
            session.frame()
            number = session.hold("left")
            with pytest.raises(error):
                session.wait_acted(number)
        async with AsyncClient(location) as client, client.act(RUN_ID) as other:
            await other.frame()
            number = await other.hold("left")
            with pytest.raises(error):
                await other.wait_acted(number)


def test_what_does_not_come_is_an_error_in_time() -> None:
    """No answer, a connection that breaks, a stack that is not there, a key that is none."""
    with gateway(lambda *_: None) as (location, _), Client(location).act(RUN_ID) as session:
        session.frame()
        with pytest.raises(ValueError, match="keys"):
            session.hold("two words")
        with pytest.raises(WaitTimedOut):
            session.wait_acted(session.hold("left"), timeout_s=0.05)
        with pytest.raises(WaitTimedOut):
            session.frame(timeout_s=0.05)
    with (
        gateway(lambda socket, _: socket.close()) as (location, _),
        Client(location).act(RUN_ID) as session,
        pytest.raises(StackUnreachable),
    ):
        session.wait_acted(session.hold("left"))
    with pytest.raises(StackUnreachable), Client(location).act(RUN_ID):
        pass


def ends(socket: ServerConnection, said: dict[str, Any]) -> None:
    """A run whose episode, and with it the play, ends with the first input: what comes later is refused."""
    if said["number"] == 1:
        takes(socket, said)
    else:
        refuses(ProblemCode.RUN_ENDED, "refused")(socket, said)


async def test_the_last_frame_is_returned_before_the_end_is_an_error() -> None:
    """A tap is a press that ends the play and a release that comes too late: the frame is there, then the run has
    ended. The release is no error of its own."""
    with gateway(ends) as (location, _):
        with Client(location).act(RUN_ID) as session:
            session.frame()
            number = session.tap("left")
            while session._state.stream.ended is None:
                session._state.take(session._connection().recv())
            session.wait_acted(number)
            assert session.frame(after=number).input == 1
            with pytest.raises(RunEnded):
                session.frame()
            with pytest.raises(RunEnded):
                session.wait_acted(2)
        async with AsyncClient(location) as client, client.act(RUN_ID) as other:
            await other.frame()
            number = await other.tap("left")
            async with asyncio.timeout(60):
                while other._state.stream.ended is None:
                    await other._changed.wait()
                    other._changed.clear()
            await other.wait_acted(number)
            assert (await other.frame(after=number)).input == 1
            with pytest.raises(RunEnded):
                await other.frame()
