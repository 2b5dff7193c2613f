"""The series of one run that can be drawn over time."""

from collections.abc import Mapping
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.cursor import Cursor, parse_cursor
from mosaic_contracts.curve_set import EPISODE_LENGTH, EPISODE_RETURN, DrawnCurve
from mosaic_gui.state.downsampling import columns_of, pass_begins, reduced_points
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.passes import SeriesPass, split
from mosaic_gui.state.series import PointSeries
from mosaic_gui.state.settings import XAxis

Floats = NDArray[np.float64]

MOST_COMPARED = 64
"""Points by which a series is known to repeat another one."""

__all__ = ["EPISODE_LENGTH", "EPISODE_RETURN", "RunCurves"]


class RunCurves:
    """The series of one run by name."""

    def __init__(self) -> None:
        self.series: dict[str, PointSeries] = {}
        self.first_t: float | None = None
        self.changes = 0
        """Grows whenever points come or go."""
        self._ends: dict[str, Cursor] = {}
        """How far each series reached when it was opened from the store."""

    @property
    def names(self) -> list[str]:
        """Names of all series: returns and lengths first, use of the machine last."""
        return sorted(self.series, key=_rank)

    def take(self, batch: EventBatch) -> bool:
        """Add the points of a batch; False when it has none."""
        self.changes += 1
        grown = self._take_episodes([e for e in batch.events if e["type"] == "episode"])
        if (table := batch.columns.get("metric")) is not None:
            self._take_metrics(table, (table["attempt"], table["source"]))
            grown = True
        singles = [
            e for e in batch.events if e["type"] == "metric" and self._is_behind(e["name"], e)
        ]
        if singles:
            keys = ("name", "step", "t", "value")
            self._take_metrics({key: [e.get(key) for e in singles] for key in keys}, None)
        return grown or bool(singles)

    def repeats(self, name: str, other: str) -> bool:
        """Whether a series has the first values of another one; the newest of either may be on their way."""
        if other not in self.series:
            return False
        one, two = self.series[name].values, self.series[other].values
        known = min(len(one), len(two), MOST_COMPARED)
        return bool(np.array_equal(one[:known], two[:known], equal_nan=True))

    def clear(self) -> None:
        """Forget all points."""
        self.changes += 1
        self.series.clear()
        self._ends.clear()
        self.first_t = None

    def begin(self, curve: DrawnCurve, cursor: str) -> None:
        """Start a series from what the store has of it up to `cursor`; events up to there are not taken again.

        Raises:
            ValueError: the columns are not what they should be.
        """
        self.changes += 1
        table = columns_of(curve)
        series = PointSeries()
        if curve.reduced:
            series.begin(reduced_points(curve), pass_begins(curve))
        else:
            series.extend(table["step"], table["t"], table["value"])
        if len(series):
            self.series[curve.name] = series
            self._ends[curve.name] = parse_cursor(cursor)
            self._look_at_clock(series.t[0])

    def parts_of(self, name: str, axis: XAxis) -> list[SeriesPass]:
        """The points in the lines that they make: one for each pass over the steps, the newest last."""
        series = self.series[name]
        x = self.x_of(name, axis)
        if axis is not XAxis.STEP or series.is_rising:
            return [SeriesPass(x, slice(0, len(x)))]
        if not np.isfinite(series.steps).any():
            return [SeriesPass(np.maximum.accumulate(x), slice(0, len(x)))]
        return split(x, series.begins)

    def x_of(self, name: str, axis: XAxis) -> Floats:
        """The points' places on an axis, in the order in which they were reported."""
        series = self.series[name]
        if axis is XAxis.WALL:
            return series.t
        if axis is XAxis.RELATIVE:
            return series.t - (self.first_t or 0.0)
        if axis is XAxis.EPISODE:
            if name in (EPISODE_RETURN, EPISODE_LENGTH):
                return np.arange(1, len(series) + 1, dtype=np.float64)
            ends = self.series.get(EPISODE_RETURN)
            return np.searchsorted(ends.t, series.t).astype(np.float64) if ends else series.t * 0.0
        return series.steps if series.is_rising else self._steps(series)

    def _steps(self, series: PointSeries) -> Floats:
        steps = series.steps
        known = np.isfinite(steps)
        if known.all():
            return steps
        # what is measured during training (use of the machine) has no step: it takes the step of its moment
        clock = self.series.get(EPISODE_RETURN) or max(
            (s for s in self.series.values() if len(s) and np.isfinite(s.steps).all()),
            key=len,
            default=None,
        )
        # a run that ended before its first step has seconds to show, and no step to confuse them with
        guess = np.interp(series.t, clock.t, clock.steps) if clock else series.t - series.t[0]
        return np.where(known, steps, guess)

    def _take_episodes(self, reported: list[dict[str, Any]]) -> bool:
        ends = [e for e in reported if self._is_behind(EPISODE_RETURN, e)]
        if not ends:
            return False
        steps = _floats([e["global_step"] for e in ends])
        t = _floats([e["t"] for e in ends])
        self._extend(EPISODE_RETURN, steps, t, _floats([e["episode_return"] for e in ends]))
        self._extend(EPISODE_LENGTH, steps, t, _floats([e["length"] for e in ends]))
        return True

    def _take_metrics(self, table: Mapping[str, list[Any]], source: tuple[int, str] | None) -> None:
        """Rows of one source, of which some may be known; None: all of them are new."""
        known: dict[str, int] = {}
        if source is not None:
            known = {name: end.get(source, 0) for name, end in self._ends.items()}
        seqs = table["seq"] if known else repeat(1)
        rows = zip(table["name"], seqs, table["step"], table["t"], table["value"])  # noqa: B905 - `repeat` has no end
        for name, seq, step, t, value in rows:
            if seq > known.get(name, 0):
                series = self.series.get(name)
                if series is None:
                    series = self.series[name] = PointSeries()
                series.append(step, t, value)
        self._look_at_clock(table["t"][0])

    def _extend(self, name: str, steps: Floats, t: Floats, values: Floats) -> None:
        self._look_at_clock(t[0])
        self.series.setdefault(name, PointSeries()).extend(steps, t, values)

    def _look_at_clock(self, t: float) -> None:
        if self.first_t is None or t < self.first_t:
            self.first_t = float(t)

    def _is_behind(self, name: str, event: dict[str, Any]) -> bool:
        """Whether an event is newer than the curve with which the series was opened."""
        end = self._ends.get(name)
        return end is None or event["seq"] > end.get((event["attempt"], event["source"]), 0)


def _floats(values: list[Any]) -> Floats:
    """Values as floats; None and JSON's words for NaN and infinities are converted."""
    return np.array(values, dtype=np.float64)


def _rank(name: str) -> tuple[int, str]:
    if name == EPISODE_RETURN:
        return (0, name)
    if name == EPISODE_LENGTH:
        return (1, name)
    return (3 if name.startswith("system/") else 2, name)
