"""Lines of one curve and means of several for a stretch of the axis: the numeric part of a chart."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mosaic_gui.state.chart_line import NO_LINE, ChartLine, chart_line, joined_lines, visible
from mosaic_gui.state.curves import RunCurves
from mosaic_gui.state.mean_band import Band, mean_band
from mosaic_gui.state.passes import SeriesPass, superseded
from mosaic_gui.state.series import PointSeries
from mosaic_gui.state.settings import XAxis

__all__ = ["NO_LINE"]
Floats = NDArray[np.float64]

LEAST_OLDER_BUCKETS = 16
MOST_READ_PASSES = 4
"""Newest passes that the crosshair reads."""


class ChartCurve(NamedTuple):
    """One metric of one run, as it is to be drawn."""

    series: PointSeries
    parts: list[SeriesPass]
    """Its passes, the newest last."""
    smoothing: float
    log_scale: bool

    def raw_of(self, part: SeriesPass) -> Floats:
        """Values of a part, on the scale."""
        return self._scaled(self.series.values[part.places])

    def smooth_of(self, part: SeriesPass) -> Floats:
        """Smoothed values of a part, on the scale."""
        return self._scaled(self.smoothed[part.places])

    @property
    def smoothed(self) -> Floats:
        """Smoothed values of all points; each pass is smoothed on its own."""
        if len(self.parts) == 1:
            return self.series.smoothed(self.smoothing)
        return self.series.smoothed_apart(self.smoothing, [_first(part) for part in self.parts])

    def _scaled(self, y: Floats) -> Floats:
        return on_scale(y, self.log_scale)


class Lines(NamedTuple):
    """Raw and smooth line."""

    raw: ChartLine
    smooth: ChartLine | None


def curve_of(
    curves: RunCurves, name: str, axis: XAxis, smoothing: float, *, log_scale: bool
) -> ChartCurve | None:
    """A curve; None while it has no points."""
    series = curves.series.get(name)
    if series is None or not len(series):
        return None
    return ChartCurve(series, curves.parts_of(name, axis), smoothing, log_scale)


def extent(curves: Sequence[ChartCurve]) -> tuple[float, float] | None:
    """First and last place on the axis; None without curves."""
    parts = [part.x for curve in curves for part in curve.parts]
    if not parts:
        return None
    return float(min(x[0] for x in parts)), float(max(x[-1] for x in parts))


def newest_lines(curve: ChartCurve, low: float, high: float, buckets: int) -> Lines:
    """The newest pass between two places."""
    return _lines(curve, curve.parts[-1], low, high, buckets)


def older_lines(curve: ChartCurve, low: float, high: float, buckets: int) -> Lines | None:
    """All earlier passes as one line with breaks between them; None without any."""
    older = curve.parts[:-1]
    if not older:
        return None
    share = max(LEAST_OLDER_BUCKETS, buckets // len(older))
    found = [_lines(curve, part, low, high, share) for part in older]
    smooth = [one.smooth for one in found if one.smooth is not None]
    return Lines(joined_lines([one.raw for one in found]), joined_lines(smooth) if smooth else None)


def too_few_points(
    curve: ChartCurve, low: float, high: float, buckets: int
) -> tuple[int, int] | None:
    """First and last step of a stretch of which the stack knows more points; None where it does not."""
    share = max(LEAST_OLDER_BUCKETS, buckets // max(1, len(curve.parts) - 1))
    found = []
    for part in curve.parts:
        places = part.places
        if not isinstance(places, slice):
            continue  # points that came late lie among coarse ones: no stretch of the series is this one
        seen = visible(part.x, low, high)
        wanted = buckets if part is curve.parts[-1] else min(buckets, share)
        stretch = slice(places.start + seen.start, places.start + seen.stop)
        if (steps := curve.series.too_few_points(stretch, wanted)) is not None:
            found.append(steps)
    if not found:
        return None
    return min(first for first, _ in found), max(last for _, last in found)


def mean_of(curves: Sequence[ChartCurve], low: float, high: float, places: int) -> Band | None:
    """Mean and band of a group's smoothed curves; of a run that went back only the steps that hold."""
    found = []
    for curve in curves:
        parts = curve.parts if len(curve.parts) == 1 else superseded(curve.parts)
        # also without smoothing: reduced points then count by what they represent
        x, y = _concatenated([(part.x, curve.smoothed[part.places]) for part in parts])
        part = visible(x, low, high)
        found.append((x[part], y[part]))
    return mean_band(found, places)


