"""Return and length of a run's episodes over its steps, reduced by the database itself.

Episodes lie by environment and number, in which their steps rise: so each bucket is one range of the table, and nothing
has to be sorted. Half a million episodes take a quarter of the time that grouping them by step would.
"""

from __future__ import annotations

import math
import sqlite3
from bisect import bisect_left
from collections.abc import Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mosaic_contracts.curve_set import (
    BUCKET_COLUMNS,
    EPISODE_RETURN,
    POINT_COLUMNS,
    WHOLE_POINTS,
    DrawnCurve,
)
from mosaic_store.passes import MOST_PASSES, find_passes

if TYPE_CHECKING:
    import numpy.typing as npt

Bounds = tuple[int | None, int | None]
Lane = tuple[int, int, int, int]
"""Attempt, environment, first and last number of episodes."""
_ENDED = "run=? AND end_seq IS NOT NULL AND global_step BETWEEN ? AND ?"
_EVERY = (-(2**63), 2**63 - 1)
_RANGE = f"""
SELECT min(global_step), max(global_step), min(end_us), max(end_us), count(*), min({{value}}), max({{value}}),
    avg({{value}}), NULL, count(*) - count({{value}})
FROM episode WHERE {_ENDED} AND attempt=? AND env=? AND episode BETWEEN ? AND ?
"""  # noqa: S608
# A number is finite when nothing is left of it taken from itself; NULL is NaN.
_FINITE = "CASE WHEN {value} - {value} = 0 THEN {value} END"
_POINTS = (
    f"SELECT global_step, end_us, {{value}} FROM episode WHERE {_ENDED} ORDER BY attempt, end_seq"  # noqa: S608
)
_SPAN = (
    "SELECT global_step FROM episode WHERE run=? AND attempt=? AND env=? AND end_seq IS NOT NULL"
    " ORDER BY episode ASC LIMIT 1",
    "SELECT global_step FROM episode WHERE run=? AND attempt=? AND env=? AND end_seq IS NOT NULL"
    " ORDER BY episode DESC LIMIT 1",
)
"""First and last step at which an episode of an environment ended."""
_SAMPLE = (
    "SELECT global_step FROM episode WHERE run=? AND attempt=? AND env=? AND episode >= ? AND end_seq IS NOT NULL"
    " ORDER BY episode LIMIT 1"
)
_STEPS = (
    "SELECT episode, global_step FROM episode WHERE run=? AND attempt=? AND env=? AND end_seq IS NOT NULL"
    " ORDER BY episode"
)
_NEWEST = """
SELECT {value} FROM (SELECT * FROM episode WHERE run=? ORDER BY attempt DESC, start_seq DESC LIMIT 1000)
WHERE end_seq IS NOT NULL ORDER BY attempt DESC, end_seq DESC LIMIT 1
"""
"""Looks at the last episodes to begin, for several environments end theirs in another order."""


def read_episode_curve(
    db: sqlite3.Connection, run_id: str, name: str, buckets: int, bounds: Bounds
) -> DrawnCurve | None:
    """The curve, whole or in about so many buckets; None while no episode has ended."""
    row = db.execute("SELECT id, episodes FROM run WHERE run_id=?", (run_id,)).fetchone()
    if row is None or not row[1]:
        return None
    value = "episode_return" if name == EPISODE_RETURN else "length"
    limits = tuple(_EVERY[i] if bound is None else bound for i, bound in enumerate(bounds))
    if row[1] <= WHOLE_POINTS:
        found = db.execute(_POINTS.format(value=value), (row[0], *limits)).fetchall()
        columns = _columns(found, POINT_COLUMNS, scaled=(1,))
        return DrawnCurve(name=name, points=len(found), reduced=False, columns=columns)
    parts = _in_passes(db, row[0], _lanes(db, row[0]), buckets)
    last = max(number for number, _ in parts)
    numbered: list[tuple[int, list[Any]]] = []
    for number, place in _ranges(parts, buckets):
        made = _read_range(db, (row[0], *limits, *place), value)
        if made[4]:
            numbered.append((number, made))
    numbered.sort(key=lambda one: (one[0], one[1][0]))
    rows = [one for _, one in numbered]
    for one in rows:
        if one[7] is not None and not math.isfinite(one[7]):
            one[7] = one[5] / 2 + one[6] / 2  # the sum of finite numbers was none
        one[8] = one[7]  # a range's own newest value is not known
    if rows and bounds[1] is None:
        # of all episodes it is, and that is the one that is shown
        (rows[-1][8],) = db.execute(_NEWEST.format(value=value), (row[0],)).fetchone() or (None,)
    return DrawnCurve(
        name=name,
        points=sum(one[4] for one in rows),
        reduced=True,
        passes=_begins([number for number, _ in numbered], last),
        columns=_columns(rows, BUCKET_COLUMNS, scaled=(2, 3)),
    )


