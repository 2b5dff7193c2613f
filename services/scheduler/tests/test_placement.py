"""A stack that was started with another placement than the runs that are alive."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.records import RUN_ID, make_record

from mosaic_contracts.stack_files import PLACEMENT_FILE, SCHEDULER_DB
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.reconcile.placement import PlacementNote
from mosaic_scheduler.reconcile.restored import RestoredRuns
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_servicekit.errors import ServiceRefused


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    """The scheduler's file in a home of its own."""
    made = Database(tmp_path / SCHEDULER_DB)
    yield made
    await made.close()


async def start(database: Database, home: Path, placement: str) -> None:
    """What a scheduler with this placement does first."""
    settings = SchedulerSettings(home=home, broker_url="nats://127.0.0.1:4999")
    store = RunStore(database)
    restored = RestoredRuns(settings, database, store)
    await PlacementNote(home, store, restored, placement).ensure()


async def test_live_runs_keep_their_placement(database: Database, tmp_path: Path) -> None:
    """Runs that live at a cluster are not taken for dead processes: the refusal names them and the way on."""
    await start(database, tmp_path, "slurm")
    await RunStore(database).insert(make_record(RunState.STARTING), "n")
    with pytest.raises(
        ServiceRefused, match=r"A run lives with the placement slurm \(" + RUN_ID
    ) as refused:
        await start(database, tmp_path, "process")
    assert "./mosaic up --placement slurm" in str(refused.value)
    assert (tmp_path / PLACEMENT_FILE).read_text() == "slurm"
    await start(database, tmp_path, "slurm")


@pytest.mark.parametrize("state", [RunState.QUEUED, RunState.SUCCEEDED])
async def test_a_placement_changes_while_no_run_lives(
    database: Database, tmp_path: Path, state: RunState
) -> None:
    """Runs that wait or have ended do not hold the placement."""
    await start(database, tmp_path, "slurm")
    await RunStore(database).insert(make_record(state), "n")
    await start(database, tmp_path, "process")
    assert (tmp_path / PLACEMENT_FILE).read_text() == "process"


async def test_a_damaged_note_counts_as_none(database: Database, tmp_path: Path) -> None:
    """Nobody is asked to start a placement that does not exist."""
    await RunStore(database).insert(make_record(RunState.STARTING), "n")
    (tmp_path / PLACEMENT_FILE).write_text("slu")
    await start(database, tmp_path, "process")
    assert (tmp_path / PLACEMENT_FILE).read_text() == "process"
