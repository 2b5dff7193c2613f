"""Which runs a list shows."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import BRIEF_PAGE, ListRequest, RunIds

_ONE_OF = {
    "states": "state",
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
_TAGS = (
    "NOT EXISTS (SELECT value FROM json_each({tags})"
    " EXCEPT SELECT value FROM json_each(record, '$.tags'))"
)
"""The run has all the tags that were asked for."""
_TEXT = (
    "(instr(folded(run_id), ?1) OR instr(folded(json_extract(record, '$.name')), ?1)"
    " OR instr(folded(json_extract(record, '$.note')), ?1)"
    " OR EXISTS (SELECT 1 FROM json_each(record, '$.tags') WHERE instr(folded(value), ?1)))"
)


@dataclass(frozen=True)
class RunSelection:
    """A condition with its values."""

    where: str
    values: tuple[object, ...]
    limit: int


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
    if request.tags:
        values.append(json.dumps(request.tags))
        parts.append(_TAGS.format(tags=f"?{len(values)}"))
    if not request.trials:
        parts.append("json_extract(record, '$.trial') IS NULL")
    if request.parent is not None:
        values.append(request.parent)
        parts.append(f"json_extract(record, '$.spec.parent') = ?{len(values)}")
    if request.before is not None:
        values.append(request.before)
        parts.append(f"run_id < ?{len(values)}")
    return RunSelection(" AND ".join(parts), tuple(values), limit)


def records(connection: sqlite3.Connection, wanted: RunSelection) -> list[RunRecord]:
    """Runs that fit, newest first."""
    rows = _rows(connection, "record", wanted, wanted.limit)
    return [RunRecord.model_validate_json(record) for (record,) in rows]


def brief(connection: sqlite3.Connection, wanted: RunSelection, value: str | None) -> RunIds:
    """Ids of up to BRIEF_PAGE runs that fit, newest first, each with a value of its record if one is named.

    No record is read as a whole: of ten thousand runs that alone would take seconds.
    """
    what = "run_id" if value is None else f"run_id, json_extract(record, {_VALUES[value]})"
    rows = _rows(connection, what, wanted, BRIEF_PAGE + 1)
    page = rows[:BRIEF_PAGE]
    return RunIds(
        run_ids=[row[0] for row in page],
        values=None if value is None else [row[1] for row in page],
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
