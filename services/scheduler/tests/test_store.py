"""The database: guarded writes, states written once, events in the same transaction."""

import asyncio
import json
import sqlite3
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.records import NOW, RUN_ID, make_record

from mosaic_contracts import wire
from mosaic_contracts.groups import GroupSpec
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import GroupPlace, RunRecord
from mosaic_contracts.services import ListRequest
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.errors import IdempotencyKeyReused, RunTransitionInvalid
from mosaic_scheduler.runs import file_reports, outbox, selection
from mosaic_scheduler.runs.groups import GroupRow
from mosaic_scheduler.runs.idempotency import KEPT_S, IdempotencyKey
from mosaic_scheduler.runs.store import RunStore

OTHER = "01ARZ3NDEKTSV4RRFFQ69G5FAW"
GROUP = "g01ARZ3NDEKTSV4RRFFQ69G5FAA"


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
    """The second of two writers that read the same revision changes nothing, not even an event."""
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
    ended = await store.write(make_record(), state=RunState.CANCELLED, outbox_left=True)
    assert ended is not None
    with pytest.raises(RunTransitionInvalid):
        await store.write(ended, state=RunState.RUNNING)
    with (
        sqlite3.connect(tmp_path / "db" / "scheduler.sqlite3") as other,
        pytest.raises(sqlite3.IntegrityError, match="never overwritten"),
    ):
        other.execute("UPDATE runs SET state = 'running'")
    other.close()
    assert [run.record.run_id for run in await store.with_leftovers()] == [RUN_ID]
    assert await store.drained(RUN_ID) is None, "the event of its end is not stored yet"
    assert await store.with_leftovers() == []


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
    assert await database.call(outbox.delete_committed, RUN_ID, 1, 3) is None
    assert await _phases(database) == []
    assert started is not None
    again = await store.write(started, state=RunState.QUEUED, attempt=2)
    assert again is not None
    await store.write(again, state=RunState.STARTING)
    assert await _phases(database) == [(2, 1, "queued"), (2, 2, "starting")]
    assert await database.call(outbox.count) == 2


@pytest.mark.parametrize("drained_first", [True, False])
async def test_telemetry_is_complete_once_outbox_and_own_events_are_stored(
    store: RunStore, database: Database, drained_first: bool
) -> None:
    """`telemetry_pending` is cleared by whichever comes last: the outbox, the last event, or the look at its files."""
    ended = await store.write(make_record(), state=RunState.CANCELLED, outbox_left=True)
    assert ended is not None
    assert ended.telemetry_pending

    async def commit(next_seq: int) -> RunRecord | None:
        return await database.call(outbox.delete_committed, RUN_ID, 1, next_seq)

    assert await commit(2) is None, "the event of its end is not among them"
    if drained_first:
        assert await store.drained(RUN_ID) is None
        assert await commit(3) is None
        settled = await database.call(file_reports.add_report, RUN_ID, None)
    else:
        assert await commit(3) is None
        assert await database.call(file_reports.add_report, RUN_ID, None) is None
        settled = await store.drained(RUN_ID)
    assert settled is not None
    assert not settled.telemetry_pending
    assert settled.revision == ended.revision + 1
    stored = await store.get(RUN_ID)
    assert stored is not None
    assert stored.record == settled


async def test_one_key_makes_one_run(store: RunStore, database: Database) -> None:
    """The same key and request give the run made first; another request under it is a conflict, for a day."""
    key, other = IdempotencyKey.of("k", {"a": 1, "b": 2}), IdempotencyKey.of("k", {"a": 2})
    same = IdempotencyKey.of("k", {"b": 2, "a": 1})
    assert key is not None
    assert other is not None
    second = make_record(run_id="01ARZ3NDEKTSV4RRFFQ69G5FB0")
    third = make_record(run_id="01ARZ3NDEKTSV4RRFFQ69G5FB1")
    assert await store.insert(second, "n", key) is None
    assert await store.insert(third, "n", same) == second.run_id
    with pytest.raises(IdempotencyKeyReused, match=second.run_id):
        await store.insert(third, "n", other)
    assert await store.get(third.run_id) is None
    await database.call(_age_keys)
    assert await store.made_with(key) is None
    assert await store.insert(third, "n", other) is None


