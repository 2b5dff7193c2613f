"""Thinning, checkpoints of the log and free pages, while a recorder records."""

import asyncio
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from mosaic_contracts.services import NoRequest
from mosaic_contracts.store_upkeep import ThinRequest, ThinResult
from mosaic_contracts.verbs import RECORDER_SPACE, RECORDER_THIN
from mosaic_recorder import upkeep as upkeep_module
from mosaic_recorder.store_thread import StoreThread
from mosaic_recorder.testing import (
    Publisher,
    RecorderProcess,
    ask_status,
    check_values,
    wait_status,
)
from mosaic_recorder.upkeep import Upkeep
from mosaic_servicekit.bus import Bus
from mosaic_store import StreamCursor, open_reader, open_writer, read_batch
from mosaic_store.testing import CYCLE, RUN_ID, STEPS, messages

OTHER = "01JGXSYNTHET1CRVN000000001"
RULE = "storage profile small"
LAST = 1 + 500 * CYCLE
THIN = ThinRequest(run_id=RUN_ID, every=10, rule=RULE, within_s=0.001)


async def thin_to_the_end(bus: Bus) -> list[ThinResult]:
    """Ask until all is removed, as the scheduler does."""
    results: list[ThinResult] = []
    while not results or not results[-1].done:
        results.append(await bus.call(RECORDER_THIN, THIN))
    return results


@pytest.mark.broker
async def test_steps_are_thinned_while_another_run_is_recorded(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """Each request does a bounded part; events that come meanwhile are stored as they are."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    await publisher.ship(list(messages(LAST, 100)))
    other = Publisher(bus, OTHER)
    await other.start()
    shipping = asyncio.create_task(other.ship(list(messages(20_000, 100, OTHER)), patience_s=10))
    results = await thin_to_the_end(bus)
    await shipping
    assert len(results) > 2
    removed = 450 * STEPS
    assert sum(result.removed_steps for result in results) == removed
    assert results[-1].kept_steps == 50 * STEPS
    with recorder.reader() as reader:
        assert reader.summary(RUN_ID).thinned_steps == removed
        check_values(reader, 20_000, OTHER)
    spaces = await bus.call(RECORDER_SPACE, NoRequest())
    found = {space.run_id: space for space in spaces.runs}
    assert found[RUN_ID].thinned_by == RULE
    assert found[OTHER].thinned_every is None
    assert spaces.store.file_bytes > 0
    assert (await ask_status(bus)).store is not None


@pytest.mark.broker
async def test_a_killed_recorder_goes_on_with_the_job_when_asked(
    recorder: RecorderProcess, bus: Bus, publisher: Publisher
) -> None:
    """The steps that are gone are counted once, and those that are left go with the next requests."""
    recorder.start()
    await wait_status(bus, lambda status: status.accepting)
    await publisher.ship(list(messages(LAST, 100)))
    removed = 0
    for _ in range(2):
        result = await bus.call(RECORDER_THIN, THIN)
        assert not result.done
        removed += result.removed_steps
        recorder.kill()
        recorder.start()
        await wait_status(bus, lambda status: status.accepting)
    spaces = await bus.call(RECORDER_SPACE, NoRequest())
    assert [space.is_thinning for space in spaces.runs] == [True]
    results = await thin_to_the_end(bus)
    assert removed + sum(result.removed_steps for result in results) == 450 * STEPS


async def test_a_look_writes_the_log_into_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a checkpoint did is logged with SQLite's three numbers; a quiet store has no log left."""
    path = tmp_path / "telemetry.sqlite3"
    store = StoreThread(path)
    upkeep = Upkeep(store)
    await store.open()
    stored = [read_batch(m.payload, m.encoding) for m in messages(5_000, 100)]
    await store.work(lambda writer: writer.apply(stored, StreamCursor("one", 1)))
    store.committed_at = 1.0
    with capture_logs() as logged:
        await upkeep.look()
    done = upkeep.checkpoint
    assert done is not None
    assert not done.busy
    assert done.frames == done.done > 0
    (line,) = logged
    assert line["event"] == "store.checkpoint"
    assert (line["busy"], line["frames"], line["done"]) == (False, done.frames, done.frames)
    monkeypatch.setattr(upkeep_module, "WAL_BYTES", 0)
    await upkeep.look()
    assert path.with_name(path.name + "-wal").stat().st_size == 0
    await store.close()
    store.stop()


async def test_a_reader_holds_a_checkpoint_back_for_no_time(tmp_path: Path) -> None:
    """With a reader in an older state the log stays, and nobody waits for the reader."""
    path = tmp_path / "telemetry.sqlite3"
    with open_writer(path) as writer, open_reader(path) as reader:
        stored = [read_batch(m.payload, m.encoding) for m in messages(1_000, 100)]
        writer.apply(stored[:5], StreamCursor("one", 1))
        with reader._pool.lend() as db:
            db.execute("SELECT count(*) FROM block").fetchone()
            writer.apply(stored[5:], StreamCursor("one", 2))
            # within the busy time-out of ten seconds this would fail by the test's own limit
            done = writer.checkpoint(truncate=True)
        assert done.busy
        assert 0 < done.done < done.frames
        assert not writer.checkpoint(truncate=True).busy


async def test_free_pages_of_a_killed_deletion_are_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loop finds pages that nobody gives back any more."""
    monkeypatch.setattr(upkeep_module, "FREE_BYTES", 0)
    path = tmp_path / "telemetry.sqlite3"
    with open_writer(path) as writer:
        for m in messages(100_000, 1000, full=True):
            writer.apply([read_batch(m.payload, m.encoding)], StreamCursor("one", 1))
        step = writer.prune_some(RUN_ID)
        assert not step.done
        assert writer.space().free_bytes > 0
    store = StoreThread(path)
    await store.open()
    await Upkeep(store).look()
    space = await store.work(lambda writer: writer.space())
    assert space.free_bytes == 0
    await store.close()
    store.stop()
