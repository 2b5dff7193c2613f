"""Clients that do not read, next to those that do."""

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mosaic_contracts.live import SUBPROTOCOL_MSGPACK
from mosaic_store.testing import RUN_ID, message

pytestmark = pytest.mark.broker
RATE = 20_000
SECONDS = 4


async def subscribe(socket: Any) -> None:
    """Ask for every event of the synthetic run."""
    frame = {"op": "subscribe", "run_id": RUN_ID, "cursor": "", "types": ["*"]}
    await socket.send(json.dumps(frame))


async def read_until(socket: Any, seq: int) -> list[int]:
    """Seqs until `seq` was seen; nothing may be missed."""
    seqs: list[int] = []
    while not seqs or seqs[-1] < seq:
        async with asyncio.timeout(60):
            frame = msgspec.msgpack.decode(await socket.recv())
        assert frame["op"] != "missed", frame
        if frame["op"] == "events":
            got = [event["seq"] for event in frame["events"]]
            got += [seq for table in frame["columns"].values() for seq in table["seq"]]
            seqs += sorted(got)
    return seqs


def resident_bytes(pid: int) -> int:
    """Memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


async def test_a_stalled_client_slows_nobody_and_costs_no_memory(
    gateway: Any, peers: Any, record: Any
) -> None:
    """Healthy clients get every event in time next to clients that read nothing.

    A stalled client that reads again gets all it missed from the store.
    """
    peers.records[RUN_ID] = record(RUN_ID)
    last = RATE * SECONDS
    stalled = [
        await gateway.live(SUBPROTOCOL_MSGPACK, max_queue=1, ping_interval=None) for _ in range(5)
    ]
    healthy = [await gateway.live(SUBPROTOCOL_MSGPACK) for _ in range(3)]
    for socket in (*stalled, *healthy):
        await subscribe(socket)
    reading = [asyncio.create_task(read_until(socket, last)) for socket in healthy]
    await asyncio.sleep(0.3)
    loop = asyncio.get_running_loop()
    began = loop.time()
    memory = 0
    for tick, first in enumerate(range(1, last, 400)):
        batch = message(first, first + 399)
        await peers.publish(batch)
        await peers.commit([batch])
        if tick == 25:
            memory = resident_bytes(gateway.pid)
        await asyncio.sleep(max(0.0, began + tick * 400 / RATE - loop.time()))
    published = loop.time()
    results = await asyncio.gather(*reading)
    assert loop.time() - published < 1.5
    assert all(seqs == list(range(1, last + 1)) for seqs in results)
    assert resident_bytes(gateway.pid) - memory < 60 * 2**20
    assert await read_until(stalled[0], last) == list(range(1, last + 1))
    for socket in (*stalled, *healthy):
        socket.transport.abort()
