"""The first start on data that came out of a backup."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.records import RUN_ID, make_record

from mosaic_base.atomic import replace_file
from mosaic_contracts import launch
from mosaic_contracts.backups import RestoredStack, StoredSeq
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.launch import Launch
from mosaic_contracts.stack_files import RESTORED_FILE, RUNS_DIR, SCHEDULER_DB
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.reconcile.restored import RestoredRuns
from mosaic_scheduler.runs import outbox
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.errors import ServiceRefused

URL = "nats://127.0.0.1:4999"
ELSEWHERE = "/home/another/var"
WORKER, SUPERVISOR = "worker", "supervisor"


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """The scheduler's file in a home of its own."""
    made = Database(tmp_path / SCHEDULER_DB)
    yield made
    await made.close()


@pytest.fixture
def store(database: Database) -> RunStore:
    """Its runs."""
    return RunStore(database)


@pytest.fixture
def restored(tmp_path: Path, database: Database, store: RunStore) -> RestoredRuns:
    """What is tested, with a stack of its own."""
    python = tmp_path / "venvs" / "synthetic" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    settings = SchedulerSettings(home=tmp_path, broker_url=URL, venvs=tmp_path / "venvs")
    return RestoredRuns(settings, database, store)


def note_restore(home: Path, *seqs: StoredSeq) -> None:
    """What a restore leaves."""
    made = RestoredStack(
        backup_id="b", made_at=1.0, host="h", restored_at=2.0, stored={RUN_ID: list(seqs)}
    )
    replace_file(home / RESTORED_FILE, made.model_dump_json())


def stored(attempt: int, source: str, last_seq: int) -> StoredSeq:
    """How far a source is in the store."""
    return StoredSeq(attempt=attempt, source=source, last_seq=last_seq)


def write_launch(home: Path, attempt: int) -> Path:
    """What the executor wrote where the backup was made."""
    python = f"{ELSEWHERE}/venvs/synthetic/bin/python"
    run_dir = f"{ELSEWHERE}/{RUNS_DIR}/{RUN_ID}"
    spec = Launch(
        run_id=RUN_ID,
        attempt=attempt,
        nonce="n",
        worker_argv=["train", "--run-dir", run_dir],
        shipper_argv=python_module(python, "mosaic_workerkit.shipper", "--run-dir", run_dir),
        broker_url="nats://127.0.0.1:1",
        grace_s=1,
        outbox_bytes=1,
    )
    folder = home / RUNS_DIR / RUN_ID
    (folder / "control").mkdir(parents=True)
    (folder / launch.LAUNCH_FILE).write_text(spec.model_dump_json())
    return folder


async def state_of(store: RunStore) -> tuple[RunState, int]:
    """State and attempt of the run."""
    record = await store.require(RUN_ID)
    return record.state, record.attempt


async def next_seq(database: Database) -> tuple[int, int]:
    """Attempt and number of the supervisor's newest event."""
    row = await database.call(
        lambda connection: connection.execute(
            "SELECT event_attempt, event_seq FROM runs"
        ).fetchone()
    )
    return int(row[0]), int(row[1])


@pytest.mark.parametrize(
    ("state", "launched", "seqs", "expected"),
    [
        pytest.param(RunState.RUNNING, 1, [], (RunState.RUNNING, 1, True), id="it ran"),
        pytest.param(RunState.RUNNING, 0, [], (RunState.RUNNING, 1, True), id="its folder is gone"),
        pytest.param(RunState.STOPPING, 1, [], (RunState.STOPPING, 1, True), id="it was stopping"),
        pytest.param(RunState.STARTING, 0, [], (RunState.STARTING, 1, False), id="to be started"),
        pytest.param(RunState.QUEUED, 0, [], (RunState.QUEUED, 1, False), id="it waited"),
        pytest.param(
            RunState.QUEUED, 1, [], (RunState.STARTING, 1, True), id="it began before its folder was copied"
        ),
        pytest.param(
            RunState.QUEUED,
            0,
            [stored(1, WORKER, 9)],
            (RunState.STARTING, 1, True),
            id="it began before the store was copied",
        ),
        pytest.param(
            RunState.STARTING,
            0,
            [stored(1, SUPERVISOR, 2)],
            (RunState.STARTING, 1, False),
            id="the scheduler's own events are no start",
        ),
        pytest.param(
            RunState.RUNNING, 2, [], (RunState.RUNNING, 2, True), id="another attempt had begun"
        ),
    ],
)  # fmt: skip
async def test_an_attempt_that_has_begun_is_never_begun_again(
    tmp_path: Path,
    store: RunStore,
    restored: RestoredRuns,
    state: RunState,
    launched: int,
    seqs: list[StoredSeq],
    expected: tuple[RunState, int, bool],
) -> None:
    """Its numbers are used; and what had no process yet starts here as it would have there."""
    await store.insert(make_record(state), "nonce")
    if launched:
        write_launch(tmp_path, launched)
    note_restore(tmp_path, *seqs)
    await restored.take_over()
    now, attempt = await state_of(store)
    assert (now, attempt, restored.is_lost(AttemptRef(RUN_ID, attempt))) == expected


