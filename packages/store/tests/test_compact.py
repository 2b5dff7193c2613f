"""Rewriting a store that cannot shrink by itself."""

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from mosaic_store import StoreError, StoreLocked, StreamCursor, open_reader, open_writer, read_batch
from mosaic_store.compact import compact
from mosaic_store.testing import RUN_ID, messages

CURSOR = StreamCursor("one", 1)


@pytest.fixture
def rigid(path: Path) -> Path:
    """A store without incremental vacuum, with a run that was deleted and one that is there."""
    other = "01JGXSYNTHET1CRVN000000001"
    with open_writer(path) as writer:
        for run_id in (other, RUN_ID):
            for m in messages(30_000, 1000, run_id, full=True):
                writer.apply([read_batch(m.payload, m.encoding)], CURSOR)
    with sqlite3.connect(path, isolation_level=None) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA auto_vacuum = NONE")
        db.execute("VACUUM")
    db.close()
    with open_writer(path) as writer:
        assert writer.prune(other) > 0
    return path


def test_a_store_without_incremental_vacuum_says_so(rigid: Path) -> None:
    """A deletion ends, the space stays in the file, and the size says that it cannot shrink."""
    with open_reader(rigid) as reader:
        space = reader.space()
    assert not space.can_shrink
    assert space.free_bytes > 100_000


def test_it_can_shrink_afterwards(rigid: Path) -> None:
    """Nothing is lost, the free space is gone, and later deletions give theirs back."""
    with open_reader(rigid) as reader:
        events = reader.events(RUN_ID, limit=10_000).events
    before, after = compact(rigid)
    assert after < before
    with open_writer(rigid) as writer, open_reader(rigid) as reader:
        assert repr(reader.events(RUN_ID, limit=10_000).events) == repr(events)
        assert reader.space().can_shrink
        assert reader.space().free_bytes == 0
        writer.prune(RUN_ID)
        assert reader.space().free_bytes == 0


def test_a_store_in_use_is_left_alone(rigid: Path) -> None:
    """A recorder, or only a reader, has it open."""
    with open_writer(rigid), pytest.raises(StoreLocked, match="another recorder"):
        compact(rigid)
    with open_reader(rigid) as reader, reader._pool.lend() as db:
        db.execute("SELECT count(*) FROM run").fetchone()
        with pytest.raises(StoreLocked, match="mosaic down"):
            compact(rigid)


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    """The message of the command is one sentence."""
    path = tmp_path / "telemetry.sqlite3"
    command = [sys.executable, "-m", "mosaic_store.compact", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, f"there is no telemetry store at {path}.\n")
    path.write_bytes(b"text" * 2000)
    with pytest.raises(StoreError):
        compact(path)
