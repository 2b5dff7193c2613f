"""What a user changes of the queue: who is held back, who goes before whom."""

import asyncio
import sqlite3
from functools import partial

from pydantic import ValidationError

from mosaic_contracts.changes import QueuePatch
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import MoveRequest, RunRecords
from mosaic_contracts.states import RunState
from mosaic_scheduler import problem
from mosaic_scheduler.errors import EngineUnavailable, LaunchFailed
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.executors.protocol import AttemptRef, EngineQueue
from mosaic_scheduler.runs.selection import first_that_fit
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews, waits_at_engine
from mosaic_servicekit.bus import Verb


class QueueMoves:
    """The verbs `queue` and `move`. What follows from a move the reconciler does."""

    def __init__(
        self,
        store: RunStore,
        views: RunViews,
        announcer: RunAnnouncer,
        reconcile: asyncio.Event,
        engine_queue: EngineQueue | None = None,
    ) -> None:
        """`engine_queue`: of a cluster, where it can be changed."""
        self._store = store
        self._views = views
        self._announcer = announcer
        self._reconcile = reconcile
        self._engine_queue = engine_queue

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"queue": (None, self.queue), "move": (MoveRequest, self.move)}

    async def queue(self) -> RunRecords:
        """What waits, without replays and dashboards, with those that are held.

        What waits in an engine's own queue comes first; then the others, in the order in which they will start.
        """
        at_engine = [run for run in await self._store.unfinished() if waits_at_engine(run.record)]
        records = [
            self._views.view(run.record)
            for run in [*at_engine, *await self._store.queued()]
            if not run.record.spec.kind.is_derived
        ]
        runs = first_that_fit(records)
        return RunRecords(runs=runs, cut=len(runs) < len(records))

    async def move(self, request: MoveRequest) -> RunRecord:
        """Hold, release or move a run that waits."""
        try:
            move = QueuePatch.model_validate(request.move)
        except ValidationError as error:
            raise problem.request_invalid("move", error) from error
        found = await self._store.get(request.run_id)
        is_at_engine = found is not None and waits_at_engine(found.record)
        if found is not None and is_at_engine:
            await self._move_at_engine(found.record, move)
        work = partial(_move, move=move, is_at_engine=is_at_engine)
        changed = await self._store.work(request.run_id, work)
        if changed is None:
            raise problem.run_unknown(request.run_id)
        self._reconcile.set()
        await self._announcer.announce(changed)
        return self._views.view(changed)

    async def _move_at_engine(self, record: RunRecord, move: QueuePatch) -> None:
        """Hold or release a run in the engine's queue; its priority follows in the reconciler's next pass."""
        if self._engine_queue is None:
            raise problem.run_at_engine(record.run_id, "it can be stopped, not held or reordered")
        if move.before is not None or move.after is not None:
            raise problem.run_at_engine(record.run_id, "only hold, release and priority work there")
        if move.hold is None:
            return
        try:
            await self._engine_queue.hold(AttemptRef(record.run_id, record.attempt), move.hold)
        except EngineUnavailable as error:
            raise problem.engine_away(str(error)) from error
        except LaunchFailed as error:
            raise problem.run_at_engine(record.run_id, f"nothing was changed: {error}") from error


def _move(
    connection: sqlite3.Connection, record: RunRecord, move: QueuePatch, is_at_engine: bool
) -> RunRecord:
    waits = waits_at_engine(record) if is_at_engine else record.state is RunState.QUEUED
    if not waits:
        raise problem.run_not_queued(record.run_id, record.state)
    changes: dict[str, object] = {}
    if move.hold is not None:
        changes["held"] = move.hold
    if move.priority is not None:
        changes["priority"] = move.priority
    beside = move.before or move.after
    if beside is not None and beside != record.run_id:
        changes["priority"] = _take_place(connection, record.run_id, beside, move.before is None)
    return record.model_copy(update=changes)


def _take_place(connection: sqlite3.Connection, run_id: str, beside: str, after: bool) -> int:
    """Put a run right before or after another one. Return that one's priority, which it takes over.

    The places of the runs of this priority are reassigned among these runs. The places of runs of other priorities,
    and of runs that are submitted later, stay as they are.
    """
    row = connection.execute(
        "SELECT coalesce(json_extract(record, '$.priority'), 0), state FROM runs WHERE run_id = ?",
        (beside,),
    ).fetchone()
    if row is None:
        raise problem.run_unknown(beside)
    priority, state = int(row[0]), str(row[1])
    if state != RunState.QUEUED:
        raise problem.run_not_queued(beside, state)
    rows = connection.execute(
        "SELECT run_id, place FROM runs WHERE state = 'queued' AND (run_id = ?"
        " OR coalesce(json_extract(record, '$.priority'), 0) = ?) ORDER BY place, run_id",
        (run_id, priority),
    ).fetchall()
    order = [name for name, _ in rows if name != run_id]
    order.insert(order.index(beside) + after, run_id)
    connection.executemany(
        "UPDATE runs SET place = ? WHERE run_id = ?",
        zip((place for _, place in rows), order, strict=True),
    )
    return priority