async def test_the_next_event_is_numbered_behind_what_the_store_has(
    tmp_path: Path, database: Database, store: RunStore, restored: RestoredRuns
) -> None:
    """Else the store would take the run's end for an event that it has, and drop it."""
    await store.insert(make_record(RunState.RUNNING), "nonce")
    note_restore(tmp_path, stored(1, SUPERVISOR, 40), stored(1, WORKER, 900))
    await restored.take_over()
    assert await next_seq(database) == (1, 40)
    await database.call(outbox.append, make_record(RunState.INTERRUPTED))
    assert await next_seq(database) == (1, 41)


async def test_a_number_never_goes_back(
    tmp_path: Path, database: Database, store: RunStore, restored: RestoredRuns
) -> None:
    """What waits in the scheduler's own table has numbers too."""
    await store.insert(make_record(RunState.RUNNING), "nonce")
    note_restore(tmp_path)
    before = await next_seq(database)
    note_restore(tmp_path, stored(1, SUPERVISOR, 0))
    await restored.take_over()
    assert await next_seq(database) == before


async def test_what_is_left_is_shipped_from_here_to_here(
    tmp_path: Path, store: RunStore, restored: RestoredRuns
) -> None:
    """The folder, the broker and the interpreter of the stack where the backup was made are not ours."""
    await store.insert(make_record(RunState.RUNNING), "nonce")
    folder = write_launch(tmp_path, 1)
    note_restore(tmp_path)
    await restored.take_over()
    spec = Launch.model_validate_json((folder / launch.LAUNCH_FILE).read_bytes())
    python = str(tmp_path / "venvs" / "synthetic" / "bin" / "python")
    expected = python_module(python, "mosaic_workerkit.shipper", "--run-dir", str(folder))
    assert (spec.broker_url, spec.shipper_argv) == (URL, expected)


async def test_it_is_done_once_and_remembered(
    tmp_path: Path, database: Database, store: RunStore, restored: RestoredRuns
) -> None:
    """A scheduler that starts later still knows which attempts were left behind, and changes nothing."""
    await store.insert(make_record(RunState.RUNNING), "nonce")
    note_restore(tmp_path, stored(1, SUPERVISOR, 40))
    await restored.take_over()
    settings = SchedulerSettings(home=tmp_path, broker_url=URL)
    later = RestoredRuns(settings, database, store)
    await later.take_over()
    assert later.is_lost(AttemptRef(RUN_ID, 1))
    assert not later.is_lost(AttemptRef(RUN_ID, 2))


async def test_data_that_was_never_restored_is_left_alone(
    store: RunStore, restored: RestoredRuns
) -> None:
    """The rule."""
    await store.insert(make_record(RunState.RUNNING), "nonce")
    await restored.take_over()
    assert not restored.is_lost(AttemptRef(RUN_ID, 1))


async def test_a_note_that_cannot_be_read_stops_the_scheduler(
    tmp_path: Path, restored: RestoredRuns
) -> None:
    """It would start runs a second time."""
    (tmp_path / "db").mkdir(exist_ok=True)
    await asyncio.to_thread((tmp_path / RESTORED_FILE).write_text, "{")
    with pytest.raises(ServiceRefused, match="Restore the backup again"):
        await restored.take_over()
