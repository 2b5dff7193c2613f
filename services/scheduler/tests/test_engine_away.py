"""What the reconciler makes of an engine that does not answer. `tests/containers` does the same with a real one."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from tests.records import RUN_ID, make_record

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import EndCause, RunState
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.level import SpaceLimits
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.errors import EngineUnavailable
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptStatus,
    Bounds,
    Executor,
    Internet,
)
from mosaic_scheduler.reconcile.dispatch import Dispatcher
from mosaic_scheduler.reconcile.loop import Reconciler
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews

AWAY = "The container engine cannot be reached. Start it."
OTHER = "01ARZ3NDEKTSV4RRFFQ69G5FAW"


class _Away:
    """An executor whose engine is gone; what it knows without the engine it answers."""

    bounds = Bounds(memory=False, internet=Internet.OPEN)

    def __init__(self) -> None:
        self.swept: list[str] = []

    async def ready(self, *_: object) -> None:
        raise EngineUnavailable(AWAY)

    submit = cancel = ready

    async def status(self, *_: object) -> AttemptStatus:
        raise EngineUnavailable(AWAY)

    async def sweep(self, ref: Any) -> int:
        self.swept.append(ref.run_id)
        return 0

    async def logs(self, *_: object) -> list[str]:
        return []

    async def image(self, *_: object) -> None:
        return None

    def folder(self, ref: Any) -> Path:
        return Path("/nowhere", str(ref.run_id))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[RunStore]:
    """An empty database."""
    database = Database(tmp_path / "db" / "scheduler.sqlite3")
    yield RunStore(database)
    await database.close()


class _Others:
    """All other services, as far as these tests come to them."""

    def __init__(self, engine: _Away) -> None:
        self.ensure = engine.ready

    async def announce(self, *_: object) -> None:
        return None

    def wake(self, *_: object) -> None:
        return None

    note = add = wake

    def is_lost(self, _: object) -> bool:
        return False


def _reconciler(store: RunStore, engine: _Away) -> Reconciler:
    heartbeats = HeartbeatTracker()
    others: Any = _Others(engine)
    return Reconciler(
        store=store,
        executor=cast(Executor, engine),
        heartbeats=heartbeats,
        views=RunViews(heartbeats),
        dispatcher=cast(Dispatcher, None),  # it must not be asked
        durations=others,
        ledger=others,
        launches=others,
        records=others,
        takeover=others,
        restored=others,
        listener=others,
        announcer=others,
        drain=others,
        revocation=others,
        accounts=others,
        volumes=VolumeWatch({}, SpaceLimits(0, 0)),
        wake=asyncio.Event(),
    )


async def _after_a_pass(store: RunStore, engine: _Away, record: RunRecord) -> RunRecord:
    await store.insert(record, "nonce")
    reconciler = _reconciler(store, engine)
    await reconciler.pass_once()
    stored = await store.get(record.run_id)
    assert stored is not None
    return reconciler.views.view(stored.record)


async def test_what_waits_goes_on_waiting_and_says_why(store: RunStore) -> None:
    """Nothing of the queue is started and lost; a run that its user holds back waits for its user."""
    await store.insert(make_record(run_id=OTHER, held=True), "nonce")
    run = await _after_a_pass(store, _Away(), make_record())
    assert (run.state, run.position, run.waiting_reason) == (RunState.QUEUED, 1, AWAY)


@pytest.mark.parametrize("state", [RunState.RUNNING, RunState.STOPPING])
async def test_what_lives_is_left_alone(store: RunStore, state: RunState) -> None:
    """Nothing is decided for a run that has begun, however long it takes, and its notes say so."""
    long_ago = datetime.now(UTC) - timedelta(days=1)
    run = await _after_a_pass(store, _Away(), make_record(state, started_at=long_ago))
    assert (run.state, AWAY in " ".join(run.notes)) == (state, True)


@pytest.mark.parametrize(("age_s", "state"), [(1, RunState.STARTING), (121, RunState.FAILED)])
async def test_a_start_has_its_deadline(store: RunStore, age_s: int, state: RunState) -> None:
    """A run that cannot be started is tried again until its start deadline; then it has failed with the reason."""
    engine = _Away()
    started = datetime.now(UTC) - timedelta(seconds=age_s)
    run = await _after_a_pass(store, engine, make_record(RunState.STARTING, started_at=started))
    assert run.state is state
    if state is RunState.FAILED:
        assert run.end is not None
        assert (run.end.cause, AWAY in run.end.message) == (EndCause.PLACEMENT_FAILED, True)
        assert engine.swept == [RUN_ID]  # should it have been started after all


class _Refusing(_Away):
    """An engine whose container was made and whose runner refused to begin."""

    async def ready(self, *_: object) -> None:
        raise EngineUnavailable(AWAY)  # nothing further is started

    async def status(self, *_: object) -> AttemptStatus:
        return AttemptStatus(AttemptPhase.REFUSED, detail="no such interpreter")


async def test_what_a_refused_attempt_left_is_removed_before_the_next(store: RunStore) -> None:
    """The next attempt has another name, so nobody else would ever remove the container of this one."""
    engine = _Refusing()
    run = await _after_a_pass(
        store, engine, make_record(RunState.STARTING, started_at=datetime.now(UTC))
    )
    assert (run.state, run.attempt) == (RunState.QUEUED, 2)
    assert engine.swept == [RUN_ID]
