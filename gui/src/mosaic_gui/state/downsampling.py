"""Downsampled curves: each point represents several and holds their number and mean."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.curve_set import DrawnCurve

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ReducedPoints:
    """Columns of equal length. A bucket has its lowest value, then its highest, then NaN if it contains any."""

    steps: Floats
    t: Floats
    values: Floats
    levels: Floats
    """Mean of the points that each one represents."""
    weights: Floats
    """How many points each one represents; 0 for a gap that is only marked."""

    def __len__(self) -> int:
        return len(self.steps)

    def part(self, places: slice | NDArray[np.bool_]) -> "ReducedPoints":
        """A part of the points."""
        return ReducedPoints(*(column[places] for column in self.columns))

    @property
    def columns(self) -> tuple[Floats, ...]:
        """All columns, in order."""
        return self.steps, self.t, self.values, self.levels, self.weights


def concatenated(parts: list[ReducedPoints]) -> ReducedPoints:
    """Concatenate points."""
    return ReducedPoints(
        *(np.concatenate(c) for c in zip(*(p.columns for p in parts), strict=True))
    )


def columns_of(curve: DrawnCurve) -> dict[str, Floats]:
    """A curve's columns as arrays, nothing copied.

    Raises:
        ValueError: they are not of one length, or no floats.
    """
    columns = {name: np.frombuffer(data, "<f8") for name, data in curve.columns.items()}
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError(f"the columns of {curve.name} differ in length")
    return columns


def reduced_points(curve: DrawnCurve) -> ReducedPoints:
    """Points for the buckets of a reduced curve.

    Raises:
        ValueError: see `columns_of`.
    """
    table = columns_of(curve)
    finite = table["n"] - table["odd"]
    many = finite > 1
    step0 = np.full_like(table["step0"], np.nan) if curve.stepless else table["step0"]
    step1 = np.full_like(table["step1"], np.nan) if curve.stepless else table["step1"]
    nothing = np.full_like(finite, np.nan)
    share = finite / (1.0 + many)
    kept = _kept(table)
    rows = (
        (step0, step1, step1),
        (table["t0"], table["t1"], table["t1"]),
        (table["min"], table["max"], nothing),
        (table["mean"], table["mean"], nothing),
        (share, share, 0 * finite),
    )
    found = ReducedPoints(*(np.stack(row, axis=1)[kept] for row in rows))
    return concatenated([found, _end(table, curve.stepless)]) if len(found) else found


def pass_begins(curve: DrawnCurve) -> list[int]:
    """The first point of each pass over the steps, among those of `reduced_points`.

    Raises:
        ValueError: see `columns_of`; or the rows are none of the curve.
    """
    table = columns_of(curve)
    places = np.append(0, np.cumsum(_kept(table).sum(axis=1)))
    places[-1] += len(places) > 1  # the newest point itself is of the last pass that has a row
    rows = curve.passes or [0]
    if rows != sorted(rows) or rows[0] != 0 or rows[-1] >= len(places):
        raise ValueError(f"the passes of {curve.name} do not begin at its rows: {rows}")
    found: list[int] = places[rows].tolist()
    return found


def thinned(points: ReducedPoints) -> tuple[ReducedPoints, NDArray[np.intp]]:
    """Thin points to the lowest and the highest of each four, and one gap where there is any.

    Both represent all four; a gap represents nothing. The number of points is a multiple of four.

    Returns:
        The points, and their places among the ones given.
    """
    values = points.values.reshape(-1, 4)
    finite = np.isfinite(values)
    rows = np.arange(len(values))
    kept = np.zeros(values.shape, np.bool_)
    kept[rows, np.where(finite, values, np.inf).argmin(1)] = True
    kept[rows, np.where(finite, values, -np.inf).argmax(1)] = True
    kept &= finite
    share = kept.sum(1)
    # the last gap of the four: most often it lies between two of their values, or before the next four
    rows = rows[~finite.all(1)]
    kept[rows, 3 - (~finite[rows, ::-1]).argmax(1)] = True
    weights = np.where(np.isfinite(points.levels), points.weights, 0.0).reshape(-1, 4)
    levels = np.nan_to_num(points.levels, nan=0.0, posinf=0.0, neginf=0.0).reshape(-1, 4)
    total = weights.sum(1)
    mean = (levels * weights).sum(1) / np.maximum(total, 1e-300)
    mean[total == 0] = np.nan
    level = np.where(finite, mean[:, None], np.nan)[kept]
    weight = np.where(finite, (total / np.maximum(share, 1))[:, None], 0.0)[kept]
    picks = np.flatnonzero(kept)
    places = (points.steps[picks], points.t[picks], points.values[picks])
    return ReducedPoints(*places, level, weight), picks


def evened(points: ReducedPoints, most: int) -> tuple[ReducedPoints, NDArray[np.intp]]:
    """Thin points to at most `most`, the finest ones first, so that all of the past is about equally fine.

    Points grow finer from the oldest to the newest. So the newest ones are thinned, until each represents as many
    points as those before.

    Returns:
        The points, and their places among the ones given.
    """
    picks = np.arange(len(points))
    while len(points) > most:
        begin = _finest(points.weights)
        end = begin + (len(points) - begin) // 4 * 4
        fewer, chosen = thinned(points.part(slice(begin, end)))
        points = concatenated([points.part(slice(begin)), fewer, points.part(slice(end, None))])
        picks = np.concatenate([picks[:begin], picks[begin:end][chosen], picks[end:]])
    return points, picks


def _finest(weights: Floats) -> int:
    """Index of the first point that represents about as many as the newest, and that is worth thinning."""
    known = weights[weights > 0]
    limit = 1.5 * float(known[-1]) if len(known) else np.inf
    while True:
        heavier = np.flatnonzero(weights > limit)
        begin = int(heavier[-1]) + 1 if len(heavier) else 0
        if len(weights) - begin >= max(4, len(weights) // _WORTHWHILE) or not begin:
            return begin
        limit *= 2


_WORTHWHILE = 8
"""Less than this share of the points is not thinned alone."""


def _kept(table: Mapping[str, Floats]) -> NDArray[np.bool_]:
    """Which of the three places of each bucket have a point: lowest, highest, gap."""
    finite = table["n"] - table["odd"]
    return np.stack([finite > 0, finite > 1, table["odd"] > 0], axis=1)


def _end(table: Mapping[str, Floats], stepless: bool) -> ReducedPoints:
    """The newest point itself, which represents no other."""
    step = np.nan if stepless else table["step1"][-1]
    last = table["last"][-1]
    return ReducedPoints(*(np.array([x]) for x in (step, table["t1"][-1], last, last, 0.0)))
