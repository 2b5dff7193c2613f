"""Points of metrics behind a cursor, each once, in the order in which they were recorded."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from mosaic_contracts.cursor import Cursor, format_cursor
from mosaic_store.batch_summary import NO_STEP
from mosaic_store.curve import read_chunk
from mosaic_store.points import Columns, in_order
from mosaic_store.series import read_tails
from mosaic_store.sources import Source, read_sources


class PointsOfMetric(NamedTuple):
    """New points of one metric of one attempt; a point without a step is left out."""

    attempt: int
    name: str
    steps: list[int]
    values: list[float]


class NewPoints(NamedTuple):
    """One page, and how far it reached."""

    points: list[PointsOfMetric]
    cursor: str
    has_more: bool


class NewColumns(NamedTuple):
    """One page as columns: attempt, metric, points with a step."""

    columns: list[tuple[int, str, Columns]]
    cursor: str
    has_more: bool


def read_new_points(
    db: sqlite3.Connection,
    run_id: str,
    names: Sequence[str],
    cursor: Cursor,
    limit: int,
    contiguous: bool,
) -> NewPoints:
    """At most about `limit` points behind `cursor`. `contiguous`: none behind a hole of its source."""
    page = read_new_columns(db, run_id, names, cursor, limit, contiguous)
    points = [
        PointsOfMetric(attempt, name, one["step"].tolist(), one["value"].tolist())
        for attempt, name, one in page.columns
    ]
    return NewPoints(points, page.cursor, page.has_more)


def read_new_columns(
    db: sqlite3.Connection,
    run_id: str,
    names: Sequence[str],
    cursor: Cursor,
    limit: int,
    contiguous: bool,
) -> NewColumns:
    """The same as columns."""
    position = dict(cursor)
    columns: list[tuple[int, str, Columns]] = []
    for source in read_sources(db, run_id, contiguous):
        after = position.get(source.key, 0)
        if source.end <= after:
            continue
        if limit <= 0:
            return NewColumns(columns, format_cursor(position), has_more=True)
        found, reach = _of_source(db, source, names, after, limit)
        position[source.key] = reach
        limit -= sum(len(one) for one in found.values())
        columns += _with_steps(source.key[0], found)
        if reach < source.end:
            return NewColumns(columns, format_cursor(position), has_more=True)
    return NewColumns(columns, format_cursor(position), has_more=False)


def _with_steps(attempt: int, found: dict[str, Columns]) -> Iterator[tuple[int, str, Columns]]:
    for name, columns in found.items():
        known = columns[columns["step"] != NO_STEP]
        if len(known):
            yield attempt, name, known


def _of_source(
    db: sqlite3.Connection, source: Source, names: Sequence[str], after: int, limit: int
) -> tuple[dict[str, Columns], int]:
    """Points of a source up to a seq, and that seq."""
    rows = db.execute(
        "SELECT id, name FROM series WHERE source=? AND last_seq>?"
        " AND name IN (SELECT value FROM json_each(?)) ORDER BY name",
        (source.id, after, json.dumps(list(names))),
    ).fetchall()
    found: dict[str, Columns] = {}
    reach = source.end
    for series, name in rows:
        found[name], series_reach = _of_series(db, series, after, source.end, limit)
        reach = min(reach, series_reach)
    if not found:
        return found, reach
    seqs = np.sort(np.concatenate([columns["seq"] for columns in found.values()]))
    seqs = seqs[seqs <= reach]
    if len(seqs) > limit:
        reach = int(seqs[limit - 1])
    return {name: one[one["seq"] <= reach] for name, one in found.items()}, reach


def _of_series(
    db: sqlite3.Connection, series: int, after: int, end: int, limit: int
) -> tuple[Columns, int]:
    """Points of a series behind a seq, and the seq up to which none is missing."""
    parts: list[Columns] = []
    count, reached = 0, after
    for first, last in db.execute(
        "SELECT seq_min, seq_max FROM chunk WHERE series=? AND seq_max>? ORDER BY seq_min",
        (series, after),
    ).fetchall():
        # Chunks overlap where a late batch filled a hole.
        if count > limit and first > reached:
            end = min(end, reached)
            break
        columns = read_chunk(db, series, first)
        parts.append(columns)
        count += int(np.count_nonzero(columns["seq"] > after))
        reached = max(reached, last)
    else:
        parts.append(read_tails(db, series))
    columns = in_order(np.concatenate(parts))
    seq = columns["seq"]
    return columns[(seq > after) & (seq <= end)], end
