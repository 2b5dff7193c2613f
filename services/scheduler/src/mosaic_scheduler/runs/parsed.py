"""Records as they were read last. To validate one costs more than all else that is done with it in a pass."""

import json
import sqlite3
from dataclasses import dataclass

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.states import RunState

_UNFINISHED = json.dumps([state.value for state in RunState if not state.is_final])


@dataclass(frozen=True)
class StoredRun:
    """A run with what only the scheduler knows of it."""

    record: RunRecord
    nonce: str
    """Unguessable; in every Msg-Id of the run."""


class ParsedRuns:
    """Runs that have not ended, by id. A record never changes without its revision: only new ones are read.

    Belongs to the database's thread.
    """

    def __init__(self) -> None:
        self._runs: dict[str, StoredRun] = {}

    def unfinished(self, connection: sqlite3.Connection) -> list[StoredRun]:
        """Every run that has not ended, oldest first."""
        runs = self._select(
            connection, "state IN (SELECT value FROM json_each(?)) ORDER BY run_id", (_UNFINISHED,)
        )
        if len(runs) < len(self._runs):  # some have ended
            self._runs = {run.record.run_id: run for run in runs}
        return runs

    def queued(self, connection: sqlite3.Connection) -> list[StoredRun]:
        """What waits, in the order of the queue: by priority, then by place."""
        priority = "coalesce(json_extract(record, '$.priority'), 0)"
        order = f"state = 'queued' ORDER BY {priority} DESC, place, run_id"
        return self._select(connection, order)

    def _select(
        self, connection: sqlite3.Connection, condition: str, arguments: tuple[object, ...] = ()
    ) -> list[StoredRun]:
        query = f"SELECT run_id, revision FROM runs WHERE {condition}"  # noqa: S608 - our own words
        marks = connection.execute(query, arguments).fetchall()
        changed = [run_id for run_id, revision in marks if not self._is_current(run_id, revision)]
        if changed:
            found = "run_id IN (SELECT value FROM json_each(?))"
            for run in select(connection, found, (json.dumps(changed),)):
                self._runs[run.record.run_id] = run
        return [self._runs[run_id] for run_id, _ in marks]

    def _is_current(self, run_id: str, revision: int) -> bool:
        known = self._runs.get(run_id)
        return known is not None and known.record.revision == revision


def select(
    connection: sqlite3.Connection, condition: str, arguments: tuple[object, ...]
) -> list[StoredRun]:
    """Read the runs for which `condition` holds, in its order."""
    query = f"SELECT record, nonce FROM runs WHERE {condition}"  # noqa: S608 - our own words
    rows = connection.execute(query, arguments).fetchall()
    return [StoredRun(RunRecord.model_validate_json(record), nonce) for record, nonce in rows]
