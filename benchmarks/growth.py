"""Whether the store gets slower as it grows: with 1, 10 and 50 million events in it.

    var/venvs/store/bin/python benchmarks/growth.py [--millions 1 10 50]

Method: runs of a million events of the synthetic run each (85 % steps), stored as the recorder stores them (10
batches of 1,000 a commit, synchronous=FULL) into one file. At each size, of the last million: CPU an event (unpack,
validate, summarize, transaction), commit times, and the file's growth in bytes an event; then the queries of spine.md
through the Reader on the newest run, median of 21, with the summaries of all runs. One JSON object a line.
"""

import argparse
import gc
import json
import resource
import tempfile
from pathlib import Path

from store import BATCH, ingest, median_ms

from mosaic_contracts.wire import SOURCE_WORKER, BatchHead, join_batch
from mosaic_store import Reader, Writer, open_reader, open_writer
from mosaic_store.batch import unpack
from mosaic_store.testing import METRIC, T0_US, Message, messages

MILLION = 1_000_000


def bodies() -> list[bytes]:
    """The records of a million events, a batch each, without their heads."""
    found = []
    for made in messages(MILLION, BATCH):
        raw = unpack(made.payload)
        prefix = len(join_batch(made.head, T0_US, b""))
        found.append(raw[prefix:])
    return found


def run_id(number: int) -> str:
    """An id for run `number`."""
    return f"01JGXSYNTHET1CR{number:011d}"


def run_of(number: int, records: list[bytes]) -> list[Message]:
    """A million events under another run's name."""
    made = []
    for index, body in enumerate(records):
        head = BatchHead(run_id(number), 1, SOURCE_WORKER, 1 + index * BATCH, BATCH)
        made.append(Message(head, join_batch(head, T0_US, body), "identity"))
    return made


def look(reader: Reader, newest: int) -> dict[str, dict[str, float]]:
    """Queries on the newest run, and what the run list asks."""
    run = run_id(newest)
    every = [run_id(number) for number in range(1, newest + 1)]
    return {
        "last_1000_points_ms": median_ms(lambda: reader.curve(run, METRIC, last=1000)),
        "steps_of_an_episode_ms": median_ms(lambda: reader.steps(run, 1, 0, 25_000)),
        "2000_buckets_ms": median_ms(lambda: reader.curve(run, METRIC, buckets=2000)),
        "page_of_1000_events_ms": median_ms(lambda: reader.events(run, limit=1000)),
        "summaries_of_all_runs_ms": median_ms(lambda: reader.summaries(every)),
    }


def grow(writer: Writer, path: Path, sizes: list[int]) -> None:
    """Store run after run, and say how it is at each size."""
    records = bodies()
    before = 0
    for number in range(1, sizes[-1] + 1):
        cost = ingest(writer, run_of(number, records))
        size = sum(file.stat().st_size for file in path.parent.iterdir())
        if number in sizes:
            with open_reader(path) as reader:
                queries = look(reader, number)
            line = {
                "million_events": number,
                "cpu_us_per_event": cost["cpu_us_per_event"],
                "commit_ms_p50": cost["commit_ms_p50"],
                "commit_ms_p99": cost["commit_ms_p99"],
                "bytes_per_event": round((size - before) / MILLION, 1),
                "rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
                "queries": queries,
            }
            print(json.dumps(line), flush=True)
        before = size


def main() -> None:
    """Grow one store in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 10, 50])
    sizes = sorted(parser.parse_args().millions)
    gc.set_threshold(100_000, 20, 100)  # as the recorder does
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "telemetry.sqlite3"
        with open_writer(path) as writer:
            grow(writer, path, sizes)


if __name__ == "__main__":
    main()
