"""A gateway whose broker goes away, and its own end. What a test ended is started again for the next."""

import asyncio
import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from mosaic_servicekit.testing import TestBroker
from mosaic_store import StreamCursor, read_batch
from mosaic_store.testing import RUN_ID, Message, message, messages

pytestmark = pytest.mark.broker
UNKNOWN = "01JGXSYNTHET1CRVN00000000Z"
CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)
HANGS_S = 30.0
"""What takes longer waits for what never comes; a busy machine may take seconds."""


def stored(batches: list[Message]) -> list[Any]:
    """As the recorder reads them."""
    return [read_batch(b.payload, b.encoding) for b in batches]


async def subscribe(socket: Any, cursor: str = "") -> None:
    """Ask for every event of the synthetic run."""
    frame = {"op": "subscribe", "run_id": RUN_ID, "cursor": cursor, "types": ["*"]}
    await socket.send(json.dumps(frame))


async def snapshot(socket: Any, frames: Any) -> None:
    """Wait for the snapshot: from then on nothing that is published is lost."""
    while (await frames(socket))["op"] != "snapshot":
        pass


async def read_for_ever(socket: Any) -> None:
    """Read until the connection is closed."""
    while True:
        await socket.recv()


async def events_until(socket: Any, frames: Any, seq: int) -> list[int]:
    """Seqs of all events until `seq` was seen."""
    seqs: list[int] = []
    while not seqs or seqs[-1] < seq:
        frame = await frames(socket)
        if frame["op"] == "events":
            seqs += [event["seq"] for event in frame["events"]]
    return seqs


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root of this module."""
    return tmp_path_factory.mktemp("mosaic")


@pytest.fixture(scope="module")
def module_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestBroker]:
    """A broker of this module."""
    with TestBroker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="module")
def module_gateway(home: Path, module_broker: TestBroker, gateway_process: Any) -> Iterator[Any]:
    """A gateway of this module."""
    process = gateway_process(home, module_broker.url)
    yield process
    if process.is_running:
        assert process.stop() == 0, process.log.read_text()


@pytest.fixture
def broker(module_broker: TestBroker) -> TestBroker:
    """A broker that runs when the test begins."""
    if not module_broker.is_running:
        module_broker.start()
    return module_broker


@pytest.fixture
def gateway(module_gateway: Any, broker: TestBroker) -> Any:
    """A gateway that runs when the test begins, and has reached the broker."""
    if not module_gateway.is_running:
        module_gateway.start()
    module_gateway.wait_for_broker()
    return module_gateway


async def test_without_a_broker_history_still_answers(
    gateway: Any, peers: Any, record: Any, broker: Any
) -> None:
    """With the broker dead, what needs the scheduler is 503 with Retry-After in time, and the store's routes go on."""
    peers.records[RUN_ID] = record(RUN_ID)
    await peers.commit(list(messages(101, 100)))
    await asyncio.to_thread(broker.kill)
    for path in ("/runs", f"/runs/{RUN_ID}", "/workers", f"/runs/{UNKNOWN}/events"):
        began = time.monotonic()
        reply = await gateway.get(path)
        assert time.monotonic() - began < HANGS_S
        assert reply.status_code == 503
        assert reply.json()["code"] in ("broker_unavailable", "service_unavailable")
        assert int(reply.headers["retry-after"]) >= 1
    assert len((await gateway.get(f"/runs/{RUN_ID}/events")).json()["events"]) == 101
    assert (await gateway.get(f"/runs/{RUN_ID}/metrics")).json()
    stack = (await gateway.get("/stack")).json()
    assert (stack["ready"], stack["broker"]) == (False, False)
    assert "broker" in stack["findings"][0]
    async with gateway.async_client() as http:
        assert (await http.get("/healthz")).status_code == 200
        assert (await http.get("/readyz")).status_code == 503


def test_the_token_never_reaches_the_log(gateway: Any) -> None:
    """Requests with the token in header and subprotocol leave no trace of it in the gateway's log."""
    with gateway.client() as http:
        http.get("/api/v1/runs", headers=gateway.headers)
        http.get(f"/api/v1/{gateway.token}", headers=gateway.headers)
        http.get(
            "/api/v1/live", headers={"Sec-WebSocket-Protocol": f"mosaic.token.{gateway.token}"}
        )
    assert gateway.stop() == 0
    assert gateway.token not in gateway.log.read_text()
    assert json.loads(gateway.log.read_text().splitlines()[0])["event"]


