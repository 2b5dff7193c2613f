"""The telemetry store: one SQLite file with a writer (the recorder) and readers (gateway, export)."""

from mosaic_store.batch import MAX_RAW_BYTES, StoredBatch, read_batch
from mosaic_store.checkpoints import CheckpointEntry, CheckpointKey, StoredCheckpoint
from mosaic_store.database import Migration
from mosaic_store.errors import (
    EpisodeNotStored,
    MetricNotStored,
    ReadTooSlow,
    StoreError,
    StoreForeign,
    StoreLocked,
    StoreMissing,
    StoreOutdated,
    StoreReplaced,
    StoreWalRefused,
    StoreWriteFailed,
)
from mosaic_store.ingest import Quarantined
from mosaic_store.known_thinning import BEFORE_ALL, EpisodePlace, KnownThinningStep
from mosaic_store.manifest import NO_FILES, KnownFile, KnownFiles, SeenFile
from mosaic_store.new_points import NewPoints, PointsOfMetric
from mosaic_store.prune import PruneStep
from mosaic_store.reader import Reader, open_reader
from mosaic_store.summaries import Phase, RunMarks
from mosaic_store.thin import ThinStep
from mosaic_store.writer import LogCheckpoint, StreamCursor, Writer, open_writer

__all__ = [
    "BEFORE_ALL",
    "MAX_RAW_BYTES",
    "NO_FILES",
    "CheckpointEntry",
    "CheckpointKey",
    "EpisodeNotStored",
    "EpisodePlace",
    "KnownFile",
    "KnownFiles",
    "KnownThinningStep",
    "LogCheckpoint",
    "MetricNotStored",
    "Migration",
    "NewPoints",
    "Phase",
    "PointsOfMetric",
    "PruneStep",
    "Quarantined",
    "ReadTooSlow",
    "Reader",
    "RunMarks",
    "SeenFile",
    "StoreError",
    "StoreForeign",
    "StoreLocked",
    "StoreMissing",
    "StoreOutdated",
    "StoreReplaced",
    "StoreWalRefused",
    "StoreWriteFailed",
    "StoredBatch",
    "StoredCheckpoint",
    "StreamCursor",
    "ThinStep",
    "Writer",
    "open_reader",
    "open_writer",
    "read_batch",
]
