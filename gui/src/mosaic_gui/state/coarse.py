"""A curve in fewer points than it has: each stands for several, and knows how many and what they are on average."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.curve_set import DrawnCurve

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Coarse:
    """Columns of equal length. Of a bucket there is its lowest value, then its highest, then NaN if it has any."""

    steps: Floats
    t: Floats
    values: Floats
    levels: Floats
    """What each stands for on average."""
    weights: Floats
    """How many points it stands for; none for what is only marked."""

    def __len__(self) -> int:
        return len(self.steps)

    def part(self, places: slice) -> "Coarse":
        """Some of its points."""
        return Coarse(*(column[places] for column in self.columns))

    @property
    def columns(self) -> tuple[Floats, ...]:
        """All of them, in order."""
        return self.steps, self.t, self.values, self.levels, self.weights


def joined(parts: list[Coarse]) -> Coarse:
    """One after another."""
    return Coarse(*(np.concatenate(c) for c in zip(*(p.columns for p in parts), strict=True)))


def columns_of(curve: DrawnCurve) -> dict[str, Floats]:
    """A curve's columns as arrays, nothing copied.

    Raises:
        ValueError: they are not of one length, or no floats.
    """
    columns = {name: np.frombuffer(data, "<f8") for name, data in curve.columns.items()}
    if len({len(column) for column in columns.values()}) > 1:
        raise ValueError(f"the columns of {curve.name} differ in length")
    return columns


def coarse_of(curve: DrawnCurve) -> Coarse:
    """Points for the buckets of a reduced curve.

    Raises:
        ValueError: see `columns_of`.
    """
    table = columns_of(curve)
    finite = table["n"] - table["odd"]
    some, many = finite > 0, finite > 1
    step0 = np.full_like(table["step0"], np.nan) if curve.stepless else table["step0"]
    step1 = np.full_like(table["step1"], np.nan) if curve.stepless else table["step1"]
    nothing = np.full_like(finite, np.nan)
    share = finite / (1.0 + many)
    # three places a bucket, of which those that it needs are kept
    kept = np.stack([some, many, table["odd"] > 0], axis=1)
    rows = (
        (step0, step1, step1),
        (table["t0"], table["t1"], table["t1"]),
        (table["min"], table["max"], nothing),
        (table["mean"], table["mean"], nothing),
        (share, share, 0 * finite),
    )
    found = Coarse(*(np.stack(row, axis=1)[kept] for row in rows))
    return joined([found, _end(table, curve.stepless)]) if len(found) else found


def thinned(points: Coarse) -> tuple[Coarse, NDArray[np.intp]]:
    """Of each four points the lowest and the highest, and their places; both stand for all four.

    The number of points is a multiple of four.
    """
    values = points.values.reshape(-1, 4)
    base = np.arange(len(values)) * 4
    low = np.where(np.isfinite(values), values, np.inf).argmin(1)
    high = np.where(np.isfinite(values), values, -np.inf).argmax(1)
    picks = np.sort(np.stack([base + low, base + high]), axis=0).T.ravel()
    weights = np.where(np.isfinite(points.levels), points.weights, 0.0).reshape(-1, 4)
    levels = np.nan_to_num(points.levels, nan=0.0, posinf=0.0, neginf=0.0).reshape(-1, 4)
    total = weights.sum(1)
    mean = (levels * weights).sum(1) / np.maximum(total, 1e-300)
    mean[total == 0] = np.nan
    places = (points.steps[picks], points.t[picks], points.values[picks])
    return Coarse(*places, np.repeat(mean, 2), np.repeat(total / 2, 2)), picks


def _end(table: Mapping[str, Floats], stepless: bool) -> Coarse:
    """The newest point itself, which stands for nothing else."""
    step = np.nan if stepless else table["step1"][-1]
    last = table["last"][-1]
    return Coarse(*(np.array([x]) for x in (step, table["t1"][-1], last, last, 0.0)))
