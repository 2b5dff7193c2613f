"""Events a second from the worker's call to the committed store, against two ways of publishing with nats-py."""

import asyncio
import gc
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import msgspec
import nats
from warm_stack import VENVS, WarmStack

from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import SOURCE_WORKER
from mosaic_servicekit.testing import TestBroker
from mosaic_workerkit.testing.synthetic import FIRST_SEQ, Formula

EVENTS = 400_000
WINDOW_EVENTS = 40_000
WINDOW = 256
STREAM = "PEER"
SPEC = StoredSpec(
    worker="synthetic", algorithm="synthetic", environment="Synthetic-v0", parameters={"rate": 0}
)


def measure(stack: WarmStack, rounds: int) -> dict[str, Any]:
    """Rates of the three ways, medians over alternated rounds."""
    rates: dict[str, list[float]] = {"committed": [], "core": [], "window": [], "formula": []}
    costs: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, TestBroker(Path(folder)) as broker:
        for number in range(rounds):
            turns = ["core", "window", "committed", "formula"]
            for way in turns[number % 4 :] + turns[: number % 4]:
                if way == "committed":
                    rate, cost = _committed(stack)
                    costs.append(cost)
                else:
                    rate = _peer(way, broker.url)
                rates[way].append(rate)
                print(f"  {way}: {rate:,.0f}/s", file=sys.stderr)
    middle = {way: statistics.median(values) for way, values in rates.items()}
    each = {way: 1 / middle[way] - 1 / middle["formula"] for way in ("core", "window", "committed")}
    return {
        "events_per_s": {way: round(value) for way, value in middle.items()},
        "ranges": {way: [round(min(v)), round(max(v))] for way, v in rates.items()},
        "over_core_publish": round(middle["committed"] / middle["core"], 2),
        "over_async_window_256": round(middle["committed"] / middle["window"], 2),
        "without_formula": {
            "over_core_publish": round(each["core"] / each["committed"], 2),
            "over_async_window_256": round(each["window"] / each["committed"], 2),
        },
        "cpu_us_per_event": {
            name: round(statistics.median(cost[name] for cost in costs), 2) for name in costs[0]
        },
        "targets": {"over_core_publish": 1.0, "over_async_window_256": 8.0},
    }


def _committed(stack: WarmStack) -> tuple[float, dict[str, float]]:
    before = stack.service_cpu_s()
    view = stack.submit(
        "synthetic",
        "synthetic",
        "Synthetic-v0",
        steps=EVENTS,
        record="full",
        parameters={"rate": 0},
        outbox_bytes=2**30,
    )
    with stack.reader() as reader:
        # the worker's own events: what it is asked for, config, training and done
        worker_last = EVENTS + FIRST_SEQ
        end = time.monotonic() + 120
        while True:
            marks = [m for m in reader.marks(view.run_id) if m.source == SOURCE_WORKER]
            now = time.time()
            if marks and marks[0].last_seq >= worker_last:
                break
            if time.monotonic() > end:
                raise TimeoutError(f"not stored: {marks}")
            time.sleep(0.02)  # a commit in another process is no event here
        if marks[0].missing:
            raise RuntimeError(f"{marks[0].missing} events are missing")
        # the config comes first; the second event is `training`, from which the worker is at work
        page = reader.events(view.run_id, "", 10, ["lifecycle"])
    began = next(e["t"] for e in page.events if e["source"] == SOURCE_WORKER)
    stack.wait_final(view.run_id)
    after = stack.service_cpu_s()
    cost = {
        name: 1e6 * (after[name] - before[name]) / EVENTS
        for name in ("broker", "recorder", "gateway", "scheduler")
    }
    exit_file = json.loads((stack.run_dir(view.run_id) / "control" / "exit.json").read_text())
    cost["worker"] = 1e6 * (exit_file["cpu_s"] or 0.0) / EVENTS
    return EVENTS / (now - began), cost


def _peer(way: str, url: str) -> float:
    done = subprocess.run(
        [VENVS / "tests" / "bin" / "python", __file__, way, url],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout)


async def _core(url: str) -> float:
    connection = await nats.connect(url)
    encode, record = msgspec.json.Encoder().encode, Formula(SPEC).record
    began = time.perf_counter()
    for seq in range(FIRST_SEQ, FIRST_SEQ + EVENTS):
        await connection.publish("peer.core", encode(record(seq)))
    await connection.flush(60)
    took = time.perf_counter() - began
    await connection.close()
    return EVENTS / took


async def _window(url: str) -> float:
    connection = await nats.connect(url)
    stream = connection.jetstream(publish_async_max_pending=WINDOW)
    await stream.add_stream(name=STREAM, subjects=["peer.window"])
    encode, record = msgspec.json.Encoder().encode, Formula(SPEC).record
    began = time.perf_counter()
    acknowledged = []
    for seq in range(FIRST_SEQ, FIRST_SEQ + WINDOW_EVENTS):
        payload = encode(record(seq))
        acknowledged.append(await stream.publish_async("peer.window", payload, wait_stall=10))
    await asyncio.gather(*acknowledged)
    took = time.perf_counter() - began
    await stream.delete_stream(STREAM)
    await connection.close()
    return WINDOW_EVENTS / took


def _formula() -> float:
    record = Formula(SPEC).record
    began = time.perf_counter()
    for seq in range(FIRST_SEQ, FIRST_SEQ + EVENTS):
        record(seq)
    return EVENTS / (time.perf_counter() - began)


def main() -> None:
    """One peer in a process of its own; prints its rate."""
    way = sys.argv[1]
    gc.collect()
    if way == "formula":
        print(_formula())
    else:
        print(asyncio.run((_core if way == "core" else _window)(sys.argv[2])))


if __name__ == "__main__":
    main()
