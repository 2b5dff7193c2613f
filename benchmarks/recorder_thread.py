"""What the recorder's one thread spends on an event: read a batch, and store it.

    var/venvs/recorder/bin/python benchmarks/recorder_thread.py RECORDING [--runs 100] [--batch 50 500] [--profile]

Method: events of a real training (`benchmarks/scale.py --save RECORDING`) are cut into batches of so many events under
many run ids, as the publishers of that benchmark do, and stored in a new file in the order in which a stream has them:
a batch of each run, then the next of each. A commit takes `--messages` of them. `read_us` and `store_us` are CPU time
of this thread for an event; the median of `--rounds` rounds, each with a store of its own. `--profile` prints where the
time goes, by cProfile, which itself costs calls more than loops.
"""

import argparse
import cProfile
import json
import pstats
import statistics
import sys
import tempfile
import time
from pathlib import Path

import zstandard
from scale_recording import Recording

from mosaic_contracts import subjects
from mosaic_contracts.wire import BATCH_HEADER, ENCODING_HEADER, ENCODING_ZSTD
from mosaic_recorder.decode import Arrival, decode
from mosaic_servicekit.ulid import RunIdSource
from mosaic_store import Quarantined, StoredBatch, StreamCursor, open_writer

EVENTS_PER_ROUND = 200_000


def main() -> None:
    """Measure each size of batch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording", type=Path)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--batch", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--messages", type=int, default=100, help="of a commit")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    recording = Recording.load(options.recording)
    for size in options.batch:
        arrivals = cut(recording, options.runs, size)
        if options.profile:
            profile(arrivals, options.messages)
            continue
        rounds = [measure(arrivals, options.messages) for _ in range(options.rounds)]
        read, store = (statistics.median(column) for column in zip(*rounds, strict=True))
        line = {
            "runs": options.runs,
            "batch": size,
            "read_us": round(read, 3),
            "store_us": round(store, 3),
        }
        print(json.dumps({**line, "events_per_cpu_s": round(1e6 / (read + store))}), flush=True)


def cut(recording: Recording, runs: int, size: int) -> list[Arrival]:
    """Messages in the order of a stream."""
    ids, ulids = [], RunIdSource()
    for _ in range(runs):
        ids.append(ulids.next())
    compress = zstandard.ZstdCompressor(level=1).compress
    arrivals: list[Arrival] = []
    per_run = min(EVENTS_PER_ROUND // runs, len(recording.records))
    t0_us = time.time_ns() // 1000
    for first in range(1, per_run, size):
        for run_id in ids:
            made = recording.cut(run_id, 1, first, min(size, per_run - first + 1), t0_us)
            headers = {BATCH_HEADER: made.head.header(), ENCODING_HEADER: ENCODING_ZSTD}
            arrivals.append(
                Arrival(len(arrivals) + 1, subjects.events(run_id), headers, compress(made.raw))
            )
    return arrivals


def measure(arrivals: list[Arrival], messages: int) -> tuple[float, float]:
    """CPU time of an event, microseconds: to read its batch, and to store it."""
    read_s = store_s = 0.0
    events = 0
    with (
        tempfile.TemporaryDirectory(prefix="mosaic-bench-") as folder,
        open_writer(Path(folder) / "telemetry.sqlite3") as writer,
    ):
        for first in range(0, len(arrivals), messages):
            began = time.thread_time()
            batches = [_read(arrival) for arrival in arrivals[first : first + messages]]
            middle = time.thread_time()
            last = arrivals[min(first + messages, len(arrivals)) - 1].stream_seq
            writer.apply(batches, StreamCursor("benchmark", last))
            read_s += middle - began
            store_s += time.thread_time() - middle
            events += sum(len(stored.batch.records) for stored in batches)
    return 1e6 * read_s / events, 1e6 * store_s / events


def profile(arrivals: list[Arrival], messages: int) -> None:
    """Print the functions that take most."""
    profiler = cProfile.Profile()
    profiler.runcall(measure, arrivals, messages)
    pstats.Stats(profiler, stream=sys.stdout).sort_stats("tottime").print_stats(30)


def _read(arrival: Arrival) -> StoredBatch:
    read = decode(arrival, 0)
    if isinstance(read, Quarantined):
        raise TypeError(read.reason)
    return read


if __name__ == "__main__":
    main()
