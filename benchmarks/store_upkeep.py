"""Thinning the steps of a large store while a run is recorded: what it frees, and whether anybody notices.

    var/venvs/tests/bin/python benchmarks/store_upkeep.py [--events N] [--rounds N] [--rate N]

Method: a store is filled with one ended run of `--events` events (episodes of 500 steps with random hashes, one metric
an episode) before its stack is started; filling is not measured. A synthetic worker then records `--rate` events/s, and
a msgpack client follows all of them through the gateway. Rounds of two phases of 10 s: nothing else, and thinning
(every 10th episode, by the recorder's verb, asked again and again as the scheduler does). Live latency is from the
worker's clock in the event to the decoded frame. `stored_pause_ms` is how long the store stood still between two
commits, by polls of 10 ms. The ratio is p99 with thinning over p99 without, medians of the rounds. Then the thinning is
brought to its end, with its rest while events come, and the file is looked at. One JSON object on stdout.

The target is a ratio of 1.2 at most. `--events 50000000` is the full size: 0.9 GB, 5 minutes to fill.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from spine_live import decode_frame, open_live, paced_run
from warm_stack import WarmStack

from mosaic_contracts.stack import TELEMETRY_DB
from mosaic_contracts.store_upkeep import ThinRequest
from mosaic_contracts.verbs import RECORDER_THIN
from mosaic_contracts.wire import (
    BatchHead,
    Config,
    Episode,
    EpisodeStart,
    Metric,
    Record,
    Step,
    encode_record,
    join_batch,
)
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import configure_logging
from mosaic_store import StreamCursor, open_writer, read_batch

RUN_ID = "01JGXSYNTHET1CRVN000000009"
STEPS = 500
BATCH = 1000
COMMIT = 20
"""Batches of one transaction of the filling."""
PHASE_S = 10.0
SETTLE_S = 3.0
EVERY = 10


def records(events: int) -> Iterator[Record]:
    """The events of the run, in order."""
    yield Config(1, 0, {"spaces": {}, "algorithm": "synthetic", "num_envs": 1})
    seq, episode = 1, 0
    while seq < events:
        hashes = os.urandom(8 * (STEPS + 1))
        yield EpisodeStart(seq + 1, seq, 0, episode, {"way": "seed", "seed": episode}, hashes[:8])
        for step in range(1, STEPS + 1):
            digest = hashes[8 * step : 8 * step + 8]
            yield Step(seq + 1 + step, seq + step, 0, episode, step, step % 2, 1.0, 0, digest)
        seq += STEPS + 2
        yield Episode(seq, seq, 0, episode, STEPS, 500.0, 1, 1.0, episode * STEPS)
        seq += 1
        yield Metric(seq, seq, "charts/episodic_return", episode * STEPS, 500.0)
        episode += 1


def fill(path: Path, events: int) -> None:
    """Make the store."""
    batches = []
    part: list[Record] = []
    with open_writer(path) as writer:
        for record in records(events):
            part.append(record)
            if len(part) == BATCH:
                batches.append(read_batch(encoded(part), "identity"))
                part = []
            if len(batches) == COMMIT:
                writer.apply(batches, StreamCursor("filled", part[0].seq if part else 1))
                batches = []
        if part:
            batches.append(read_batch(encoded(part), "identity"))
        writer.apply(batches, StreamCursor("filled", 1))


def encoded(part: Sequence[Record]) -> bytes:
    """A batch as it travels."""
    head = BatchHead(RUN_ID, 1, "worker", part[0].seq, len(part))
    return join_batch(head, 1_700_000_000_000_000, b"".join(map(encode_record, part)))


class Thinning:
    """Asks the recorder to thin, in a thread and an event loop of its own."""

    def __init__(self, stack: WarmStack) -> None:
        self.removed_steps = self.freed_bytes = 0
        self.seconds = 0.0
        self.done = False
        self._stack = stack

    def run(self, seconds: float) -> None:
        """Thin for so long, or to the end."""
        asyncio.run(self._run(seconds))

    async def _run(self, seconds: float) -> None:
        creds = self._stack.home / "secrets" / "broker" / "scheduler.creds"
        bus = Bus(self._stack.stack_file().broker_url, "scheduler", creds)
        await bus.start()
        await bus.connected.wait()
        began = time.monotonic()
        while not self.done and (left := began + seconds - time.monotonic()) > 0:
            request = ThinRequest(
                run_id=RUN_ID, every=EVERY, rule="benchmark", within_s=min(2.0, left)
            )
            result = await bus.call(RECORDER_THIN, request)
            self.removed_steps += result.removed_steps
            self.freed_bytes += result.freed_bytes
            self.done = result.done
        self.seconds += time.monotonic() - began
        await bus.close()


class StoreWatch:
    """Notes how long the store stands still, by polls."""

    def __init__(self, stack: WarmStack, run_id: str) -> None:
        self.pauses: list[float] = []
        self._reader = stack.reader()
        self._run_id = run_id
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def close(self) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()
        self._reader.close()

    def _watch(self) -> None:
        last, at = 0, time.monotonic()
        while not self._stop.wait(0.01):  # a commit in another process is no event here
            seq = max((mark.last_seq for mark in self._reader.marks(self._run_id)), default=0)
            if seq != last:
                now = time.monotonic()
                self.pauses.append(1000 * (now - at))
                last, at = seq, now


def follow(connection: Any, seconds: float) -> tuple[list[Any], int]:
    """Latencies of all events that a client decodes in that time, and how many it missed."""
    late: list[Any] = []
    missed = 0
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        frame = decode_frame(connection.recv(timeout=10))
        seen = time.time()
        if frame["op"] == "missed":
            missed += frame["count"]
        elif frame["op"] == "events":
            times = [t for columns in frame["columns"].values() for t in columns["t"]]
            times += [event["t"] for event in frame["events"]]
            late.append(1000 * (seen - np.array(times)))
    return late, missed


def phase(stack: WarmStack, connection: Any, run_id: str, thinning: Thinning | None) -> Any:
    """One phase: latencies, missed events and pauses of the store."""
    follow(connection, SETTLE_S)
    watch = StoreWatch(stack, run_id)
    worker = None
    if thinning is not None:
        worker = threading.Thread(target=thinning.run, args=(PHASE_S,))
        worker.start()
    late, missed = follow(connection, PHASE_S)
    watch.close()
    if worker is not None:
        # what is still to come is read on, or the client would be late in the next phase
        while worker.is_alive():
            follow(connection, 0.1)
        worker.join()
    return late, missed, watch.pauses


def figures(phases: Sequence[Any]) -> dict[str, Any]:
    """Percentiles of all phases of one kind, and p99 of each."""
    late = np.concatenate([one for phase_ in phases for one in phase_[0]])
    pauses = np.array([pause for phase_ in phases for pause in phase_[2]])
    p99s = [float(np.percentile(np.concatenate(phase_[0]), 99)) for phase_ in phases]
    return {
        "events_per_s": round(len(late) / (PHASE_S * len(phases))),
        "missed": sum(phase_[1] for phase_ in phases),
        "p50_ms": round(float(np.percentile(late, 50)), 1),
        "p99_ms": round(statistics.median(p99s), 1),
        "p99_ms_rounds": [round(one, 1) for one in p99s],
        "stored_pause_ms_p50": round(float(np.percentile(pauses, 50)), 1),
        "stored_pause_ms_p99": round(float(np.percentile(pauses, 99)), 1),
        "stored_pause_ms_max": round(float(pauses.max()), 1),
    }


def store_bytes(stack: WarmStack) -> int:
    """Size of the file and its log."""
    folder = (stack.home / TELEMETRY_DB).parent
    return sum(path.stat().st_size for path in folder.glob("telemetry.sqlite3*"))


def run_bytes(stack: WarmStack) -> int:
    """Compressed bytes of the thinned run's events."""
    with stack.reader() as reader:
        return next(one.bytes for one in reader.run_spaces() if one.run_id == RUN_ID)