def _age_keys(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE idempotency_keys SET created_at = created_at - ?", (KEPT_S,))


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


async def test_what_is_listed_is_what_was_written_last(store: RunStore) -> None:
    """The lists of a pass show each change at once, a new run too, and nothing that has ended."""
    assert [run.record for run in await store.queued()] == [make_record()]
    noted = await store.work(
        RUN_ID, lambda _, record: record.model_copy(update={"note": "changed"})
    )
    assert noted is not None
    assert [run.record for run in await store.queued()] == [noted]
    other = make_record(run_id="01ARZ3NDEKTSV4RRFFQ69G5FAW")
    await store.insert(other, "another nonce")
    assert [run.record for run in await store.unfinished()] == [noted, other]
    assert await store.write(noted, state=RunState.CANCELLED) is not None
    assert [run.record for run in await store.unfinished()] == [other]
    assert await store.queued() == await store.unfinished()


async def test_a_long_list_is_told_briefly_page_by_page(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids with what they are to be sorted by, newest first, each once, whatever the number of runs."""
    monkeypatch.setattr(selection, "BRIEF_PAGE", 3)
    ids = [f"01ARZ3NDEKTSV4RRFFQ69G5F{n:02d}" for n in range(7)]
    for n, run_id in enumerate(ids):
        await store.insert(make_record(run_id=run_id, name=f"n{n}"), f"nonce {n}")
    found: list[tuple[str, str | None]] = []
    request, cut = ListRequest(), True
    while cut:
        page = await store.select_brief(selection.selection(request, 1), "name")
        assert page.values is not None
        assert len(page.run_ids) <= 3
        found += zip(page.run_ids, page.values, strict=True)
        request, cut = ListRequest(before=page.run_ids[-1]), page.cut
    newest = [(run_id, f"n{n}") for n, run_id in enumerate(ids)][::-1]
    assert [row for row in found if row[0] in ids] == newest
    assert len(found) == len({run_id for run_id, _ in found}) == len(ids) + 1
    origin = await store.select_brief(selection.selection(ListRequest(), 1), "origin")
    assert origin.values is not None
    spec = make_record(run_id=ids[0]).spec
    known = [spec.worker, spec.algorithm, spec.environment, spec.kind.value]
    assert json.loads(origin.values[0] or "") == known
    bare = await store.select_brief(selection.selection(ListRequest(), 1), None)
    assert (bare.values, bare.cut) == (None, True)


@pytest.mark.parametrize(
    "asked", [ListRequest(states=["queued"]), ListRequest(search="state:queued")]
)
async def test_a_run_that_waits_at_its_engine_is_listed_as_queued(
    store: RunStore, asked: ListRequest
) -> None:
    """It has been passed on and is not started; a filter and a search take it as lists show it."""
    await store.insert(make_record(run_id=OTHER), "another nonce")

    async def is_listed(request: ListRequest) -> bool:
        found = await store.select(selection.selection(request, 9))
        ids = (await store.select_brief(selection.selection(request, 9), None)).run_ids
        assert [run.run_id for run in found] == ids
        return OTHER in ids

    assert await is_listed(asked)
    waiting = await store.write(make_record(run_id=OTHER), state=RunState.STARTING, started_at=None)
    assert waiting is not None
    assert (waiting.state, await is_listed(asked)) == (RunState.STARTING, True)
    assert not await is_listed(ListRequest(states=["starting", "running"]))
    assert await store.write(waiting, started_at=NOW) is not None
    assert not await is_listed(asked)
    assert await is_listed(ListRequest(states=["starting", "running"]))


async def test_a_group_counts_a_run_that_waits_at_its_engine_as_queued(store: RunStore) -> None:
    """As it does one that waits in MOSAIC's own queue."""
    records = [
        make_record(
            run_id=f"01ARZ3NDEKTSV4RRFFQ69G5F{place:02d}",
            group=GroupPlace(group_id=GROUP, name="three", place=place),
        )
        for place in range(3)
    ]
    spec = GroupSpec.model_validate(
        {"run": {"worker": "w", "algorithm": "a", "environment": "e"}, "seeds": [1, 2, 3]}
    )
    row = GroupRow(GROUP, "three", spec, NOW)
    await store.insert_all([(record, record.run_id) for record in records], row, None)
    await store.write(records[1], state=RunState.STARTING)
    await store.write(records[2], state=RunState.STARTING, started_at=NOW)
    group = await store.group(GROUP)
    assert group is not None
    assert group.counts == {RunState.QUEUED: 2, RunState.STARTING: 1}


async def test_a_search_selects_records_and_ids(store: RunStore) -> None:
    """A search sees each run as it is now: a new one, one with other tags, and none that was deleted for good."""
    ids = [f"01ARZ3NDEKTSV4RRFFQ69G5F{n:02d}" for n in range(4)]
    for n, run_id in enumerate(ids):
        record = make_record(run_id=run_id, tags=["even"] if n % 2 == 0 else [], defaults={"lr": n})
        await store.insert(record, f"nonce {n}")

    async def found(text: str, limit: int = 10) -> list[str]:
        wanted = selection.selection(ListRequest(search=text), limit)
        records = [record.run_id for record in await store.select(wanted)]
        brief = await store.select_brief(wanted, "name")
        assert brief.run_ids[:limit] == records
        return records

    assert await found("tag:even lr<3") == [ids[2], ids[0]]
    assert await found("tag:even lr<3", limit=1) == [ids[2]]
    changed = await store.work(
        ids[1], lambda _connection, record: record.model_copy(update={"tags": ["even"]})
    )
    assert changed is not None
    assert await found("tag:even lr<3") == [ids[2], ids[1], ids[0]]
    assert await found("tag:even best>5") == [ids[2], ids[1], ids[0]]  # the gateway has the returns
    with pytest.raises(ProblemError, match="there is no key or parameter 'rl'"):
        await found("tag:even rl<3")


async def test_a_brief_list_opens_no_record(database: Database) -> None:
    """What it is sorted by is in the index: with ten thousand runs that is tenths of a second or none."""
    wanted = selection.selection(ListRequest(), 1)
    query = "EXPLAIN QUERY PLAN SELECT run_id, json_extract(record, '$.name') FROM runs WHERE "
    query += f"{wanted.where} ORDER BY run_id DESC"
    plan = await database.call(lambda db: db.execute(query).fetchall())
    assert ["runs_listed" in row[3] for row in plan] == [True]
