"""Runs in the database. Every write is guarded by the state and revision that it was decided on."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import RunState
from mosaic_scheduler.database import Database, transaction
from mosaic_scheduler.errors import RunTransitionInvalid
from mosaic_scheduler.events import outbox
from mosaic_servicekit.logging import get_log

_UNFINISHED = json.dumps([state.value for state in RunState if not state.is_final])


@dataclass(frozen=True)
class StoredRun:
    """A run with what only the scheduler knows of it."""

    record: RunRecord
    nonce: str
    """Unguessable; in every Msg-Id of the run."""


class RunStore:
    """Reads and writes runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, record: RunRecord, nonce: str) -> None:
        """Add a new run and its first event."""
        await self._database.call(_insert, record, nonce)

    async def get(self, run_id: str) -> StoredRun | None:
        """One run, or None when there is no such run."""
        rows = await self._database.call(
            _select, "SELECT record, nonce FROM runs WHERE run_id = ?", (run_id,)
        )
        return rows[0] if rows else None

    async def newest(
        self, before: str | None, limit: int, states: Sequence[str] | None
    ) -> list[RunRecord]:
        """Newest first; only older than `before`, only in `states`."""
        rows = await self._database.call(
            _select,
            "SELECT record, nonce FROM runs WHERE (?1 IS NULL OR run_id < ?1)"
            " AND (?2 IS NULL OR state IN (SELECT value FROM json_each(?2)))"
            " ORDER BY run_id DESC LIMIT ?3",
            (before, json.dumps(list(states)) if states is not None else None, limit),
        )
        return [row.record for row in rows]

    async def unfinished(self) -> list[StoredRun]:
        """Every run that has not ended, oldest first."""
        return await self._database.call(
            _select,
            "SELECT record, nonce FROM runs WHERE state IN (SELECT value FROM json_each(?))"
            " ORDER BY run_id",
            (_UNFINISHED,),
        )

    async def with_telemetry_pending(self) -> list[StoredRun]:
        """Ended runs whose outbox is not empty, oldest first."""
        return await self._database.call(
            _select, "SELECT record, nonce FROM runs WHERE pending = 1 ORDER BY run_id", ()
        )

    async def write(self, old: RunRecord, **changes: object) -> RunRecord | None:
        """Change a run. Return the new record, or None when `old` is stale and nothing was written.

        A change of state writes its lifecycle event in the same transaction.

        Raises:
            RunTransitionInvalid: the state machine does not have this transition.
        """
        new = old.model_copy(update={**changes, "revision": old.revision + 1})
        if new.state is not old.state and not old.state.may_become(new.state):
            raise RunTransitionInvalid(f"{old.run_id}: {old.state} cannot become {new.state}")
        if not await self._database.call(_update, old, new):
            get_log().info(
                "run.write_stale",
                run_id=old.run_id,
                state=old.state,
                revision=old.revision,
                wanted=new.state,
            )
            return None
        return new


def _insert(connection: sqlite3.Connection, record: RunRecord, nonce: str) -> None:
    with transaction(connection):
        connection.execute(
            "INSERT INTO runs (run_id, state, revision, pending, nonce, record)"
            " VALUES (?, ?, ?, 0, ?, ?)",
            (record.run_id, record.state, record.revision, nonce, record.model_dump_json()),
        )
        outbox.append(connection, record)


def _update(connection: sqlite3.Connection, old: RunRecord, new: RunRecord) -> bool:
    with transaction(connection):
        written = connection.execute(
            "UPDATE runs SET state = ?, revision = ?, pending = ?, record = ?"
            " WHERE run_id = ? AND state = ? AND revision = ?",
            (
                new.state,
                new.revision,
                int(new.state.is_final and new.telemetry_pending),
                new.model_dump_json(),
                old.run_id,
                old.state,
                old.revision,
            ),
        ).rowcount
        if written and new.state is not old.state:
            outbox.append(connection, new)
    return written == 1


def _select(
    connection: sqlite3.Connection, query: str, arguments: tuple[object, ...]
) -> list[StoredRun]:
    rows = connection.execute(query, arguments).fetchall()
    return [StoredRun(RunRecord.model_validate_json(record), nonce) for record, nonce in rows]
