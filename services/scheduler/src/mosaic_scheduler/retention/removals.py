"""Removed files in the database: how far each is on its way to the trash, out of it, or back.

A removal is noted with its event in one transaction before the file is moved, and so is its undoing. Whatever is
killed, the next scheduler completes what is noted (ADR 0028).
"""

import dataclasses
import json
import sqlite3
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from mosaic_contracts.manifest_words import FileType
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.storage_words import FILE_RESTORED, ORPHAN
from mosaic_scheduler.database import transaction
from mosaic_scheduler.runs import file_reports, outbox
from mosaic_scheduler.runs.file_reports import FilesState
from mosaic_scheduler.runs.outbox import RunFact

_COLUMNS = "id, run_id, path, name, type, kind, bytes, rule, state, removed_at, expires_at"
_ANY_OF = "SELECT value FROM json_each(?)"


class RemovalState(IntEnum):
    """How far a removal is. Values are in the database."""

    NOTED = 0
    """Its event is noted; the file may still be in its place."""
    IN_TRASH = 1
    RESTORING = 2
    """The event that it is back is noted; the file may still be in the trash."""
    ENDING = 3
    """It can no longer be brought back; the file may still be in the trash."""


@dataclass(frozen=True)
class Removal:
    """A file of a run, or the folder of no run, that goes."""

    run_id: str
    """The name of its folder where it is an orphan."""
    path: str
    name: bytes
    """`path` as the disk has it; empty for an orphan: the whole folder."""
    kind: str
    bytes: int
    rule: str
    reason: str = ""
    grace_s: float = 0.0
    type: str = FileType.FILE
    """`folder`: a folder that the run announced, of which nothing is left. It is not moved."""


