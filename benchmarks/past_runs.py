"""Runs that ended long ago, put into a stack that is down: thousands of records, millions of events.

A record is a copy of a real one under another id; events are those of the synthetic run, stored as the recorder stores
them. Neither could be made in reasonable time by real trainings, and nothing that reads them can tell the difference.
"""

import json
import random
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from mosaic_contracts import stack
from mosaic_contracts.wire import (
    SOURCE_WORKER,
    BatchHead,
    Config,
    Metric,
    Record,
    encode_record,
    join_batch,
)
from mosaic_store import StreamCursor, open_writer, read_batch
from mosaic_store.batch import pack
from mosaic_store.testing import T0_US, record_at

BATCH = 1_000
BATCHES_A_COMMIT = 10
_DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_OLDEST = datetime(2025, 1, 1, tzinfo=UTC)


def add_records(home: Path, like: str, count: int) -> list[str]:
    """Copies of a final run's record, a minute apart, the oldest first; their ids."""
    with sqlite3.connect(home / stack.SCHEDULER_DB) as db:
        names = [row[1] for row in db.execute("PRAGMA table_info(runs)")]
        row = dict(
            zip(
                names,
                db.execute("SELECT * FROM runs WHERE run_id=?", (like,)).fetchone(),
                strict=True,
            )
        )
        plain = json.loads(row["record"])
        rows = list(_copies(row, plain, count))
        places = ", ".join(f":{name}" for name in names)
        db.executemany(f"INSERT INTO runs VALUES ({places})", rows)  # noqa: S608 - the table's own names
    return [str(made["run_id"]) for made in rows]


def add_events(home: Path, run_id: str, count: int) -> None:
    """The first `count` events of the synthetic run (85 % steps) under a run's name."""
    # The run has a stream incarnation of its own: the real recorder starts again at its stream's first message.
    cursor = StreamCursor("past", 1)
    with open_writer(home / stack.TELEMETRY_DB) as writer:
        stored = []
        for first in range(1, count + 1, BATCH):
            size = min(BATCH, count + 1 - first)
            head = BatchHead(run_id, 1, SOURCE_WORKER, first, size)
            body = b"".join(encode_record(record_at(seq)) for seq in range(first, first + size))
            # ten microseconds an event, as the records say, from the start of each batch
            payload = join_batch(head, T0_US + 10 * first, body)
            stored.append(read_batch(pack(payload), "zstd"))
            if len(stored) == BATCHES_A_COMMIT or first + size > count:
                writer.apply(stored, cursor)
                stored = []


def add_curves(home: Path, run_id: str, names: int, points: int) -> None:
    """So many metrics of so many points each under a run's name, a point of each metric at a step."""
    cursor = StreamCursor("past", 1)
    rng = random.Random(1)
    values = [0.0] * names
    seq = 1
    with open_writer(home / stack.TELEMETRY_DB) as writer:
        for step in range(points):
            values = [value + rng.gauss(0, 1) for value in values]
            records: list[Record] = [Config(seq, 0, {})] if seq == 1 else []
            first = seq
            seq += len(records)
            for number, value in enumerate(values):
                records.append(
                    Metric(seq, number, f"group{number % 10}/m{number:03d}", step, value)
                )
                seq += 1
            head = BatchHead(run_id, 1, SOURCE_WORKER, first, len(records))
            body = b"".join(map(encode_record, records))
            payload = join_batch(head, T0_US + 1_000_000 * step, body)
            writer.apply([read_batch(pack(payload), "zstd")], cursor)


def _copies(
    row: dict[str, object], plain: dict[str, object], count: int
) -> Iterator[dict[str, object]]:
    rng = random.Random(1)
    for number in range(count):
        created = _OLDEST + timedelta(minutes=number)
        run_id = _ulid(created, rng)
        times = {
            "created_at": created.isoformat(),
            "started_at": (created + timedelta(seconds=1)).isoformat(),
            "ended_at": (created + timedelta(seconds=rng.uniform(2, 3000))).isoformat(),
        }
        named = {"run_id": run_id, "name": f"past__{rng.randrange(10**6):06d}"}
        record = {**plain, **times, **named, "run_dir": f"runs/{run_id}", "first_event_at": None}
        yield {**row, "run_id": run_id, "record": json.dumps(record)}


def _ulid(at: datetime, rng: random.Random) -> str:
    number = (int(at.timestamp() * 1000) << 80) | rng.getrandbits(80)
    return "".join(_DIGITS[(number >> shift) & 31] for shift in range(125, -1, -5))
