"""The bus against a real nats-server that is absent, killed and refusing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from pydantic import BaseModel

from mosaic_contracts import subjects
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.services import ListRequest, RunRecords, RunRequest
from mosaic_servicekit.bus import Bus, Subscription
from mosaic_servicekit.bus_errors import BrokerUnavailable, ServiceUnavailable
from mosaic_servicekit.testing import TestBroker

pytestmark = pytest.mark.broker

MakeBus = Callable[[str], Awaitable[Bus]]


class Echo(BaseModel):
    """A request and its answer."""

    text: str


@pytest.fixture
async def make_bus(broker: TestBroker) -> AsyncIterator[MakeBus]:
    """Makes connected buses and closes them."""
    made: list[Bus] = []

    async def make(name: str) -> Bus:
        bus = Bus(broker.url, name)
        made.append(bus)
        await bus.start()
        await asyncio.wait_for(bus.connected.wait(), 60)
        return bus

    yield make
    for bus in made:
        await bus.close()


async def _echo(request: Echo) -> Echo:
    if request.text == "problem":
        raise ProblemError(Problem(code=ProblemCode.RUN_UNKNOWN, title="No such run"))
    if request.text == "bug":
        raise ZeroDivisionError
    return request


async def test_a_request_brings_the_result(make_bus: MakeBus) -> None:
    """A verb answers with its handler's result."""
    server, client = await make_bus("server"), await make_bus("client")
    await server.serve("echo", {"say": (Echo, _echo)})
    assert await client.request("echo", "say", Echo(text="hi"), Echo) == Echo(text="hi")


@pytest.mark.parametrize(
    ("text", "code"),
    [("problem", ProblemCode.RUN_UNKNOWN), ("bug", ProblemCode.INTERNAL)],
)
async def test_an_error_comes_back_as_its_problem(
    make_bus: MakeBus, text: str, code: ProblemCode
) -> None:
    """A ProblemError keeps its code; any other exception is `internal` without its text."""
    server, client = await make_bus("server"), await make_bus("client")
    await server.serve("echo", {"say": (Echo, _echo)})
    with pytest.raises(ProblemError) as raised:
        await client.request("echo", "say", Echo(text=text), Echo)
    assert raised.value.problem.code == code


async def test_a_bad_request_is_refused_before_the_handler(make_bus: MakeBus) -> None:
    """A payload that is not the verb's model is `request_invalid` and names the field."""
    server, client = await make_bus("server"), await make_bus("client")
    await server.serve("echo", {"say": (Echo, _echo)})
    with pytest.raises(ProblemError) as raised:
        await client.request("echo", "say", RunRequest(run_id="x"), Echo)
    assert raised.value.problem.code == ProblemCode.REQUEST_INVALID
    assert raised.value.problem.fields[0]["where"] == "text"


async def test_nobody_listening_is_said_at_once(make_bus: MakeBus) -> None:
    """A service that is not there is `service_unavailable` with a time to come back."""
    client = await make_bus("client")
    with pytest.raises(ServiceUnavailable) as raised:
        await client.request("scheduler", "list", ListRequest(), RunRecords)
    assert raised.value.problem.retry_after_s == 1.0


async def test_a_slow_handler_does_not_hold_up_another(make_bus: MakeBus) -> None:
    """Two requests to one verb are answered independently."""
    release = asyncio.Event()

    async def wait_for_it(request: Echo) -> Echo:
        if request.text == "slow":
            await release.wait()
        return request

    server, client = await make_bus("server"), await make_bus("client")
    await server.serve("echo", {"say": (Echo, wait_for_it)})
    slow = asyncio.create_task(client.request("echo", "say", Echo(text="slow"), Echo))
    assert await client.request("echo", "say", Echo(text="fast"), Echo) == Echo(text="fast")
    release.set()
    assert await slow == Echo(text="slow")


async def test_a_broker_that_comes_later_is_found(tmp_path: Path) -> None:
    """Started before the broker, the bus says so and connects once the broker is there."""
    broker = TestBroker(tmp_path)
    bus = Bus(broker.url, "early")
    await bus.start()
    with pytest.raises(BrokerUnavailable):
        await bus.request("scheduler", "list", None, RunRecords)
    assert not await bus.publish(subjects.RUN_CHANGED, b"x")
    try:
        broker.start()
        await asyncio.wait_for(bus.connected.wait(), 60)
    finally:
        await bus.close()
        broker.kill()


async def test_verbs_answer_again_after_the_broker_was_killed(
    make_bus: MakeBus, broker: TestBroker
) -> None:
    """kill -9 of the broker: both sides reconnect within 3 s and subscriptions are back."""
    server, client = await make_bus("server"), await make_bus("client")
    await server.serve("echo", {"say": (Echo, _echo)})
    returned = asyncio.Event()
    server.on_connected(returned.set)
    broker.kill()
    await asyncio.sleep(0)
    broker.start()
    await asyncio.wait_for(returned.wait(), 60)
    await asyncio.wait_for(client.connected.wait(), 60)
    assert await client.request("echo", "say", Echo(text="hi"), Echo) == Echo(text="hi")
    assert server.connects == 2


