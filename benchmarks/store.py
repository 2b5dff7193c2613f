"""Cost of the store: ingest, bytes an event against a plain row table, and the three queries of the spine.

    var/venvs/store/bin/python benchmarks/store.py [--events N] [--points N]

Method: batches of the synthetic run (85 % steps, 5 % metrics, the rest episode starts and ends; episodes of 17
steps) are made first. Ingest counts reading a batch (unpack, decode, validate, summarize) and the transaction (10
batches a commit, synchronous=FULL). The row table gets the same steps, decoded, in transactions of the same size, in
the same process. Queries run through the Reader, models included, median of 21. One JSON object on stdout.
"""

import argparse
import gc
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from mosaic_contracts.wire import (
    SOURCE_WORKER,
    BatchHead,
    Metric,
    Step,
    encode_record,
    join_batch,
)
from mosaic_store import Reader, StreamCursor, Writer, open_reader, open_writer, read_batch
from mosaic_store.testing import RUN_ID, Message, messages

BATCH = 1000
BATCHES_PER_COMMIT = 10
CURVE_RUN = "01JGXSYNTHETCVRVE000000000"
ROW_TABLE = """
CREATE TABLE step (seq INTEGER PRIMARY KEY, t INTEGER, env INTEGER, episode INTEGER, step INTEGER,
    action INTEGER, reward REAL, flags INTEGER, hash BLOB, actor INTEGER, observation BLOB);
CREATE INDEX step_episode ON step (env, episode, step);
"""


def ingest(writer: Writer, batches: Sequence[Message]) -> dict[str, float]:
    """Store all batches; microseconds an event and milliseconds a commit."""
    commits: list[float] = []
    wall, cpu = time.perf_counter(), time.process_time()
    for start in range(0, len(batches), BATCHES_PER_COMMIT):
        part = batches[start : start + BATCHES_PER_COMMIT]
        stored = [read_batch(m.payload, m.encoding) for m in part]
        began = time.perf_counter()
        writer.apply(stored, StreamCursor("benchmark", start + len(part)))
        commits.append(1e3 * (time.perf_counter() - began))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    events = sum(m.head.n for m in batches)
    return {
        "events": events,
        "events_per_s": round(events / wall),
        "wall_us_per_event": round(1e6 * wall / events, 3),
        "cpu_us_per_event": round(1e6 * cpu / events, 3),
        "commit_ms_p50": round(statistics.median(commits), 2),
        "commit_ms_p99": round(sorted(commits)[int(len(commits) * 0.99)], 2),
    }


def fill_rows(path: Path, batches: Sequence[Message]) -> float:
    """Store the same steps as rows; bytes a step."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode=WAL")
    db.executescript(ROW_TABLE)
    count = 0
    for start in range(0, len(batches), BATCHES_PER_COMMIT):
        db.execute("BEGIN")
        for m in batches[start : start + BATCHES_PER_COMMIT]:
            records = read_batch(m.payload, m.encoding).batch.records
            rows = [
                (
                    *(r.seq, r.dt, r.env, r.episode, r.step, r.action, r.reward, r.flags),
                    *(r.hash, r.actor, r.observation),
                )
                for r in records
                if isinstance(r, Step)
            ]
            db.executemany("INSERT INTO step VALUES (?,?,?,?,?,?,?,?,?,?,?)", rows)
            count += len(rows)
        db.execute("COMMIT")
    db.close()
    return path.stat().st_size / count


def curve_batches(points: int) -> list[Message]:
    """A run of nothing but points of one metric."""
    made: list[Message] = []
    for first in range(1, points + 1, BATCH):
        n = min(BATCH, points + 1 - first)
        head = BatchHead(CURVE_RUN, 1, SOURCE_WORKER, first, n)
        records = (
            Metric(s, s, "loss", s * 4, (s * 7919 % 1000) / 7) for s in range(first, first + n)
        )
        raw = join_batch(head, 0, b"".join(encode_record(r) for r in records))
        made.append(Message(head, raw, "identity"))
    return made


def median_ms(act: Callable[[], object]) -> dict[str, float]:
    """Medians of 21 calls, on the clock and of this process's CPU."""
    walls: list[float] = []
    cpus: list[float] = []
    for _ in range(21):
        wall, cpu = time.perf_counter(), time.process_time()
        act()
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (time.process_time() - cpu))
    return {"wall": round(statistics.median(walls), 2), "cpu": round(statistics.median(cpus), 2)}


def query(reader: Reader, episodes: int) -> dict[str, dict[str, float]]:
    """The three queries of spine.md and a few that the gateway asks often."""
    middle = episodes // 2
    return {
        "a_last_1000_points_ms": median_ms(lambda: reader.curve(CURVE_RUN, "loss", last=1000)),
        "b_steps_of_an_episode_ms": median_ms(lambda: reader.steps(RUN_ID, 1, 0, middle)),
        "c_2000_buckets_ms": median_ms(lambda: reader.curve(CURVE_RUN, "loss", buckets=2000)),
        "summary_ms": median_ms(lambda: reader.summary(RUN_ID)),
        "page_of_1000_events_ms": median_ms(lambda: reader.events(RUN_ID, limit=1000)),
        "page_of_100_episodes_ms": median_ms(lambda: reader.episodes(RUN_ID, order="newest")),
        "page_of_1000_metric_events_ms": median_ms(
            lambda: reader.events(RUN_ID, limit=1000, types=["metric"])
        ),
    }


def main() -> None:
    """Run everything in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=50, help="events a batch in the second ingest")
    options = parser.parse_args()
    gc.set_threshold(100_000, 20, 100)  # as the recorder does
    batches = list(messages(options.events, BATCH))
    small = list(messages(options.events // 5, options.small))
    steps = sum(m.head.n for m in batches) * 17 / 20
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large" / "telemetry.sqlite3"
        with open_writer(path) as writer:
            result: dict[str, object] = {"ingest_1000": ingest(writer, batches)}
        size = path.stat().st_size
        row_bytes = fill_rows(Path(folder) / "rows.sqlite3", batches)
        result["bytes_per_event"] = round(size / options.events, 1)
        result["row_table_bytes_per_step"] = round(row_bytes, 1)
        result["bytes_over_row_table"] = round(size / steps / row_bytes, 3)
        with open_writer(Path(folder) / "small" / "telemetry.sqlite3") as writer:
            result[f"ingest_{options.small}"] = ingest(writer, small)
        with open_writer(path) as writer, open_reader(path) as reader:
            result["ingest_metrics"] = ingest(writer, curve_batches(options.points))
            result["queries"] = query(reader, options.events // 20)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