def mean_lines(band: Band, buckets: int, *, log_scale: bool) -> tuple[ChartLine, Band]:
    """The line of a mean, and its band on the scale."""
    scaled = replace(
        band,
        mean=on_scale(band.mean, log_scale),
        low=on_scale(band.low, log_scale),
        high=on_scale(band.high, log_scale),
    )
    return chart_line(scaled.x, scaled.mean, buckets, scaled.breaks), scaled


def raw_between(curve: ChartCurve, low: float, high: float) -> list[Floats]:
    """Raw values of each pass between two places, on the scale."""
    return [curve.raw_of(part)[visible(part.x, low, high)] for part in curve.parts]


def limit_on_scale(limit: float, otherwise: float, log_scale: bool) -> float:
    """A limit on the chart's scale; `otherwise` where a logarithmic scale has no place for it."""
    if not log_scale:
        return limit
    return float(np.log10(limit)) if limit > 0 else otherwise


def nearest(curve: ChartCurve, x: float) -> list[tuple[int, float, float, float | None]]:
    """The point of each newest pass that is nearest to a place, the newest first.

    Returns:
        Number of the pass, place, raw value, and smoothed value (None without smoothing).
    """
    found = []
    for number in range(len(curve.parts), 0, -1):
        part = curve.parts[number - 1]
        if number < len(curve.parts) and not part.x[0] <= x <= part.x[-1]:
            continue  # an earlier pass is read where it was, and nowhere else
        at = nearest_place(part.x, x)
        value = float(curve.series.values[part.places][at])
        smooth = float(curve.smoothed[part.places][at]) if curve.smoothing > 0 else None
        found.append((number, float(part.x[at]), value, smooth))
        if len(found) == MOST_READ_PASSES:
            break
    return found


def place_of_mark(curve: ChartCurve, step: int | None, t: float) -> float:
    """Where a moment lies on the axis of a curve: by its step, else by its time.

    Args:
        curve: The curve whose axis it is.
        step: Step of the moment; None: it has none.
        t: Its time, seconds since the epoch.
    """
    part = curve.parts[-1]
    known = curve.series.t if step is None else curve.series.steps
    wanted = t if step is None else float(step)
    ascending = np.asarray(known[part.places], dtype=np.float64)
    return float(part.x[nearest_place(ascending, wanted)])


def nearest_place(places: Floats, x: float) -> int:
    """Which of some ascending places is nearest."""
    at = int(np.searchsorted(places, x))
    if at == len(places) or (at > 0 and x - places[at - 1] < places[at] - x):
        at -= 1
    return at


def on_scale(y: Floats, log_scale: bool) -> Floats:
    """Values on the chart's scale."""
    if not log_scale:
        return y
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = np.log10(y)
    return np.where(np.isfinite(scaled), scaled, np.nan)  # no place on this scale: a gap


def _lines(curve: ChartCurve, part: SeriesPass, low: float, high: float, buckets: int) -> Lines:
    seen = visible(part.x, low, high)
    x = part.x[seen]
    smooth = chart_line(x, curve.smooth_of(part)[seen], buckets) if curve.smoothing > 0 else None
    return Lines(chart_line(x, curve.raw_of(part)[seen], buckets), smooth)


def _first(part: SeriesPass) -> int:
    places = part.places
    return int(places.start) if isinstance(places, slice) else int(places.min())


def _concatenated(parts: list[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    if len(parts) == 1:
        return parts[0]
    return np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
