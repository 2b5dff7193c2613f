"""The joint of history and live, on a real broker, store and gateway process."""

import asyncio
import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mosaic_contracts.live import SUBPROTOCOL_JSON, SUBPROTOCOL_MSGPACK
from mosaic_store.testing import RUN_ID, message

pytestmark = pytest.mark.broker


async def collect(socket: Any, start: int, last: int) -> list[int]:
    """Seqs of all events in order of arrival, until `last` was seen."""
    import msgspec

    seqs: list[int] = []
    while not seqs or seqs[-1] < last:
        async with asyncio.timeout(60):
            raw = await socket.recv()
        frame = json.loads(raw) if isinstance(raw, str) else msgspec.msgpack.decode(raw)
        # the scheduler of this test may be busy; the gateway asks it again
        if frame["op"] == "problem":
            assert frame["problem"]["code"] == "service_unavailable", frame
            continue
        assert frame["op"] in ("hello", "snapshot", "events", "run"), frame
        if frame["op"] == "events":
            got = [event["seq"] for event in frame["events"]]
            for table in frame["columns"].values():
                got += table["seq"]
            seqs += sorted(got)
    return seqs


async def feed(peers: Any, last: int, delay_s: float) -> AsyncIterator[int]:
    """Publish and commit, the commit some batches behind, as recorders are; some batches come twice."""
    waiting = []
    for first in range(1, last + 1, 100):
        batch = message(first, first + 99)
        await peers.publish(batch)
        if first % 700 == 1:
            await peers.publish(batch)
        waiting.append(batch)
        if len(waiting) == 8 or first + 99 >= last:
            await peers.commit(waiting)
            waiting = []
        await asyncio.sleep(delay_s)
        yield first + 99


async def test_twenty_clients_attach_anywhere_and_each_sees_every_event_once(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Whenever and from whatever cursor a client attaches to a run at speed, no event is missing or doubled."""
    last = 16_000
    peers.records[RUN_ID] = record(RUN_ID)
    chance = random.Random(7)
    tasks: list[asyncio.Task[list[int]]] = []
    starts: list[int] = []

    async def attach(start: int, subprotocol: str) -> list[int]:
        async with gateway.live(subprotocol) as socket:
            cursor = f"1.worker.{start}" if start else ""
            await socket.send(
                json.dumps({"op": "subscribe", "run_id": RUN_ID, "cursor": cursor, "types": ["*"]})
            )
            return await collect(socket, start, last)

    async for published in feed(peers, last, 0.008):
        if published % 800 == 0 and len(tasks) < 20:
            start = chance.choice([0, chance.randrange(published), published])
            protocol = chance.choice([SUBPROTOCOL_JSON, SUBPROTOCOL_MSGPACK])
            starts.append(start)
            tasks.append(asyncio.create_task(attach(start, protocol)))
    results = await asyncio.gather(*tasks)
    assert len(results) == 20
    for start, seqs in zip(starts, results, strict=True):
        assert seqs == list(range(start + 1, last + 1))
