"""The run folder's append-only telemetry: written by the trainer, read and freed by the shipper."""

from mosaic_workerkit.outbox.mark import CommittedMark
from mosaic_workerkit.outbox.reader import OutboxReader, Region
from mosaic_workerkit.outbox.segment import outbox_dir
from mosaic_workerkit.outbox.writer import OutboxWriter

__all__ = ["CommittedMark", "OutboxReader", "OutboxWriter", "Region", "outbox_dir"]