@dataclass(frozen=True)
class RemovedFile:
    """A row of the table."""

    id: int
    run_id: str
    path: str
    name: bytes
    type: str
    kind: str
    bytes: int
    rule: str
    state: RemovalState
    removed_at: float
    expires_at: float

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder that the run announced: it goes with its last file and comes back with its first."""
        return self.type == FileType.FOLDER

    @property
    def is_orphan(self) -> bool:
        """Whether it is the folder of no run."""
        return self.kind == ORPHAN


def note(
    connection: sqlite3.Connection,
    run_id: str,
    profile: str | None,
    newest: int,
    removals: Sequence[Removal],
) -> tuple[list[RemovedFile], RunRecord | None]:
    """Note that files of an ended run go, with an event for each.

    Args:
        connection: the database.
        run_id: the run.
        profile: name of the run's profile that the plan was made of. With another one nothing is noted.
        newest: the newest run (`newest_run`) that the plan was made of. When a newer one names this run, nothing is
            noted.
        removals: files of this run.

    Returns:
        What was noted, and the run's record if it changed by this.
    """
    with transaction(connection):
        row = connection.execute(
            "SELECT record FROM runs WHERE run_id = ?1 AND pending = 0 AND files_state = ?2"
            " AND purge_at IS NULL AND NOT EXISTS"
            " (SELECT 1 FROM runs AS newer WHERE newer.rowid > ?3 AND instr(newer.record, ?1))",
            (run_id, FilesState.DONE, newest),
        ).fetchone()
        if row is None:
            return [], None
        record = RunRecord.model_validate_json(row[0])
        if not record.state.is_final or record.pinned or record.storage_profile != profile:
            return [], None
        known = _known_paths(connection, run_id)
        known |= set(record.pinned_files)
        removals = [each for each in removals if each.path not in known]
        noted = [_insert(connection, each) for each in removals]
        outbox.append_facts(connection, record, [_pruned(each) for each in removals])
        return noted, file_reports.mark_pending(connection, record)


def note_orphans(connection: sqlite3.Connection, removals: Sequence[Removal]) -> list[RemovedFile]:
    """Note that folders of no run go."""
    with transaction(connection):
        return [_insert(connection, each) for each in removals if not _has_run(connection, each)]


def arrived(
    connection: sqlite3.Connection, moved: Sequence[int], vanished: Sequence[int] = ()
) -> None:
    """Note which files are in the trash, and which were not there any more."""
    with transaction(connection):
        _set_state(connection, moved, RemovalState.IN_TRASH)
        _delete(connection, vanished)


def withdraw(connection: sqlite3.Connection, rows: Sequence[RemovedFile]) -> list[RunRecord]:
    """Take removals back whose files could not be moved: each is announced as restored. Return the changed records."""
    with transaction(connection):
        _delete(connection, [row.id for row in rows])
        return _announce_restored(connection, rows)


def begin_undo(
    connection: sqlite3.Connection, rows: Sequence[RemovedFile]
) -> tuple[list[RemovedFile], list[RunRecord]]:
    """Note that files come back, with an event for each.

    Returns:
        Those that are still in the trash, and the records that changed by this.
    """
    with transaction(connection):
        current = {
            row.id
            for row in _select(connection, _ids_of(rows))
            if row.state is RemovalState.IN_TRASH
        }
        found = [
            row
            for row in rows
            if row.id in current and (row.is_orphan or _is_kept(connection, row.run_id))
        ]
        found += _folders_above(connection, found)
        _set_state(connection, [row.id for row in found], RemovalState.RESTORING)
        connection.executemany(
            "INSERT OR IGNORE INTO kept_files VALUES (?, ?)",
            [(row.run_id, row.path) for row in found],
        )
        return found, _announce_restored(connection, found)


def end_undo(
    connection: sqlite3.Connection, back: Sequence[int], stuck: Sequence[int] = ()
) -> None:
    """Note which files are back in their place, and which stay in the trash."""
    with transaction(connection):
        _delete(connection, back)
        _set_state(connection, stuck, RemovalState.IN_TRASH)


def begin_end(
    connection: sqlite3.Connection, now: float, limit: int, run_ids: Sequence[str] | None = None
) -> list[RemovedFile]:
    """Note that files in the trash whose grace time is over can no longer be brought back. Return them, oldest first.

    Args:
        connection: the database.
        now: seconds since the epoch; infinity: all files.
        limit: number of files.
        run_ids: only files of these runs.
    """
    of_runs = "" if run_ids is None else f" AND run_id IN ({_ANY_OF})"
    more = () if run_ids is None else (json.dumps(list(run_ids)),)
    with transaction(connection):
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM removed_files WHERE state IN (?, ?) AND (expires_at <= ? OR state = ?){of_runs}"  # noqa: S608 - our own words
            " ORDER BY expires_at LIMIT ?",
            (
                RemovalState.IN_TRASH,
                RemovalState.ENDING,
                min(now, 1e18),
                RemovalState.ENDING,
                *more,
                limit,
            ),
        ).fetchall()
        found = [_row(row) for row in rows]
        _set_state(connection, [row.id for row in found], RemovalState.ENDING)
        return found


def end(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Note that files were deleted from the trash."""
    with transaction(connection):
        _delete(connection, ids)


def all_rows(connection: sqlite3.Connection) -> list[RemovedFile]:
    """Every row, oldest first."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM removed_files ORDER BY id")  # noqa: S608
    return [_row(row) for row in rows]


def in_trash(connection: sqlite3.Connection) -> list[RemovedFile]:
    """Files that can be brought back, the newest first."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM removed_files WHERE state = ? ORDER BY removed_at DESC, id",  # noqa: S608
        (RemovalState.IN_TRASH,),
    )
    return [_row(row) for row in rows]


def next_expiry(connection: sqlite3.Connection) -> float | None:
    """When the grace time of the first file is over, seconds since the epoch; None: nothing is in the trash."""
    query = "SELECT min(expires_at) FROM removed_files WHERE state IN (?, ?)"
    found: float | None = connection.execute(
        query, (RemovalState.IN_TRASH, RemovalState.ENDING)
    ).fetchone()[0]
    return found


def kept_files(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    """Run and path of each file that the user brought back."""
    return set(connection.execute("SELECT run_id, path FROM kept_files").fetchall())


def forget_kept(connection: sqlite3.Connection, run_id: str) -> None:
    """Let rules apply again to files that the user brought back. Inside a transaction."""
    connection.execute("DELETE FROM kept_files WHERE run_id = ?", (run_id,))


def _folders_above(
    connection: sqlite3.Connection, rows: Sequence[RemovedFile]
) -> list[RemovedFile]:
    """Announced folders that come back with these files."""
    known = {row.id for row in rows}
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM removed_files WHERE state = ? AND type = ? AND run_id IN ({_ANY_OF})",  # noqa: S608
        (RemovalState.IN_TRASH, FileType.FOLDER, json.dumps([row.run_id for row in rows])),
    )
    return [
        folder
        for folder in map(_row, found.fetchall())
        if folder.id not in known
        and any(
            row.run_id == folder.run_id and row.path.startswith(folder.path + "/") for row in rows
        )
    ]


