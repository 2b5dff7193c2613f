"""Inputs of a person over a real gateway process and broker; the test is the run's shipper."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from nats.aio.msg import Msg
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

from mosaic_contracts import subjects
from mosaic_contracts.frames import SUBPROTOCOL
from mosaic_contracts.http_api import FRAMES_PATH
from mosaic_contracts.play import MAX_INPUTS, InputsTaken, PlayInput, PlayInputs, RefusedInput
from mosaic_contracts.services import ControlRequest, Reply
from mosaic_servicekit.bus import Bus

pytestmark = pytest.mark.broker
_numbers = itertools.count(1)


class PlayedRun:
    """Takes inputs on a run's control subject."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[list[PlayInput]] = asyncio.Queue()
        self.refuses: set[int] = set()
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def answer(self, message: Msg) -> None:
        """As the shipper."""
        request = ControlRequest.model_validate_json(message.data)
        assert request.op == "act"
        inputs = PlayInputs.model_validate(request.data).inputs
        self.requests.put_nowait(inputs)
        await self.may_answer.wait()
        refused = [RefusedInput(number=n, why="no") for n in self.refuses]
        taken = InputsTaken(refused=refused).model_dump(mode="json")
        await message.respond(Reply(result=taken).model_dump_json().encode())

    async def next(self) -> list[PlayInput]:
        """The inputs of the next request."""
        async with asyncio.timeout(60):
            return await self.requests.get()


@pytest.fixture
def run_id() -> str:
    """A run of this test."""
    return f"01JGXSYNTHET1CRVA0000{next(_numbers):05}"


@asynccontextmanager
async def played(bus: Bus, run_id: str) -> AsyncIterator[PlayedRun]:
    """A run that takes inputs."""
    made = PlayedRun()
    subscription = await bus.subscribe(subjects.control(run_id), made.answer)
    try:
        yield made
    finally:
        await subscription.cancel()


@pytest.fixture
async def run(peers: Any, record: Any, run_id: str) -> AsyncIterator[PlayedRun]:
    """A run that lives."""
    peers.records[run_id] = record(run_id)
    async with played(peers.bus, run_id) as made:
        yield made


def acting(gateway: Any) -> connect:
    """A WebSocket to `/frames`."""
    return connect(
        f"ws://127.0.0.1:{gateway.port}{FRAMES_PATH}",
        additional_headers=gateway.headers,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        proxy=None,
    )


async def act(socket: ClientConnection, run_id: str, number: int, *keys: str, **more: Any) -> None:
    """Send an input."""
    said = {"op": "act", "run_id": run_id, "number": number, "keys": list(keys), **more}
    await socket.send(json.dumps(said))


async def words(socket: ClientConnection) -> dict[str, Any]:
    """The next message."""
    async with asyncio.timeout(60):
        said: dict[str, Any] = json.loads(await socket.recv())
    return said


async def test_an_input_reaches_the_run_and_is_acknowledged(
    gateway: Any, run: PlayedRun, run_id: str
) -> None:
    """With the connection's name, its keys and its command."""
    async with acting(gateway) as socket, acting(gateway) as other:
        await act(socket, run_id, 1, "left", "space")
        (first,) = await run.next()
        assert (first.number, first.keys, first.do) == (1, ["left", "space"], None)
        assert await words(socket) == {"op": "acted", "run_id": run_id, "env": 0, "number": 1}
        await act(socket, run_id, 2, do="keys", key_map={"a": [0.5, None]}, axes=[-1, 0.25])
        (changed,) = await run.next()
        assert (changed.do, changed.key_map) == ("keys", {"a": [0.5, None]})
        assert changed.axes == [-1, 0.25]
        await words(socket)
        await act(other, run_id, 1, do="reset", seed=2**31 - 1)
        (second,) = await run.next()
        assert (second.do, second.seed) == ("reset", 2**31 - 1)
        assert second.player != first.player
        await words(other)


async def test_a_burst_goes_in_order_and_loses_nothing(
    gateway: Any, run: PlayedRun, run_id: str
) -> None:
    """What comes while a request is under way goes together in the next ones."""
    async with acting(gateway) as socket:
        run.may_answer.clear()
        for number in range(1, 101):
            await act(socket, run_id, number, "a")
        requests = [await run.next()]
        run.may_answer.set()
        # a busy gateway may not have read all of them yet
        while requests[-1][-1].number != 100:
            requests.append(await run.next())
        assert [one.number for each in requests for one in each] == list(range(1, 101))
        assert len(requests) < 100
        assert max(map(len, requests)) <= MAX_INPUTS
        while (await words(socket))["number"] != 100:
            pass


async def test_what_is_not_taken_is_said_for_each_input(
    gateway: Any, run: PlayedRun, run_id: str, peers: Any, record: Any
) -> None:
    """By the run's worker, by a run that does not answer, and by a gateway in which too many wait."""
    async with acting(gateway) as socket:
        run.refuses = {1}
        await act(socket, run_id, 1, do="give")
        said = await words(socket)
        assert (said["op"], said["number"], said["problem"]["detail"]) == ("refused", 1, "no")
        other = run_id[:-5] + "99999"
        peers.records[other] = record(other, state="starting")
        await act(socket, other, 1)
        said = await words(socket)
        assert (said["op"], said["problem"]["code"]) == ("refused", "run_not_started")
        run.may_answer.clear()
        for number in range(2, 402):
            await act(socket, run_id, number)
        refused = await words(socket)
        assert refused["op"] == "refused"
        assert "wait for this run already" in refused["problem"]["detail"]
        run.may_answer.set()


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": 0},
        {"number": 1, "keys": ["a b"]},
        {"number": 1, "keys": ["a"] * 33},
        {"number": 1, "do": "fly"},
        {"number": 1, "do": "rate"},
        {"number": 1, "rate": 5},
        {"number": 1, "seed": 5},
        {"number": 1, "do": "rate", "rate": 1e9},
    ],
)
async def test_an_input_that_is_none_is_refused(
    gateway: Any, run_id: str, wrong: dict[str, Any]
) -> None:
    """The connection stays."""
    async with acting(gateway) as socket:
        await socket.send(json.dumps({"op": "act", "run_id": run_id, **wrong}))
        said = await words(socket)
        assert said["problem"]["code"] == "request_invalid"


async def test_a_client_that_dies_with_many_inputs_holds_no_key(
    gateway: Any, run: PlayedRun, run_id: str
) -> None:
    """The release goes behind all that waits, although nothing more of the client would be taken."""
    run.may_answer.clear()
    async with acting(gateway) as socket:
        for number in range(1, 402):
            await act(socket, run_id, number, "left")
        assert (await words(socket))["op"] == "refused"
        socket.transport.abort()
    await asyncio.sleep(0.2)
    run.may_answer.set()
    while (await run.next())[-1].keys:
        pass


async def test_a_client_that_dies_holds_no_key(gateway: Any, run: PlayedRun, run_id: str) -> None:
    """The gateway releases them for it; one that held none is followed by nothing."""
    async with acting(gateway) as socket:
        await act(socket, run_id, 7, "left")
        await run.next()
        socket.transport.abort()
    (last,) = await run.next()
    assert (last.number, last.keys) == (8, [])
    async with acting(gateway) as socket:
        await act(socket, run_id, 1)
        await run.next()
        await words(socket)
    await asyncio.sleep(0.2)
    assert run.requests.empty()
