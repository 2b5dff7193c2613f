"""The gateway alone: the spine's three queries through the API, and live latency from batch to decoded frame.

    var/venvs/gateway/bin/python benchmarks/gateway.py [--points N] [--seconds S] [--rates R ...]

Needs the gateway's environment with its development group (`./mosaic sync --dev gateway`).

Method. A nats-server, a store and a gateway process are started in a folder of their own. Queries: a run with N points
of one metric (default a million) and one with 59,001 events (episodes of 17 steps); each query 41 times over one kept
HTTP connection after one that warms up, from sending to the parsed JSON; median and highest. Live: a process of its
own makes step events at the rate, each with the moment at which it would have happened, and publishes what 20 ms gave
as a shipper does while somebody watches (zstd, at most 1,000 events a batch); this process follows with msgpack and
decodes every frame. Latency is from the event's moment to the decoded frame, over all events but those of the first
1.5 s. Nothing is recorded meanwhile: benchmarks/spine.py measures the whole way. One JSON object on stdout.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import msgspec
from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from mosaic_contracts import subjects
from mosaic_contracts.live import SUBPROTOCOL_MSGPACK
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RunRequest
from mosaic_contracts.wire import (
    BATCH_HEADER,
    ENCODING_HEADER,
    ENCODING_ZSTD,
    SOURCE_WORKER,
    BatchHead,
    Metric,
    Step,
    encode_record,
    join_batch,
)
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.testing import TestBroker, free_port
from mosaic_store import StreamCursor, open_writer, read_batch
from mosaic_store.batch import pack
from mosaic_store.testing import RUN_ID, messages

CURVE_RUN = "01JGXSYNTHETCVRVE000000000"
LIVE_RUNS = "01JGXSYNTHETXVE00000000000"
BATCH = 1000
BATCH_S = 0.02
CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)


def fill_store(path: Path, points: int) -> None:
    """The two runs that are asked for."""
    with open_writer(path) as writer:
        writer.apply([read_batch(m.payload, m.encoding) for m in messages(59_001, BATCH)], CURSOR)
        for first in range(1, points + 1, BATCH * 10):
            batches = []
            for seq0 in range(first, min(first + BATCH * 10, points + 1), BATCH):
                seqs = range(seq0, min(seq0 + BATCH, points + 1))
                body = b"".join(encode_record(Metric(s, 0, "loss", s, s % 97 / 7)) for s in seqs)
                head = BatchHead(CURVE_RUN, 1, SOURCE_WORKER, seq0, len(seqs))
                batches.append(read_batch(pack(join_batch(head, 0, body)), ENCODING_ZSTD))
            writer.apply(batches, CURSOR)


def measure_queries(url: str, token: str) -> dict[str, dict[str, float]]:
    """Median and highest of each query, ms."""
    curve = f"/api/v1/runs/{CURVE_RUN}/curve"
    queries: dict[str, tuple[str, dict[str, Any]]] = {
        "last_1000_points": (curve, {"name": "loss", "last": 1000}),
        "steps_of_an_episode": (f"/api/v1/runs/{RUN_ID}/episodes/1/0/1500/steps", {}),
        "2000_buckets": (curve, {"name": "loss", "buckets": 2000}),
    }
    found = {}
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=url, headers=headers, trust_env=False) as http:
        for name, (path, query) in queries.items():
            took = [timed(lambda p=path, q=query: http.get(p, params=q)) for _ in range(42)][1:]
            found[name] = {
                "median_ms": round(statistics.median(took), 2),
                "max_ms": round(max(took), 2),
            }
    return found


def timed(ask: Callable[[], httpx.Response]) -> float:
    """Milliseconds to the parsed answer."""
    began = time.perf_counter()
    reply = ask()
    reply.json()
    took = (time.perf_counter() - began) * 1000
    reply.raise_for_status()
    return took


async def publish(broker_url: str, run_id: str, rate: int, seconds: float) -> None:
    """Be the shipper of a run (in a process of its own)."""
    bus = Bus(broker_url, "shipper")
    await bus.start()
    await bus.connected.wait()
    seq, began = 1, time.time()
    digest = bytes(8)
    while (now := time.time()) < began + seconds:
        # all events that happened since the last batch, each at its own moment
        due = int((now - began) * rate) + 1
        while seq < due:
            count = min(due - seq, BATCH)
            t0_us = int((began + seq / rate) * 1e6)
            body = b"".join(
                encode_record(Step(seq + i, int(i * 1e6 / rate), 0, 0, seq + i, 1, 1.0, 0, digest))
                for i in range(count)
            )
            head = BatchHead(run_id, 1, SOURCE_WORKER, seq, count)
            headers = {BATCH_HEADER: head.header(), ENCODING_HEADER: ENCODING_ZSTD}
            await bus.publish(subjects.events(run_id), pack(join_batch(head, t0_us, body)), headers)
            seq += count
        await asyncio.sleep(max(0.0, now + BATCH_S - time.time()))
    await bus.close()


async def measure_live(
    port: int, token: str, broker_url: str, run_id: str, rate: int, seconds: float, pid: int
) -> dict[str, Any]:
    """Latency at one rate."""
    decode = msgspec.msgpack.Decoder().decode
    late: list[float] = []
    events = last = 0
    async with connect(
        f"ws://127.0.0.1:{port}/api/v1/live",
        additional_headers={"Authorization": f"Bearer {token}"},
        subprotocols=[Subprotocol(SUBPROTOCOL_MSGPACK)],
        max_size=64 * 2**20,
        proxy=None,
    ) as socket:
        frame = {"op": "subscribe", "run_id": run_id, "cursor": None, "types": ["*"]}
        await socket.send(msgspec.msgpack.encode(frame))
        async with asyncio.timeout(10):
            while (got := decode(await socket.recv()))["op"] != "snapshot":
                if got["op"] == "problem":
                    raise SystemExit(f"the gateway refused: {got['problem']}")
        argv = [sys.executable, __file__, "--publish", broker_url, run_id, str(rate), str(seconds)]
        shipper = await asyncio.create_subprocess_exec(*argv)
        used, began, quiet = cpu_s(pid), time.time(), time.time()
        while shipper.returncode is None or time.time() < quiet + 1:
            try:
                async with asyncio.timeout(0.5):
                    got = decode(await socket.recv())
            except TimeoutError:
                continue
            quiet = time.time()
            table = got.get("columns", {}).get("step")
            if table is None:
                continue
            if table["seq"][0] != last + 1:
                raise SystemExit(f"a gap: {last} is followed by {table['seq'][0]}")
            events += len(table["seq"])
            last = table["seq"][-1]
            if quiet > began + 1.5:
                late += [quiet - t for t in table["t"]]
        used = cpu_s(pid) - used
    cuts = statistics.quantiles(late, n=100)
    return {
        "rate": rate,
        "events": events,
        "p50_ms": round(cuts[49] * 1000, 1),
        "p99_ms": round(cuts[98] * 1000, 1),
        "gateway_us_per_event": round(used / events * 1e6, 2),
    }


def cpu_s(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def serve_scheduler(broker_url: str) -> Bus:
    """Somebody who knows the runs that are followed."""
    bus = Bus(broker_url, "scheduler")
    await bus.start()

    async def get(request: RunRequest) -> RunRecord:
        spec = {"worker": "synthetic", "algorithm": "none", "environment": "none"}
        fields = {"name": "live", "spec": spec, "state": "running", "revision": 1, "run_dir": "x"}
        return RunRecord.model_validate(
            {**fields, "run_id": request.run_id, "created_at": datetime.now(UTC)}
        )

    await bus.serve("scheduler", {"get": (RunRequest, get)})
    return bus


async def measure(home: Path, points: int, seconds: float, rates: list[int]) -> dict[str, Any]:
    """Everything."""
    fill_store(home / "db" / "telemetry.sqlite3", points)
    port = free_port()
    with TestBroker(home / "broker") as broker:
        environment = {
            "MOSAIC_HOME": str(home),
            "MOSAIC_BROKER_URL": broker.url,
            "MOSAIC_GATEWAY_PORT": str(port),
        }
        bus = await serve_scheduler(broker.url)
        await bus.connected.wait()
        gateway = start_gateway(home, environment)
        try:
            url = f"http://127.0.0.1:{port}"
            await wait_up(url)
            token = (home / "secrets/gateway.token").read_text().strip()
            queries = await asyncio.to_thread(measure_queries, url, token)
            live = []
            for n, rate in enumerate(rates):
                run_id = f"{LIVE_RUNS[:-1]}{n}"
                live.append(
                    await measure_live(port, token, broker.url, run_id, rate, seconds, gateway.pid)
                )
        finally:
            gateway.terminate()
            gateway.wait(timeout=15)
            await bus.close()
    return {"points": points, "queries": queries, "live": live}


def start_gateway(home: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """A gateway process."""
    argv = [sys.executable, "-m", "mosaic_gateway"]
    with (home / "gateway.log").open("wb") as log:
        return subprocess.Popen(argv, env={**os.environ, **environment}, stderr=log)


async def wait_up(url: str) -> None:
    """Until the gateway answers."""
    async with httpx.AsyncClient(trust_env=False) as http:
        while True:
            try:
                await http.get(f"{url}/healthz", timeout=1)
                return
            except httpx.TransportError:
                await asyncio.sleep(0.05)


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--rates", type=int, nargs="+", default=[500, 10_000, 60_000, 120_000])
    parser.add_argument("--publish", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.publish:
        broker_url, run_id, rate, seconds = arguments.publish
        asyncio.run(publish(broker_url, run_id, int(rate), float(seconds)))
        return
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(
            measure(Path(folder), arguments.points, arguments.seconds, arguments.rates)
        )
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