async def test_a_client_whose_reconnect_ended_without_a_word_is_replaced(
    make_bus: MakeBus, broker: TestBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bus is connected again, with its subscriptions, although nats-py no longer tries."""
    monkeypatch.setattr("mosaic_servicekit.bus.RENEW_S", 0.5)
    server, client = await make_bus("server"), await make_bus("client")
    await server.serve("echo", {"say": (Echo, _echo)})
    lame = server.client
    broker.kill()
    async with asyncio.timeout(60):
        await server.lost.wait()
        while lame._reconnection_task is None:  # noqa: ASYNC110 - nats-py has no event for it
            await asyncio.sleep(0.01)
        lame._reconnection_task.cancel()
        broker.start()
        await server.connected.wait()
        await client.connected.wait()
    assert server.client is not lame
    assert await client.request("echo", "say", Echo(text="hi"), Echo) == Echo(text="hi")


async def test_a_connection_lost_while_it_is_set_up_is_not_taken_for_one(
    make_bus: MakeBus, broker: TestBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker goes between connect and subscribe, and nats-py's reconnect ends: the bus connects all the same."""
    monkeypatch.setattr("mosaic_servicekit.bus.RENEW_S", 0.5)
    client = await make_bus("client")
    attach, lame = Subscription.attach, list[Client]()

    async def attach_too_late(self: Subscription, to: Client) -> None:
        if not lame:
            lame.append(to)
            broker.kill()
            while to._reconnection_task is None:  # noqa: ASYNC110 - nats-py has no event for it
                await asyncio.sleep(0.01)
            to._reconnection_task.cancel()
            broker.start()
            await client.connected.wait()
        await attach(self, to)

    server = Bus(broker.url, "server")
    await server.serve("echo", {"say": (Echo, _echo)})
    monkeypatch.setattr(Subscription, "attach", attach_too_late)
    await server.start()
    try:
        async with asyncio.timeout(60):
            await server.connected.wait()
            asked = client.request("echo", "say", Echo(text="hi"), Echo)
            assert await asked == Echo(text="hi")
        assert server.client is not lame[0]
    finally:
        await server.close()


async def test_a_message_that_breaks_its_handler_does_not_end_the_subscription(
    make_bus: MakeBus,
) -> None:
    """The message after a failing one is handled."""
    seen: asyncio.Queue[bytes] = asyncio.Queue()

    async def take(message: Msg) -> None:
        if message.data == b"bad":
            raise ZeroDivisionError
        seen.put_nowait(message.data)

    bus = await make_bus("one")
    await bus.subscribe(subjects.RUN_CHANGED, take)
    await bus.publish(subjects.RUN_CHANGED, b"bad")
    await bus.publish(subjects.RUN_CHANGED, b"good")
    assert await asyncio.wait_for(seen.get(), 2) == b"good"


async def test_an_answer_too_large_for_the_broker_is_told(make_bus: MakeBus) -> None:
    """An answer that fits no message is `request_invalid` at once, not silence until the asker's time is over."""

    async def shout(request: Echo) -> Echo:
        return Echo(text=request.text * 2**24)

    server, client = await make_bus("server"), await make_bus("client")
    await server.serve("echo", {"shout": (Echo, shout)})
    with pytest.raises(ProblemError) as raised:
        await client.request("echo", "shout", Echo(text="x"), Echo)
    assert raised.value.problem.code == ProblemCode.REQUEST_INVALID


async def test_a_cancelled_subscription_is_forgotten(make_bus: MakeBus) -> None:
    """Subscriptions that come and go leave nothing behind, on a connection that lasts."""
    bus = await make_bus("client")

    async def take(message: Msg) -> None:
        """Nothing."""

    kept = await bus.subscribe("kept", take)
    for _ in range(50):
        await (await bus.subscribe("passing", take)).cancel()
    assert list(bus._subscriptions) == [kept]


async def test_a_bus_closes_while_its_broker_goes(
    broker: TestBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A connection that is lost in the moment of the close is no error: a service that ends then still exits with 0."""
    bus = Bus(broker.url, "leaving")
    await bus.start()
    await asyncio.wait_for(bus.connected.wait(), 60)
    client, close = bus.client, bus.client.close

    async def lost() -> None:
        """As nats-py fails where its transport is gone already."""
        await close()
        raise ConnectionResetError("Connection lost")

    monkeypatch.setattr(client, "close", lost)
    await bus.close()
    assert not bus.connected.is_set()


async def test_a_bus_closed_while_it_connects_leaves_no_connection() -> None:
    """The broker has taken the connection and not said a word yet: it sees the connection end."""
    seen: asyncio.Queue[asyncio.StreamReader] = asyncio.Queue()
    leave = asyncio.Event()

    async def be_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.put_nowait(reader)
        await leave.wait()
        writer.close()

    server = await asyncio.start_server(be_silent, "127.0.0.1")
    try:
        bus = Bus(f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}", "test")
        await bus.start()
        reader = await asyncio.wait_for(seen.get(), 60)
        await bus.close()
        assert await asyncio.wait_for(reader.read(), 60) == b""
    finally:
        leave.set()
        server.close()
        await server.wait_closed()