def measure(stack: WarmStack, rounds: int, rate: int) -> dict[str, Any]:
    """All rounds, and the rest of the thinning."""
    before, run_bytes_before = store_bytes(stack), run_bytes(stack)
    run_id = paced_run(stack, rate, 3600)
    connection = open_live(stack, run_id)
    thinning = Thinning(stack)
    quiet, thinned = [], []
    for number in range(rounds):
        if thinning.done:
            break
        quiet.append(phase(stack, connection, run_id, None))
        thinned.append(phase(stack, connection, run_id, thinning))
        print(f"  round {number + 1}: {thinning.removed_steps:,} steps", file=sys.stderr)
    connection.close()
    thinning.run(3600)
    with stack.client() as client:
        client.stop(run_id)
    stack.wait_final(run_id)
    with stack.reader() as reader:
        space = reader.space()
        kept = reader.summary(RUN_ID)
        recorded = reader.summary(run_id)
    without, with_ = figures(quiet), figures(thinned)
    return {
        "offered_events_per_s": rate,
        "without": without,
        "thinning": with_,
        "p99_ratio": round(with_["p99_ms"] / without["p99_ms"], 2),
        "p50_ratio": round(with_["p50_ms"] / without["p50_ms"], 2),
        "removed_steps": thinning.removed_steps,
        "removed_steps_per_s": round(thinning.removed_steps / thinning.seconds),
        "freed_bytes": thinning.freed_bytes,
        "store_bytes_before": before,
        "store_bytes_after": store_bytes(stack),
        "free_bytes_left": space.free_bytes,
        "thinned_run_bytes": {"before": run_bytes_before, "after": run_bytes(stack)},
        "gaps": recorded.gaps + kept.gaps,
        "targets": {"p99_ratio": 1.2, "gaps": 0},
    }


def main() -> None:
    """Fill, start, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=3_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=10_000)
    options = parser.parse_args()
    configure_logging("benchmark")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder:
        stack = WarmStack(Path(folder))
        began = time.monotonic()
        fill(stack.home / TELEMETRY_DB, options.events)
        print(f"  filled in {time.monotonic() - began:.0f} s", file=sys.stderr)
        try:
            stack.start()
            result = {"events": options.events, **measure(stack, options.rounds, options.rate)}
        finally:
            stack.stop()
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
