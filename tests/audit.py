"""Compare what the store holds with what the worker must have written: every event once, every field right."""

import math
import os
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mosaic_contracts import stack
from mosaic_contracts.stored_spec import StoredSpec
from mosaic_contracts.wire import SOURCE_WORKER, WIRE_VERSION, Batch, to_event
from mosaic_store import open_reader
from mosaic_workerkit.outbox import OutboxReader, outbox_dir
from mosaic_workerkit.testing.synthetic import Formula

VOLATILE_METRICS = frozenset({"charts/SPS"})
"""Metrics of a real script that depend on the clock."""


def stored_events(home: Path, run_id: str) -> Iterator[dict[str, Any]]:
    """All events of a run's worker, in order of seq, straight from the store."""
    with open_reader(home / stack.TELEMETRY_DB) as reader:
        cursor = ""
        while True:
            page = reader.events(run_id, cursor, 5000)
            yield from (e for e in page.events if e["source"] == SOURCE_WORKER)
            cursor = page.cursor
            if not page.has_more:
                return


def audit_synthetic(home: Path, run_id: str, spec: StoredSpec) -> int:
    """Check every stored event of a synthetic run against its formula; returns the last seq.

    Raises:
        AssertionError: an event is missing, doubled, out of order, or has a wrong value.
    """
    last = 0
    record_of = Formula(spec).record
    for event in stored_events(home, run_id):
        last += 1
        assert event["seq"] == last, f"after seq {last - 1} comes {event['seq']}"
        if event["type"] == "lifecycle" and event["phase"] != "training":
            continue  # the worker's last word stands wherever it was stopped
        record = record_of(last)
        batch = Batch(WIRE_VERSION, run_id, 1, SOURCE_WORKER, last, 0, [record])
        expected = to_event(batch, record)
        expected["t"] = event.get("t")
        if (
            event == expected
        ):  # nearly always; field by field a million events would take three times as long
            continue
        wrong = {k: (event.get(k), v) for k, v in expected.items() if not _same(event.get(k), v, k)}
        assert not wrong, f"seq {last}: stored and expected differ: {wrong}"
    return last


def plain_values(home: Path, run_id: str) -> list[dict[str, Any]]:
    """A real run's events without what depends on the clock: equal for equal seeds."""
    kept = []
    for event in stored_events(home, run_id):
        if event.get("name") in VOLATILE_METRICS or event["type"] not in (
            "step",
            "episode_start",
            "episode",
            "metric",
        ):
            continue
        drop = ("run_id", "t", "seq", "duration_s")
        kept.append({k: repr(v) for k, v in event.items() if k not in drop})
    return kept


def keep_outbox(run_dir: Path, kept: Path, attempt: int = 1) -> None:
    """Link an outbox's segments to where the shipper does not free them. Before a kill of their writer, for a link
    shows what is written later too, and once all is stored the shipper frees the last segment within moments."""
    for segment in outbox_dir(run_dir, attempt).glob("*.seg"):
        try:
            os.link(segment, kept / segment.name)
        except FileExistsError:
            continue  # linked before
        except FileNotFoundError:
            continue  # freed meanwhile, so there is a later one


def outbox_end(run_dir: Path, kept: Path) -> int:
    """Last whole frame of an outbox whose writer was killed just now; `keep_outbox` came before."""
    keep_outbox(run_dir, kept)  # a segment begun since
    reader = OutboxReader(kept)
    reader.seek(min(int(p.stem) for p in kept.glob("*.seg")))
    while reader.read() is not None:
        continue
    reader.close()
    return reader.next_seq - 1


def _same(stored: Any, expected: Any, field: str) -> bool:
    if field == "t":
        return True
    if isinstance(expected, float) and isinstance(stored, str):
        return stored == (
            "NaN" if math.isnan(expected) else "Infinity" if expected > 0 else "-Infinity"
        )
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(stored, float) and math.isnan(stored)
    if isinstance(expected, bytes):
        return bool(stored == f"base64:{b64encode(expected).decode()}")
    return bool(stored == expected)
