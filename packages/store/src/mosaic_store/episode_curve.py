"""Return and length of a run's episodes over its steps, reduced by the database itself."""

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

_ENDED = "run=? AND end_seq IS NOT NULL AND global_step BETWEEN ? AND ?"
_EVERY = (-(2**63), 2**63 - 1)
# A number is finite when it does not change as it is taken from itself; NULL is NaN.
_BUCKETS = f"""
SELECT min(step), max(step), min(t), max(t), count(*), min(finite), max(finite), avg(finite),
    count(*) - count(finite)
FROM (SELECT global_step AS step, end_us AS t,
        CASE WHEN {{value}} - {{value}} = 0 THEN {{value}} END AS finite
    FROM episode WHERE {_ENDED})
GROUP BY (step - ?) / ? ORDER BY 1
"""  # noqa: S608 - our own words
_POINTS = (
    f"SELECT global_step, end_us, {{value}} FROM episode WHERE {_ENDED} ORDER BY attempt, end_seq"  # noqa: S608
)
_SPAN = f"SELECT count(*), min(global_step), max(global_step) FROM episode WHERE {_ENDED}"  # noqa: S608
_NEWEST = """
SELECT {value} FROM (SELECT * FROM episode WHERE run=? ORDER BY attempt DESC, start_seq DESC LIMIT 1000)
WHERE end_seq IS NOT NULL ORDER BY attempt DESC, end_seq DESC LIMIT 1
"""
"""Of the last episodes to begin, for several environments end theirs in another order."""


def read_episode_curve(
    db: sqlite3.Connection,
    run_id: str,
    name: str,
    buckets: int,
    bounds: tuple[int | None, int | None],
) -> DrawnCurve | None:
    """The curve, whole or in buckets of equal width; None while no episode has ended."""
    row = db.execute("SELECT id, episodes FROM run WHERE run_id=?", (run_id,)).fetchone()
    if row is None or not row[1]:
        return None
    value = "episode_return" if name == EPISODE_RETURN else "length"
    limits = tuple(_EVERY[i] if bound is None else bound for i, bound in enumerate(bounds))
    if row[1] <= WHOLE_POINTS:
        found = db.execute(_POINTS.format(value=value), (row[0], *limits)).fetchall()
        columns = _columns(found, POINT_COLUMNS, scaled=(1,))
        return DrawnCurve(name=name, points=len(found), reduced=False, columns=columns)
    count, low, high = db.execute(_SPAN, (row[0], *limits)).fetchone()
    found = []
    if count:
        width = max(1, -(-(high - low + 1) // buckets))
        query = _BUCKETS.format(value=value)
        found = db.execute(query, (row[0], *limits, low, width)).fetchall()
    # a bucket's own newest value is not known; of all it is, and that is the one that is shown
    rows = [[*one[:8], one[7], one[8]] for one in found]
    if rows and bounds[1] is None:
        (rows[-1][8],) = db.execute(_NEWEST.format(value=value), (row[0],)).fetchone() or (None,)
    columns = _columns(rows, BUCKET_COLUMNS, scaled=(2, 3))
    return DrawnCurve(name=name, points=count, reduced=True, columns=columns)


def _columns(
    rows: Sequence[Sequence[Any]], names: Sequence[str], scaled: Sequence[int]
) -> dict[str, bytes]:
    """Rows as packed columns; those at `scaled` are microseconds and become seconds."""
    table: npt.NDArray[np.float64] = np.array(rows, dtype=np.float64).reshape(-1, len(names))
    table[:, list(scaled)] /= 1e6
    return {
        name: np.ascontiguousarray(table[:, n], "<f8").tobytes() for n, name in enumerate(names)
    }
