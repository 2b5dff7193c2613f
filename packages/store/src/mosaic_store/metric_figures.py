"""Newest, lowest, highest and mean value of a metric in many runs at once."""

from __future__ import annotations

import math
import sqlite3
import struct
from collections.abc import Container
from threading import Lock
from typing import NamedTuple

import numpy as np

from mosaic_contracts.run_search import MetricFigures
from mosaic_store.points import Columns, Groups, group_type
from mosaic_store.series import read_tails

_SERIES = """
SELECT run.run_id, series.id, series.points, series.last_value FROM run
JOIN source ON source.run = run.id JOIN series ON series.source = source.id AND series.name = ?
ORDER BY run.id, source.attempt, series.last_seq
"""
_NAMES_OF_RUNS = """
SELECT DISTINCT name FROM series JOIN source ON source.id = series.source
WHERE source.run IN (SELECT id FROM run ORDER BY id DESC LIMIT ?)
"""
_NEWEST = 200
"""Runs whose metrics are looked at first; the names of all metrics take a look at every series."""


class _Extremes(NamedTuple):
    """Figures of the finite points of one series."""

    min: float
    max: float
    sum: float
    n: int


class MetricFigureReader:
    """Reads figures of metrics. What it read of a series is kept until that has more points."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[int, _Extremes]] = {}
        self._lock = Lock()

    def names(self, db: sqlite3.Connection, *, newest: bool) -> list[str]:
        """Names of metrics: of the newest runs, or of all."""
        query = _NAMES_OF_RUNS if newest else "SELECT DISTINCT name FROM series"
        return [name for (name,) in db.execute(query, (_NEWEST,) if newest else ())]

    def read(
        self, db: sqlite3.Connection, name: str, run_ids: Container[str], *, only_last: bool
    ) -> dict[str, MetricFigures]:
        """Figures of a metric, by run.

        Args:
            db: the store.
            name: whole name of the metric.
            run_ids: runs to look at.
            only_last: whether the newest value is enough; the others are None then.
        """
        last: dict[str, float] = {}
        parts: dict[str, list[_Extremes]] = {}
        for run_id, series, points, value in db.execute(_SERIES, (name,)).fetchall():
            if run_id not in run_ids:
                continue
            (last[run_id],) = struct.unpack("<d", value)
            if not only_last:
                found = self._extremes(db, run_id, series, points)
                parts.setdefault(run_id, []).append(found)
        return {
            run_id: MetricFigures(value, *_merged(parts.get(run_id, [])))
            for run_id, value in last.items()
        }

    def _extremes(self, db: sqlite3.Connection, run_id: str, series: int, points: int) -> _Extremes:
        key = (run_id, series)
        with self._lock:
            known = self._known.get(key)
        if known is not None and known[0] == points:
            return known[1]
        found = _read_extremes(db, series)
        with self._lock:
            self._known[key] = (points, found)
        return found


def _read_extremes(db: sqlite3.Connection, series: int) -> _Extremes:
    blobs = db.execute("SELECT groups FROM chunk WHERE series=?", (series,))
    groups: Groups = np.frombuffer(b"".join(blob for (blob,) in blobs), group_type())
    tails: Columns = read_tails(db, series)
    values = tails["value"][np.isfinite(tails["value"])]
    finite = groups["n"] - groups["nan"] - groups["inf"]
    whole = groups[finite > 0]
    counts = finite[finite > 0]
    least = [
        *([whole["min"].min()] if len(whole) else []),
        *([values.min()] if len(values) else []),
    ]
    most = [*([whole["max"].max()] if len(whole) else []), *([values.max()] if len(values) else [])]
    total = float((whole["mean"] * counts).sum()) + float(values.sum())
    return _Extremes(
        float(min(least, default=math.inf)),
        float(max(most, default=-math.inf)),
        total,
        int(counts.sum()) + len(values),
    )


def _merged(parts: list[_Extremes]) -> tuple[float | None, float | None, float | None]:
    """Lowest, highest and mean value; None: there is no finite one."""
    n = sum(part.n for part in parts)
    if not n:
        return None, None, None
    total = sum(part.sum for part in parts)
    return min(part.min for part in parts), max(part.max for part in parts), total / n