def newest_run(connection: sqlite3.Connection) -> int:
    """Number of the run that was added last."""
    return int(connection.execute("SELECT coalesce(max(rowid), 0) FROM runs").fetchone()[0])


def _known_paths(connection: sqlite3.Connection, run_id: str) -> set[str]:
    """Paths of a run that were removed already, or that the user brought back."""
    rows = connection.execute(
        "SELECT path FROM removed_files WHERE run_id = ?1"
        " UNION ALL SELECT path FROM kept_files WHERE run_id = ?1",
        (run_id,),
    )
    return {path for (path,) in rows}


def _insert(connection: sqlite3.Connection, each: Removal) -> RemovedFile:
    now = time.time()
    values = (each.run_id, each.path, each.name, str(each.type), each.kind, each.bytes, each.rule)
    (number,) = connection.execute(
        "INSERT INTO removed_files (run_id, path, name, type, kind, bytes, rule, state, removed_at, expires_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (*values, RemovalState.NOTED, now, now + each.grace_s),
    ).fetchone()
    return RemovedFile(number, *values, RemovalState.NOTED, now, now + each.grace_s)


def _pruned(each: Removal) -> RunFact:
    data = {"kind": each.kind, "bytes": each.bytes, "rule": each.rule}
    return RunFact(
        "artifact_pruned", {"path": each.path, "reason": each.reason or each.rule, "data": data}
    )


def _announce_restored(
    connection: sqlite3.Connection, rows: Iterable[RemovedFile]
) -> list[RunRecord]:
    by_run: dict[str, list[RunFact]] = {}
    for row in rows:
        if not row.is_orphan:
            data = {"path": row.path, "kind": row.kind, "bytes": row.bytes}
            fact = RunFact("extra", {"type": FILE_RESTORED, "data": data})
            by_run.setdefault(row.run_id, []).append(fact)
    changed = []
    for run_id, facts in by_run.items():
        found = connection.execute("SELECT record FROM runs WHERE run_id = ?", (run_id,)).fetchone()
        if found is not None:
            record = RunRecord.model_validate_json(found[0])
            outbox.append_facts(connection, record, facts)
            changed.append(file_reports.mark_pending(connection, record))
    return changed


def _has_run(connection: sqlite3.Connection, each: Removal) -> bool:
    query = "SELECT 1 FROM runs WHERE run_id = ?"
    return connection.execute(query, (each.run_id,)).fetchone() is not None


def _is_kept(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether there is such a run, and it is not about to be deleted for good."""
    query = "SELECT 1 FROM runs WHERE run_id = ? AND (purge_at IS NULL OR purge_at > ?)"
    return connection.execute(query, (run_id, time.time())).fetchone() is not None


def _select(connection: sqlite3.Connection, ids: str) -> list[RemovedFile]:
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM removed_files WHERE id IN ({_ANY_OF})",  # noqa: S608 - our own words
        (ids,),
    )
    return [_row(row) for row in rows]


def _set_state(connection: sqlite3.Connection, ids: Sequence[int], state: RemovalState) -> None:
    connection.execute(
        f"UPDATE removed_files SET state = ? WHERE id IN ({_ANY_OF})",  # noqa: S608 - our own words
        (state, json.dumps(list(ids))),
    )


def _delete(connection: sqlite3.Connection, ids: Sequence[int]) -> None:
    connection.execute(
        f"DELETE FROM removed_files WHERE id IN ({_ANY_OF})",  # noqa: S608 - our own words
        (json.dumps(list(ids)),),
    )


def _ids_of(rows: Iterable[RemovedFile]) -> str:
    return json.dumps([row.id for row in rows])


def _row(row: tuple[Any, ...]) -> RemovedFile:
    found = RemovedFile(*row)
    return dataclasses.replace(found, state=RemovalState(found.state))
