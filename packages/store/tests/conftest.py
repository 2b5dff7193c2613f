"""Stores on disk, empty and filled."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mosaic_store import Reader, StreamCursor, Writer, open_reader, open_writer, read_batch
from mosaic_store.testing import messages

# The machine may be busy: an example passes or fails by its result, not by its time.
settings.register_profile("mosaic", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mosaic")

CURSOR = StreamCursor("2026-01-01T00:00:00Z", 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of this test lies."""
    return tmp_path / "db" / "telemetry.sqlite3"


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    """A new store."""
    with open_writer(path) as opened:
        yield opened


@pytest.fixture
def reader(writer: Writer) -> Iterator[Reader]:
    """A reader next to the writer."""
    with open_reader(writer.path) as opened:
        yield opened


@pytest.fixture
def filled(writer: Writer, reader: Reader) -> Reader:
    """A reader of a store with 50 episodes (1,001 events) of the synthetic run."""
    stored = [read_batch(m.payload, m.encoding) for m in messages(1001, 100)]
    writer.apply(stored, CURSOR)
    return reader
