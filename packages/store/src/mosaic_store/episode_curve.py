"""Return and length of a run's episodes over its steps, reduced by the database itself.

Episodes lie by environment and number, in which their steps rise: so each bucket is one range of the table, and nothing
has to be sorted. Half a million episodes take a quarter of the time that grouping them by step would.
"""

import math
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mosaic_contracts.curve_set import (
    BUCKET_COLUMNS,
    EPISODE_RETURN,
    POINT_COLUMNS,
    WHOLE_POINTS,
    DrawnCurve,
)

Bounds = tuple[int | None, int | None]
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
_NEWEST = """
SELECT {value} FROM (SELECT * FROM episode WHERE run=? ORDER BY attempt DESC, start_seq DESC LIMIT 1000)
WHERE end_seq IS NOT NULL ORDER BY attempt DESC, end_seq DESC LIMIT 1
"""
"""Of the last episodes to begin, for several environments end theirs in another order."""


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
    query, rows = _RANGE.format(value=value), []
    careful = _RANGE.format(value=_FINITE.format(value=value))
    for place in _ranges(db, row[0], buckets):
        (made,) = db.execute(query, (row[0], *limits, *place))
        if made[4] > made[9] and (made[7] is None or not math.isfinite(made[7])):
            # an infinity among them: rare, and looking for it at each costs three times as much
            (made,) = db.execute(careful, (row[0], *limits, *place))
        if made[4]:
            rows.append(list(made))
    rows.sort(key=lambda one: one[0])
    for one in rows:
        if one[7] is not None and not math.isfinite(one[7]):
            one[7] = one[5] / 2 + one[6] / 2  # the sum of finite numbers was none
        one[8] = one[7]  # a range's own newest value is not known
    if rows and bounds[1] is None:
        # of all episodes it is, and that is the one that is shown
        (rows[-1][8],) = db.execute(_NEWEST.format(value=value), (row[0],)).fetchone() or (None,)
    count = sum(one[4] for one in rows)
    columns = _columns(rows, BUCKET_COLUMNS, scaled=(2, 3))
    return DrawnCurve(name=name, points=count, reduced=True, columns=columns)


def _ranges(db: sqlite3.Connection, run: int, buckets: int) -> list[tuple[int, int, int, int]]:
    """Attempt, environment, first and last number of the episodes of each bucket."""
    lanes: list[tuple[int, int, int, int]] = []
    place = (-1, -1)
    while True:
        # from one environment to the next by the index: their number is small, that of their episodes is not
        found = db.execute(
            "SELECT attempt, env, episode FROM episode WHERE run=? AND (attempt, env) > (?, ?)"
            " ORDER BY attempt, env, episode LIMIT 1",
            (run, *place),
        ).fetchone()
        if found is None:
            break
        place = found[:2]
        last = db.execute(
            "SELECT max(episode) FROM episode WHERE run=? AND attempt=? AND env=?", (run, *place)
        ).fetchone()[0]
        lanes.append((*place, found[2], last))
    ranges = []
    share = max(1, buckets // max(1, len(lanes)))
    for attempt, env, first, last in lanes:
        width = -(-(last - first + 1) // share)
        for low in range(first, last + 1, width):
            ranges.append((attempt, env, low, low + width - 1))
    return ranges


def _columns(
    rows: Sequence[Sequence[Any]], names: Sequence[str], scaled: Sequence[int]
) -> dict[str, bytes]:
    """Rows as packed columns; those at `scaled` are microseconds and become seconds."""
    table: npt.NDArray[np.float64] = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    table[:, list(scaled)] /= 1e6
    return {
        name: np.ascontiguousarray(table[:, n], "<f8").tobytes() for n, name in enumerate(names)
    }
