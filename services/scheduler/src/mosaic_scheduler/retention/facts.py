"""What retention has to know of runs: read from the database in one go, without validating whole records."""

import json
import re
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from mosaic_contracts.choices import RecordLevel, RunKind
from mosaic_contracts.states import RunState
from mosaic_contracts.storage_words import KeptReason
from mosaic_scheduler.runs.file_reports import FilesState

_RUN_ID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_REFERENCE = re.compile(rf'"({_RUN_ID.pattern})/((?:[^"\\]|\\.)+)"')
"""A checkpoint as a spec names it: RUN/PATH."""


class StoredRunRow(NamedTuple):
    """A run as the database has it."""

    run_id: str
    revision: int
    state: str
    pending: int
    files_state: int
    record: str


@dataclass(frozen=True)
class RetainedRun:
    """What rules need to know of a run."""

    run_id: str
    revision: int
    name: str
    worker: str
    algorithm: str
    environment: str
    kind: RunKind
    state: RunState
    ended_at: float | None
    """Seconds since the epoch."""
    is_pinned: bool
    is_deleted: bool
    pinned_files: frozenset[str]
    """Paths of files that stay one by one."""
    profile: str | None
    replay_every: int | None
    """Steps of every n-th episode were recorded; None: no steps."""
    has_report: bool
    """Whether its files were listed after its end, at least without the digests of large ones."""
    is_listed: bool
    """Whether that is complete."""
    kept: tuple[KeptReason, str] | None
    """Why nothing of it goes, with the same in words."""
    needed: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Paths of checkpoints that other runs began with, and a run that did."""

    @property
    def group(self) -> tuple[str, str, str]:
        """Runs of one group are compared with each other."""
        return self.worker, self.algorithm, self.environment


def read_rows(connection: sqlite3.Connection) -> list[StoredRunRow]:
    """Every run."""
    query = "SELECT run_id, revision, state, pending, files_state, record FROM runs ORDER BY run_id"
    return [StoredRunRow(*row) for row in connection.execute(query)]


def read_facts(rows: Iterable[StoredRunRow]) -> list[RetainedRun]:
    """StorageFacts of runs that are not derived from others. A second for 10,000 runs: call it in a thread."""
    parsed = [(row, json.loads(row.record)) for row in rows]
    unfinished = {row.run_id for row, _ in parsed if not RunState(row.state).is_final}
    needed: dict[str, dict[str, str]] = {}
    users: dict[str, str] = {}
    for row, record in parsed:
        for run_id, path in references(row.record):
            if run_id != row.run_id:
                needed.setdefault(run_id, {}).setdefault(path, str(record.get("name")))
        if row.run_id in unfinished:
            for run_id in mentioned(record):
                users.setdefault(run_id, str(record.get("name")))
    return [
        _facts(row, record, needed.get(row.run_id, {}), users.get(row.run_id), unfinished)
        for row, record in parsed
        if not RunKind(record["spec"].get("kind", RunKind.TRAIN)).is_derived
    ]


def references(record: str) -> set[tuple[str, str]]:
    """Checkpoints that a record names, as run and path."""
    return {(run_id, json.loads(f'"{path}"')) for run_id, path in _REFERENCE.findall(record)}


def mentioned(record: Mapping[str, Any]) -> set[str]:
    """Ids of other runs that a run's spec names anywhere: as parent, in a parameter, as what it replays or shows."""
    return set(_RUN_ID.findall(json.dumps(record["spec"]))) - {str(record["run_id"])}


def _facts(
    row: StoredRunRow,
    record: Mapping[str, Any],
    needed: Mapping[str, str],
    user: str | None,
    unfinished: set[str],
) -> RetainedRun:
    spec = record["spec"]
    level = RecordLevel(spec.get("record", RecordLevel.REPLAY))
    ended = record.get("end_recorded_at") or record.get("ended_at")
    return RetainedRun(
        run_id=row.run_id,
        revision=row.revision,
        name=str(record.get("name", "")),
        worker=spec["worker"],
        algorithm=spec["algorithm"],
        environment=spec["environment"],
        kind=RunKind(spec.get("kind", RunKind.TRAIN)),
        state=RunState(row.state),
        ended_at=None if ended is None else datetime.fromisoformat(ended).timestamp(),
        is_pinned=bool(record.get("pinned")),
        pinned_files=frozenset(record.get("pinned_files") or ()),
        is_deleted=record.get("deleted_at") is not None,
        profile=record.get("storage_profile"),
        replay_every=int(spec.get("replay_every", 1)) if level.has_steps else None,
        has_report=row.files_state in (FilesState.DIGESTS_DUE, FilesState.DONE),
        is_listed=row.files_state == FilesState.DONE,
        kept=_kept(row, record, user, unfinished),
        needed=needed,
    )


def _kept(
    row: StoredRunRow, record: Mapping[str, Any], user: str | None, unfinished: set[str]
) -> tuple[KeptReason, str] | None:
    if record.get("pinned"):
        return KeptReason.PINNED, "the run is pinned"
    if not RunState(row.state).is_final:
        return KeptReason.NOT_ENDED, "the run has not ended"
    if record.get("deleted_at") is not None:
        return KeptReason.ARCHIVED, "the run was deleted, and can still be restored"
    if record.get("trial") and record["spec"].get("parent") in unfinished:
        return KeptReason.TRIAL, "its sweep has not ended"
    if user is not None:
        return KeptReason.IN_USE, f"the run {user!r} uses it and has not ended"
    if row.files_state == FilesState.NONE:
        return KeptReason.PENDING, "its files are not listed yet"
    # Events of earlier removals may be on their way too: what they name is known from the database.
    if row.pending or row.files_state != FilesState.DONE:
        return KeptReason.PENDING, "events of it are on their way to the store"
    return None
