"""CPU time of what a search of the run list costs the gateway: returns and metrics of many runs, from the store.

    var/venvs/gateway/bin/python benchmarks/run_search.py [RUNS]

A store with that many runs of 20 metrics and an episode each; CPU time of this process, one JSON object. The first
search for the extremes of a metric reads its points; later ones read what is new.
"""

import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import zstandard

from mosaic_contracts.run_search import parse_search
from mosaic_contracts.wire import (
    ENCODING_ZSTD,
    BatchHead,
    Episode,
    Metric,
    encode_record,
    join_batch,
)
from mosaic_gateway.runs.search import search_store
from mosaic_store import StreamCursor, open_reader
from mosaic_store.batch import read_batch
from mosaic_store.testing import Message
from mosaic_store.writer import open_writer

RUNS = 10_000
CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)
METRICS = 20
AT_ONCE = 500
SEARCHES = {
    "return": "best>5000",
    "return_and_steps": "best>5000 steps>4 -mean<100",
    "metric_newest": "m.losses/metric_7>0.5",
    "metric_by_ending": "m.metric_7>0.5",
    "metric_best": "m.losses/metric_7.best>0.5",
}


def message(number: int) -> Message:
    """All that a run recorded."""
    run_id = f"01JGXSYNTHET1CRVN{number:09d}"
    records = [encode_record(Episode(1, 0, 0, 0, 5, float(number), 0, 0.1, 5))]
    for place in range(METRICS):
        value = math.sin(number + place)
        records.append(encode_record(Metric(2 + place, 0, f"losses/metric_{place}", 5, value)))
    head = BatchHead(run_id, 1, "worker", 1, len(records))
    raw = join_batch(head, 0, b"".join(records))
    return Message(head, zstandard.compress(raw, 1), ENCODING_ZSTD)


def batches(runs: int) -> Iterator[list[Message]]:
    """All messages."""
    for first in range(0, runs, AT_ONCE):
        yield [message(number) for number in range(first, min(first + AT_ONCE, runs))]


def measured(text: str, ids: list[str], path: Path) -> tuple[float, float, int]:
    """Milliseconds of CPU time of the first search and of a later one, and the number of runs that it finds."""
    times = []
    with open_reader(path) as reader:
        search = parse_search(text).of_store
        for _ in range(2):
            began = time.process_time()
            found = search_store(reader, search, ids)
            times.append(round(1000 * (time.process_time() - began), 1))
    return times[0], times[1], len(found)


def main(runs: int) -> None:
    """Fill and search."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "telemetry.db"
        writer = open_writer(path)
        for messages in batches(runs):
            stored = [read_batch(one.payload, one.encoding) for one in messages]
            writer.apply(stored, CURSOR)
        writer.close()
        ids = [message(number).head.run_id for number in range(runs)]
        result = {
            name: dict(
                zip(("first_ms", "later_ms", "found"), measured(text, ids, path), strict=True)
            )
            for name, text in SEARCHES.items()
        }
        print(json.dumps({"runs": runs, **result}))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
