"""What a stack has on its disks apart from runs."""

import os
from pathlib import Path

from mosaic_contracts.stack import BROKER_DIR, LOG_DIR, SCHEDULER_DB, TELEMETRY_DB, UPLOADS_DIR
from mosaic_scheduler.retention.trash import size_of


def store_bytes(home: Path) -> int:
    """Bytes of the telemetry store with its log."""
    return _sum_of(home / TELEMETRY_DB)


def broker_bytes(home: Path) -> int:
    """Bytes of the broker's stream."""
    return size_of(home / BROKER_DIR)


def other_bytes(home: Path) -> int:
    """Bytes of logs, uploads and the scheduler's database."""
    folders = sum(size_of(home / name) for name in (LOG_DIR, UPLOADS_DIR))
    return folders + _sum_of(home / SCHEDULER_DB)


def _sum_of(database: Path) -> int:
    names = (os.fspath(database) + ending for ending in ("", "-wal", "-shm"))
    return sum(size_of(Path(name)) for name in names)
