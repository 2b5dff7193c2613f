"""Which ended runs still need a report of their files, and the event that is one."""

import sqlite3
import time
from enum import IntEnum

from mosaic_contracts.manifest import FileReport
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.runs import RunRecord
from mosaic_scheduler.database import transaction
from mosaic_scheduler.runs import outbox
from mosaic_scheduler.runs.outbox import RunFact

_IS_KEPT = "(purge_at IS NULL OR purge_at > ?)"
"""Whether a run is not about to be deleted for good."""


class FilesState(IntEnum):
    """How far the report of a run's files is. Values are in the database."""

    NONE = 0
    """The run has not ended, or it ended under a version that made no reports."""
    DUE = 1
    DIGESTS_DUE = 2
    """It is reported, but large files are not hashed yet."""
    DONE = 3


def note_end(connection: sqlite3.Connection, record: RunRecord) -> None:
    """Note that a report is due, inside the transaction of the run's final state."""
    if record.state.is_final and not record.spec.kind.is_derived:
        _set_state(connection, record.run_id, FilesState.DUE)


def note_due(connection: sqlite3.Connection, run_id: str) -> None:
    """Note that another report is due: files of an archive are back. Inside the transaction that says so."""
    _set_state(connection, run_id, FilesState.DUE)


def in_state(connection: sqlite3.Connection, state: FilesState) -> list[RunRecord]:
    """Ended runs whose report is so far, newest first; none that is about to be deleted."""
    rows = connection.execute(
        f"SELECT record FROM runs WHERE files_state = ? AND {_IS_KEPT} ORDER BY run_id DESC LIMIT 100",  # noqa: S608
        (state, time.time()),
    )
    return [RunRecord.model_validate_json(record) for (record,) in rows]


def is_unreported(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether no report of the run was noted yet, and none follows by itself when the events of an archive are sent."""
    row = connection.execute(
        "SELECT files_state, pending FROM runs WHERE run_id = ?", (run_id,)
    ).fetchone()
    return row is not None and (
        row[0] == FilesState.DUE or (row[0] == FilesState.NONE and not row[1])
    )


def add_report(
    connection: sqlite3.Connection, run_id: str, report: FileReport | None
) -> RunRecord | None:
    """Note a report as an event, in one transaction with the state that follows from it.

    Args:
        connection: the database.
        run_id: the run.
        report: None: the run has no folder that can be read.

    Returns:
        The run's record if it changed by this.
    """
    with transaction(connection):
        row = connection.execute(
            f"SELECT record FROM runs WHERE run_id = ? AND {_IS_KEPT}",  # noqa: S608
            (run_id, time.time()),
        ).fetchone()
        if row is None:
            return None  # it was deleted meanwhile
        record = RunRecord.model_validate_json(row[0])
        has_all = report is None or not report.unhashed
        _set_state(connection, run_id, FilesState.DONE if has_all else FilesState.DIGESTS_DUE)
        if report is None:
            return outbox.settle(connection, run_id)
        data = report.model_dump(mode="json", exclude_defaults=True)
        fact = RunFact("extra", {"type": RUN_FILES, "data": data})
        outbox.append_facts(connection, record, [fact])
        return None if record.telemetry_pending else mark_pending(connection, record)


def mark_pending(connection: sqlite3.Connection, record: RunRecord) -> RunRecord:
    """Note that something of an ended run is on its way to the store again, inside a transaction."""
    changes = {"telemetry_pending": True, "revision": record.revision + 1}
    changed = record.model_copy(update=changes)
    connection.execute(
        "UPDATE runs SET revision = ?, record = ? WHERE run_id = ?",
        (changed.revision, changed.model_dump_json(), changed.run_id),
    )
    return changed


def _set_state(connection: sqlite3.Connection, run_id: str, state: FilesState) -> None:
    connection.execute("UPDATE runs SET files_state = ? WHERE run_id = ?", (state, run_id))
