"""Read back what a run wrote, by the real outbox reader and the real codec."""

from collections import Counter
from pathlib import Path
from typing import Any

from mosaic_contracts.wire import BatchHead, decode_batch, join_batch, to_event
from mosaic_workerkit.outbox import OutboxReader, outbox_dir

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def read_events(run_dir: Path) -> list[dict[str, Any]]:
    """Return every event of the first attempt, in order."""
    reader = OutboxReader(outbox_dir(run_dir, 1))
    events: list[dict[str, Any]] = []
    while (region := reader.read()) is not None:
        head = BatchHead(RUN_ID, 1, "worker", region.seq0, region.n)
        batch = decode_batch(join_batch(head, region.t0_us, region.records))
        events += [to_event(batch, record) for record in batch.records]
    reader.close()
    return events


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the events of one type."""
    return [event for event in events if event["type"] == kind]


def count_types(events: list[dict[str, Any]]) -> Counter[str]:
    """Count the events of each type."""
    return Counter(event["type"] for event in events)
