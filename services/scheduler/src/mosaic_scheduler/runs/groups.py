"""Groups in the database. A row says what was asked for; all else follows from the records of its runs."""

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from mosaic_contracts.group_words import GroupKind
from mosaic_contracts.groups import GroupSpec, GroupView
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_scheduler.schema import GROUP_OF_RUN, SHOWN_STATE

_INSERT = """
INSERT INTO groups (group_id, name, spec, places, created_at) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (group_id) DO NOTHING
"""
_GROUPS = """
SELECT group_id, name, spec, places, created_at FROM groups
WHERE substr(group_id, 2) < ?1 ORDER BY group_id DESC LIMIT ?2
"""
_SWEEPS = f"""
SELECT record FROM runs WHERE json_extract(record, '$.spec.kind') = '{RunKind.SWEEP.value}'
AND json_extract(record, '$.deleted_at') IS NULL AND run_id < ?1 ORDER BY run_id DESC LIMIT ?2
"""  # noqa: S608 - a word of ours
_MEMBERS = f"""
SELECT {GROUP_OF_RUN}, run_id, {SHOWN_STATE},
    coalesce(json_extract(record, '$.group.place'), json_extract(record, '$.trial')),
    json_extract(record, '$.deleted_at') IS NOT NULL
FROM runs WHERE {GROUP_OF_RUN} IN (SELECT value FROM json_each(?)) ORDER BY run_id
"""  # noqa: S608 - an expression of ours
_LAST = "~"
"""Comes behind every id."""


@dataclass(frozen=True)
class GroupRow:
    """What was asked for."""

    group_id: str
    name: str
    spec: GroupSpec
    created_at: datetime


@dataclass(frozen=True)
class _Member:
    run_id: str
    state: RunState
    place: int | str
    deleted: bool


def insert(connection: sqlite3.Connection, row: GroupRow) -> None:
    """Add a group, inside the transaction that adds its runs. One that is there stays as it is."""
    values = (row.group_id, row.name, row.spec.model_dump_json(exclude_unset=True), row.spec.size)
    connection.execute(_INSERT, (*values, row.created_at.isoformat()))


def forget_empty(connection: sqlite3.Connection) -> None:
    """Delete the groups of which no run is left."""
    connection.execute(
        f"DELETE FROM groups WHERE NOT EXISTS (SELECT 1 FROM runs WHERE {GROUP_OF_RUN} = group_id)"  # noqa: S608 - ours
    )


def page(
    connection: sqlite3.Connection, before: str | None, limit: int
) -> tuple[list[GroupView], str | None]:
    """Groups and sweeps that are not deleted, newest first, and where the next page begins."""
    found: list[GroupView] = []
    last = before or _LAST
    while True:
        batch = _batch(connection, last, limit)
        shown = [view for view in batch if not view.deleted]
        if len(found) + len(shown) > limit:
            found += shown[: limit - len(found)]
            return found, _moment_of(found[-1].group_id)
        found += shown
        if len(batch) < limit:
            return found, None
        last = _moment_of(batch[-1].group_id)


def find(connection: sqlite3.Connection, group_id: str) -> GroupView | None:
    """One group or sweep; None: there is none."""
    row = connection.execute(
        "SELECT group_id, name, spec, places, created_at FROM groups WHERE group_id = ?",
        (group_id,),
    ).fetchone()
    if row is not None:
        return _with_members(connection, [_group(row)])[0]
    row = connection.execute("SELECT record FROM runs WHERE run_id = ?", (group_id,)).fetchone()
    record = None if row is None else json.loads(row[0])
    if record is None or record["spec"].get("kind") != RunKind.SWEEP:
        return None
    return _with_members(connection, [_sweep(record)])[0]


def newest_runs(connection: sqlite3.Connection, group_id: str) -> list[RunRecord]:
    """The runs of a group that count, in the order of their places."""
    members = _members(connection, [group_id]).get(group_id, [])
    ids = json.dumps([member.run_id for member in _newest(members)])
    rows = connection.execute(
        "SELECT run_id, record FROM runs WHERE run_id IN (SELECT value FROM json_each(?))", (ids,)
    )
    records = {run_id: RunRecord.model_validate_json(record) for run_id, record in rows}
    return [records[run_id] for run_id in json.loads(ids)]


def all_runs(connection: sqlite3.Connection, group_id: str) -> list[str]:
    """Ids of all runs of a group, also of those that were tried again, oldest first."""
    return [member.run_id for member in _members(connection, [group_id]).get(group_id, [])]


def _batch(connection: sqlite3.Connection, last: str, limit: int) -> list[GroupView]:
    groups = [_group(row) for row in connection.execute(_GROUPS, (last, limit))]
    sweeps = [_sweep(json.loads(row[0])) for row in connection.execute(_SWEEPS, (last, limit))]
    found = sorted([*groups, *sweeps], key=lambda view: _moment_of(view.group_id), reverse=True)
    return _with_members(connection, found[:limit])


def _moment_of(group_id: str) -> str:
    """What groups and sweeps are sorted by: their ULID."""
    return group_id.removeprefix("g")


def _group(row: Sequence[Any]) -> GroupView:
    group_id, name, text, places, created_at = row
    spec = json.loads(text)
    run = spec["run"]
    return GroupView(
        group_id=group_id,
        kind=GroupKind.GROUP,
        name=name,
        created_at=created_at,
        worker=str(run.get("worker", "")),
        algorithm=str(run.get("algorithm", "")),
        environments=spec.get("environments") or [str(run.get("environment", ""))],
        total=places,
        spec=spec,
    )


def _sweep(record: dict[str, Any]) -> GroupView:
    sweep = record["spec"]["sweep"]
    run = sweep["run"]
    return GroupView(
        group_id=record["run_id"],
        kind=GroupKind.SWEEP,
        name=record["name"],
        created_at=record["created_at"],
        worker=str(run.get("worker", "")),
        algorithm=str(run.get("algorithm", "")),
        environments=sweep.get("environments") or [str(run.get("environment", ""))],
        total=(record.get("progress") or {}).get("total"),
        deleted=record.get("deleted_at") is not None,
    )


def _with_members(connection: sqlite3.Connection, views: list[GroupView]) -> list[GroupView]:
    members = _members(connection, [view.group_id for view in views])
    found = []
    for view in views:
        own = members.get(view.group_id, [])
        newest = _newest(own)
        changes: dict[str, Any] = {
            "counts": dict(Counter(member.state for member in newest)),
            "run_ids": [member.run_id for member in newest],
        }
        if view.kind is GroupKind.GROUP:
            changes["deleted"] = not newest
        found.append(view.model_copy(update=changes))
    return found


def _members(connection: sqlite3.Connection, ids: list[str]) -> dict[str, list[_Member]]:
    found: dict[str, list[_Member]] = {}
    for group, run_id, state, place, deleted in connection.execute(_MEMBERS, (json.dumps(ids),)):
        member = _Member(run_id, RunState(state), place, bool(deleted))
        found.setdefault(group, []).append(member)
    return found


def _newest(members: list[_Member]) -> list[_Member]:
    """The newest run of each place that is not deleted."""
    by_place = {member.place: member for member in members if not member.deleted}
    return sorted(by_place.values(), key=lambda member: (str(type(member.place)), member.place))
