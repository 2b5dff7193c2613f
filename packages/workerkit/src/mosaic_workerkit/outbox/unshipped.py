"""Events of a run folder whose outbox was not shipped: of a trial, a test or a benchmark."""

from collections.abc import Iterator
from pathlib import Path

from mosaic_contracts.wire import (
    SOURCE_WORKER,
    Batch,
    BatchHead,
    Record,
    decode_batch,
    join_batch,
)
from mosaic_workerkit.outbox.reader import OutboxReader
from mosaic_workerkit.outbox.segment import outbox_dir


def read_unshipped(run_dir: Path, run_id: str, attempt: int = 1) -> Iterator[tuple[Batch, Record]]:
    """Return the events of an attempt in order, each with its batch, as `to_event` takes them."""
    reader = OutboxReader(outbox_dir(run_dir, attempt))
    try:
        while region := reader.read():
            head = BatchHead(run_id, attempt, SOURCE_WORKER, region.seq0, region.n)
            batch = decode_batch(join_batch(head, region.t0_us, region.records))
            yield from ((batch, record) for record in batch.records)
    finally:
        reader.close()
