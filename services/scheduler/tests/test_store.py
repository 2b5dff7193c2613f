"""The database: guarded writes, states written once, events in the same transaction."""

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.records import RUN_ID, make_record

from mosaic_contracts import wire
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.errors import RunTransitionInvalid
from mosaic_scheduler.events import outbox
from mosaic_scheduler.runs.store import RunStore


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """A database of its own."""
    opened = Database(tmp_path / "db" / "scheduler.sqlite3")
    yield opened
    await opened.close()


@pytest.fixture
async def store(database: Database) -> RunStore:
    """Runs in it: one, queued."""
    runs = RunStore(database)
    await runs.insert(make_record(), "nonce")
    return runs


async def _phases(database: Database) -> list[tuple[int, int, str]]:
    events = await database.call(outbox.pending, 100)
    return [(event.attempt, event.seq, event.phase) for event in events]


async def test_a_stale_write_is_dropped(store: RunStore, database: Database) -> None:
    """Of two writers that read the same revision the second changes nothing, not even an event."""
    record = make_record()
    started = await store.write(record, state=RunState.STARTING)
    assert started is not None
    assert await store.write(record, state=RunState.CANCELLED) is None
    stored = await store.get(RUN_ID)
    assert stored is not None
    assert stored.record == started
    assert await _phases(database) == [(1, 1, "queued"), (1, 2, "starting")]


async def test_a_transition_that_does_not_exist_is_refused(store: RunStore) -> None:
    """A queued run cannot succeed."""
    with pytest.raises(RunTransitionInvalid, match="queued cannot become succeeded"):
        await store.write(make_record(), state=RunState.SUCCEEDED)


async def test_a_final_state_is_never_overwritten(store: RunStore, tmp_path: Path) -> None:
    """Not even by SQL; but that its telemetry is complete may be noted later."""
    ended = await store.write(make_record(), state=RunState.CANCELLED, telemetry_pending=True)
    assert ended is not None
    with pytest.raises(RunTransitionInvalid):
        await store.write(ended, state=RunState.RUNNING)
    with (
        sqlite3.connect(tmp_path / "db" / "scheduler.sqlite3") as other,
        pytest.raises(sqlite3.IntegrityError, match="never overwritten"),
    ):
        other.execute("UPDATE runs SET state = 'running'")
    other.close()
    assert [run.record.run_id for run in await store.with_telemetry_pending()] == [RUN_ID]
    assert await store.write(ended, telemetry_pending=False) is not None
    assert await store.with_telemetry_pending() == []


async def test_a_database_locked_for_a_second_loses_no_transition(
    store: RunStore, tmp_path: Path
) -> None:
    """While somebody else holds the write lock, a transition waits, and the event loop does not."""
    other = sqlite3.connect(
        tmp_path / "db" / "scheduler.sqlite3", isolation_level=None, check_same_thread=False
    )
    other.execute("BEGIN IMMEDIATE")
    release = threading.Timer(1.0, other.execute, ("ROLLBACK",))
    release.start()
    write = asyncio.create_task(store.write(make_record(), state=RunState.STARTING))
    ticks = 0
    while not write.done():
        await asyncio.sleep(0.05)
        ticks += 1
    assert (await write) is not None
    assert ticks > 10
    release.join()
    other.close()


async def test_seq_goes_on_after_delivery_and_anew_with_an_attempt(
    store: RunStore, database: Database
) -> None:
    """Delivered events free their rows, not their numbers; a second attempt counts from 1."""
    started = await store.write(make_record(), state=RunState.STARTING)
    assert await database.call(outbox.delete_committed, RUN_ID, 1, 3) == 2
    assert started is not None
    again = await store.write(started, state=RunState.QUEUED, attempt=2)
    assert again is not None
    await store.write(again, state=RunState.STARTING)
    assert await _phases(database) == [(2, 1, "queued"), (2, 2, "starting")]
    assert await database.call(outbox.count) == 2


async def test_a_batch_of_events_is_what_the_recorder_takes(
    store: RunStore, database: Database
) -> None:
    """Encoded events decode as a contiguous batch of source supervisor, the same bytes each time."""
    await store.write(make_record(), state=RunState.STARTING)
    events = await database.call(outbox.pending, 100)
    head, data = outbox.to_batch(events)
    batch = wire.decode_batch(data)
    assert (head.source, head.seq0, head.n) == ("supervisor", 1, 2)
    assert [wire.to_event(batch, record)["phase"] for record in batch.records] == [
        "queued",
        "starting",
    ]
    assert outbox.to_batch(events)[1] == data


async def test_a_newer_database_is_refused(tmp_path: Path) -> None:
    """A file of a newer version is left alone, and the message says what to do."""
    path = tmp_path / "new.sqlite3"
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    database = Database(path)
    with pytest.raises(RuntimeError, match="newer MOSAIC"):
        await database.call(outbox.count)
    await database.close()