def _read_range(db: sqlite3.Connection, place: Sequence[int], value: str) -> list[Any]:
    """A row of BUCKET_COLUMNS."""
    (made,) = db.execute(_RANGE.format(value=value), place)
    if made[4] > made[9] and (made[7] is None or not math.isfinite(made[7])):
        # an infinity among them: rare, and looking for it at each costs three times as much
        (made,) = db.execute(_RANGE.format(value=_FINITE.format(value=value)), place)
    return list(made)


def _lanes(db: sqlite3.Connection, run: int) -> list[Lane]:
    """Attempt, environment, first and last number of all episodes."""
    lanes: list[Lane] = []
    place = (-1, -1)
    while True:
        # from one environment to the next by the index: their number is small, that of their episodes is not
        found = db.execute(
            "SELECT attempt, env, episode FROM episode WHERE run=? AND (attempt, env) > (?, ?)"
            " ORDER BY attempt, env, episode LIMIT 1",
            (run, *place),
        ).fetchone()
        if found is None:
            return lanes
        place = found[:2]
        last = db.execute(
            "SELECT max(episode) FROM episode WHERE run=? AND attempt=? AND env=?", (run, *place)
        ).fetchone()[0]
        lanes.append((*place, found[2], last))


def _in_passes(
    db: sqlite3.Connection, run: int, lanes: Sequence[Lane], buckets: int
) -> list[tuple[int, Lane]]:
    """Lanes cut where their steps go back, each part with the number of its pass.

    An attempt begins a pass when its first episode ends below a step reached before.
    """
    found: list[tuple[int, Lane]] = []
    share = max(1, buckets // max(1, len(lanes)))
    newest, reached = 0, _EVERY[0]
    for _, attempt in groupby(lanes, key=itemgetter(0)):
        parts = [part for lane in attempt for part in _cut(db, run, lane, share)]
        before = newest
        lowest = min((p.span[0] for p in parts if p.span and p.number == 0), default=reached)
        first = before + 1 if lowest < reached else before
        found += [(first + part.number, part.lane) for part in parts]
        newest = first + max(part.number for part in parts)
        highest = [p.span[1] for p in parts if p.span and first + p.number == newest]
        reached = max(highest, default=reached) if newest > before else max([reached, *highest])
    return sorted(found)


class _EpisodePart(NamedTuple):
    """Episodes of a lane within one pass of it."""

    number: int
    lane: Lane
    span: tuple[int, int] | None
    """Steps at which its first and its last episode ended; None: none has."""


def _cut(db: sqlite3.Connection, run: int, lane: Lane, samples: int) -> list[_EpisodePart]:
    """A lane in passes. Every step is read only where samples fall: a fall between two samples fills one bucket."""
    attempt, env, first, last = lane
    span = tuple(db.execute(query, (run, attempt, env)).fetchone() for query in _SPAN)
    if None in span:
        return [_EpisodePart(0, lane, None)]
    whole = _EpisodePart(0, lane, (span[0][0], span[1][0]))
    width = max(1, (last - first + 1) // samples)
    places = [(run, attempt, env, number) for number in range(first, last + 1, width)]
    sampled = [row[0] for place in places if (row := db.execute(_SAMPLE, place).fetchone())]
    if all(a <= b for a, b in pairwise(sampled)):
        return [whole]
    rows = np.array(db.execute(_STEPS, (run, attempt, env)).fetchall(), np.int64).reshape(-1, 2)
    numbers, steps = rows[:, 0], rows[:, 1]
    edges = [0, *find_passes(steps, steps, np.ones(len(steps), np.int64)), len(steps)]
    if not 2 < len(edges) <= min(MOST_PASSES, samples // 2) + 1:
        return [whole]
    return [
        _EpisodePart(
            number,
            (attempt, env, int(numbers[a]), int(numbers[b - 1])),
            (int(steps[a]), int(steps[b - 1])),
        )
        for number, (a, b) in enumerate(pairwise(edges))
    ]


def _ranges(parts: Sequence[tuple[int, Lane]], buckets: int) -> list[tuple[int, Lane]]:
    """The episodes of each bucket, with the number of their pass."""
    ranges = []
    share = max(1, buckets // max(1, len(parts)))
    for number, (attempt, env, first, last) in parts:
        width = -(-(last - first + 1) // share)
        for low in range(first, last + 1, width):
            ranges.append((number, (attempt, env, low, min(low + width - 1, last))))
    return ranges


def _begins(numbers: Sequence[int], last: int) -> list[int]:
    """The first row of each pass, by the ascending numbers of the rows; none where there is one pass."""
    return [bisect_left(numbers, number) for number in range(last + 1)] if last else []


def _columns(
    rows: Sequence[Sequence[Any]], names: Sequence[str], scaled: Sequence[int]
) -> dict[str, bytes]:
    """Rows as packed columns; those at `scaled` are microseconds and become seconds."""
    table: npt.NDArray[np.float64] = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    table[:, list(scaled)] /= 1e6
    return {
        name: np.ascontiguousarray(table[:, n], "<f8").tobytes() for n, name in enumerate(names)
    }
