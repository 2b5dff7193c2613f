"""Which runs a list shows."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import BRIEF_PAGE, ListRequest, RunIds
from mosaic_scheduler.runs.search_index import SearchIndex
from mosaic_scheduler.schema import GROUP_OF_RUN, SHOWN_STATE

_ONE_OF = {
    "run_ids": "run_id",
    "workers": "json_extract(record, '$.spec.worker')",
    "algorithms": "json_extract(record, '$.spec.algorithm')",
    "environments": "json_extract(record, '$.spec.environment')",
    "kinds": "json_extract(record, '$.spec.kind')",
}
"""Field of the request: what must be one of its values."""
_VALUES = {
    **{name: f"'$.{name}'" for name in ("name", "started_at", "ended_at")},
    "origin": "'$.spec.worker', '$.spec.algorithm', '$.spec.environment', '$.spec.kind'",
}
"""Paths of what a brief list has of each run; a key is no text of a person, as the contract has just these."""
_ONE_OF_VALUES = "{what} IN (SELECT value FROM json_each({values}))"
_STATES = (
    "state IN (SELECT value FROM json_each({values}) UNION ALL SELECT 'starting')"
    " AND {shown} IN (SELECT value FROM json_each({values}))"
)
"""The run is shown in one of the states; the first part is there for the index."""
_TAGS = (
    "NOT EXISTS (SELECT value FROM json_each({tags})"
    " EXCEPT SELECT value FROM json_each(record, '$.tags'))"
)
"""The run has all the tags that were asked for."""
_IN_NO_GROUP = (
    "NOT EXISTS (SELECT 1 FROM groups WHERE group_id = json_extract(record, '$.group.group_id'))"
)
"""A run that came from another stack may be the only one of its group: it is listed by itself."""
_TEXT = (
    "(instr(folded(run_id), ?1) OR instr(folded(json_extract(record, '$.name')), ?1)"
    " OR instr(folded(json_extract(record, '$.note')), ?1)"
    " OR EXISTS (SELECT 1 FROM json_each(record, '$.tags') WHERE instr(folded(value), ?1)))"
)


_ALL = -1
"""No limit, as SQLite writes it."""


@dataclass(frozen=True)
class RunSelection:
    """A condition with its values."""

    where: str
    values: tuple[object, ...]
    limit: int
    search: str = ""
    """What is looked for among the runs that fit the condition."""


def selection(request: ListRequest, limit: int) -> RunSelection:
    """What `request` asks for, at most `limit` runs."""
    # ?1 is the text, whether there is one or not, for it is named several times.
    values: list[object] = [(request.text or "").casefold()]
    parts = [f"json_extract(record, '$.deleted_at') IS {'NOT NULL' if request.deleted else 'NULL'}"]
    if request.text:
        parts.append(_TEXT)
    for name, what in _ONE_OF.items():
        chosen: Sequence[str] | None = getattr(request, name)
        if chosen is not None:
            values.append(json.dumps(list(chosen)))
            parts.append(_ONE_OF_VALUES.format(what=what, values=f"?{len(values)}"))
    if request.states is not None:
        values.append(json.dumps(request.states))
        parts.append(_STATES.format(shown=SHOWN_STATE, values=f"?{len(values)}"))
    if request.tags:
        values.append(json.dumps(request.tags))
        parts.append(_TAGS.format(tags=f"?{len(values)}"))
    if not request.trials:
        parts.append("json_extract(record, '$.trial') IS NULL")
    if not request.members:
        parts.append(_IN_NO_GROUP)
    if request.group is not None:
        values.append(request.group)
        parts.append(f"{GROUP_OF_RUN} = ?{len(values)}")
    if request.parent is not None:
        values.append(request.parent)
        parts.append(f"json_extract(record, '$.spec.parent') = ?{len(values)}")
    if request.before is not None:
        values.append(request.before)
        parts.append(f"run_id < ?{len(values)}")
    return RunSelection(" AND ".join(parts), tuple(values), limit, request.search)


def records(
    connection: sqlite3.Connection, wanted: RunSelection, index: SearchIndex
) -> list[RunRecord]:
    """Runs that fit, newest first.

    Raises:
        ProblemError: the search cannot be understood.
    """
    if wanted.search:
        marks = [(row[0], row[1]) for row in _rows(connection, "run_id, revision", wanted, _ALL)]
        found = json.dumps(index.select(connection, wanted.search, marks)[: wanted.limit])
        condition = "run_id IN (SELECT value FROM json_each(?1))"
        wanted = RunSelection(condition, (found,), wanted.limit)
    rows = _rows(connection, "record", wanted, wanted.limit)
    return [RunRecord.model_validate_json(record) for (record,) in rows]


def brief(
    connection: sqlite3.Connection, wanted: RunSelection, value: str | None, index: SearchIndex
) -> RunIds:
    """Ids of up to BRIEF_PAGE runs that fit, newest first, each with a value of its record if one is named.

    No record is read as a whole: of ten thousand runs that alone would take seconds.

    Raises:
        ProblemError: the search cannot be understood.
    """
    revision = ", revision" if wanted.search else ", 0"  # only a search needs to open the rows
    what = "" if value is None else f", json_extract(record, {_VALUES[value]})"
    limit = _ALL if wanted.search else BRIEF_PAGE + 1
    rows = _rows(connection, f"run_id{revision}{what}", wanted, limit)
    if wanted.search:
        found = set(index.select(connection, wanted.search, ((row[0], row[1]) for row in rows)))
        rows = [row for row in rows if row[0] in found]
    page = rows[:BRIEF_PAGE]
    return RunIds(
        run_ids=[row[0] for row in page],
        values=None if value is None else [row[2] for row in page],
        cut=len(rows) > BRIEF_PAGE,
    )


def _rows(
    connection: sqlite3.Connection, what: str, wanted: RunSelection, limit: int
) -> list[tuple[Any, ...]]:
    # `what` and `where` are made here and above of constants; whatever a person wrote is bound.
    query = f"SELECT {what} FROM runs WHERE {wanted.where} AND ?1 IS NOT NULL ORDER BY run_id DESC LIMIT {limit:d}"  # noqa: S608
    return connection.execute(query, wanted.values).fetchall()


PAGE_BYTES = 4 * 2**20
"""A page must fit one message of the broker (8 MiB), and a single spec may take 1 MiB."""


def first_that_fit(records: list[RunRecord]) -> list[RunRecord]:
    """The first of `records` that together take at most PAGE_BYTES as JSON; never none of some."""
    room = PAGE_BYTES
    for place, record in enumerate(records):
        room -= len(record.model_dump_json().encode())
        if room < 0 and place > 0:
            return records[:place]
    return records