async def test_clients_outlive_the_broker(
    gateway: Any, peers: Any, record: Any, frames: Any, broker: TestBroker
) -> None:
    """When the broker dies a client gets a message and stays; after its return events go on without gap or double."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket)
        await snapshot(socket, frames)
        await peers.publish(message(1, 10))
        seqs = await events_until(socket, frames, 10)
        await asyncio.to_thread(broker.kill)
        frame = await frames(socket)
        while frame["op"] != "problem":
            frame = await frames(socket)
        assert frame["problem"]["code"] == "broker_unavailable"
        peers.committed.add(RUN_ID)
        await asyncio.to_thread(peers.writer.apply, stored([message(1, 30)]), CURSOR)
        broker.start()
        await asyncio.wait_for(peers.bus.connected.wait(), 60)
        seqs += await events_until(socket, frames, 30)
        # A shipper sends again what was not committed, with other bounds.
        await peers.publish(message(25, 45))
        await peers.publish(message(46, 50))
        seqs += await events_until(socket, frames, 50)
    assert seqs == list(range(1, 51))


async def test_a_subscription_waits_for_the_scheduler(
    gateway: Any, frames: Any, broker: TestBroker, home: Path, record: Any, make_peers: Any
) -> None:
    """Without a scheduler the client learns why it waits, and gets its snapshot when there is one."""
    async with gateway.live() as socket:
        await subscribe(socket)
        await frames(socket)
        frame = await frames(socket)
        # The gateway may not have reached the broker yet.
        assert frame["problem"]["code"] in ("service_unavailable", "broker_unavailable")
        assert frame["run_id"] == RUN_ID
        async with make_peers(home, broker) as peers:
            peers.records[RUN_ID] = record(RUN_ID)
            while frame["op"] != "snapshot":
                frame = await frames(socket)


async def test_a_polite_end_closes_streams_first(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """SIGTERM closes every WebSocket with 1001, also next to one that reads nothing; the gateway exits 0 in time."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as reading, gateway.live(max_queue=1) as stalled:
        await subscribe(reading)
        await subscribe(stalled)
        await snapshot(reading, frames)
        stalled.transport.pause_reading()
        for first in range(1, 40_000, 1000):
            await peers.publish(message(first, first + 999))
        await events_until(reading, frames, 1000)
        began = time.monotonic()
        ending = asyncio.create_task(asyncio.to_thread(gateway.stop))
        with pytest.raises(ConnectionClosed) as closed:
            await read_for_ever(reading)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1001
        assert await ending == 0
        assert time.monotonic() - began < HANGS_S  # a stalled client would hold it for ever
        stalled.transport.abort()
    assert "Traceback" not in gateway.log.read_text()


async def test_a_client_goes_on_after_the_gateway_was_killed(
    gateway: Any, peers: Any, record: Any, frames: Any
) -> None:
    """After kill -9 of the gateway a client that comes back with its cursor misses and doubles nothing."""
    peers.records[RUN_ID] = record(RUN_ID)
    async with gateway.live() as socket:
        await subscribe(socket)
        await snapshot(socket, frames)
        await peers.publish(message(1, 50))
        assert await events_until(socket, frames, 50) == list(range(1, 51))
    await asyncio.to_thread(gateway.stop, signal.SIGKILL)
    await peers.publish(message(51, 100))
    await peers.commit([message(1, 100)])
    await asyncio.to_thread(gateway.start)
    first = await gateway.get(f"/runs/{RUN_ID}")
    assert (first.status_code, first.json()["stale"]) == (200, False), "it has no broker yet"
    async with gateway.live() as socket:
        await subscribe(socket, "1.worker.50")
        await snapshot(socket, frames)
        await peers.publish(message(101, 120))
        assert await events_until(socket, frames, 120) == list(range(51, 121))


async def test_without_a_scheduler_a_run_is_what_was_seen_last(
    gateway: Any, peers: Any, record: Any, broker: TestBroker
) -> None:
    """A record that the scheduler sent is remembered, and marked once the scheduler is away; then it is fresh again."""
    peers.records[RUN_ID] = record(RUN_ID, revision=7, tags=["mine"])
    fresh = (await gateway.get(f"/runs/{RUN_ID}")).json()
    assert (fresh["stale"], fresh["notes"]) == (False, [])
    await asyncio.to_thread(broker.kill)
    old = (await gateway.get(f"/runs/{RUN_ID}")).json()
    assert (old["stale"], old["revision"], old["tags"], old["state"]) == (
        True,
        7,
        ["mine"],
        "running",
    )
    listed = (await gateway.get("/runs", params={"tag": "mine"})).json()["runs"]
    assert [(run["run_id"], run["stale"], run["tags"]) for run in listed] == [
        (RUN_ID, True, ["mine"])
    ]
    await asyncio.to_thread(broker.start)
    async with asyncio.timeout(60):
        # neither side announces that it is back
        while (again := (await gateway.get(f"/runs/{RUN_ID}")).json())["stale"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert again["notes"] == []
