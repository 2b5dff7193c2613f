"""A surface through scattered trials: their mean in cells, smoothed, in bands of equal value."""

from typing import NamedTuple

import numpy as np

from mosaic_gui.state.trial_points import Floats

CELLS, FINE = 40, 160
"""Cells of an axis in which means are taken, and pixels of an axis of the result."""
BANDS = 9
LEAST_REACH, MOST_REACH = 1.5, 7.0
"""Standard deviation of the smoothing in cells: the more trials there are, the less."""
_LEAST = 0.02
"""Weight of trials near a cell below which the surface is not known there."""


class Surface(NamedTuple):
    """Bands from 0 (worst) to 1 (best); NaN: not known."""

    bands: Floats
    """By x and y."""
    low: float
    high: float


def surface(
    x: Floats, y: Floats, values: Floats, bounds: tuple[float, float, float, float]
) -> Surface | None:
    """The surface of values at places; None: there are too few. `bounds`: low and high of x, then of y."""
    known = np.isfinite(x) & np.isfinite(y) & np.isfinite(values)
    if known.sum() < 3:
        return None
    span = [bounds[:2], bounds[2:]]
    x, y, values = x[known], y[known], values[known]
    sums, _, _ = np.histogram2d(x, y, CELLS, span, weights=values)
    counts, _, _ = np.histogram2d(x, y, CELLS, span)
    reach = min(MOST_REACH, max(LEAST_REACH, CELLS / len(values) ** 0.5))
    weight = _smooth(counts, reach)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(weight > _LEAST * weight.max(), _smooth(sums, reach) / weight, np.nan)
    low, high = float(np.nanmin(means)), float(np.nanmax(means))
    share = (means - low) / ((high - low) or 1.0)
    fine = _finer(np.nan_to_num(share))
    is_known = _finer(np.isfinite(share).astype(float)) > 0.5
    bands = np.floor(np.clip(fine, 0.0, 1.0) * (BANDS - 1e-9)) / (BANDS - 1)
    return Surface(np.where(is_known, bands, np.nan), low, high)


def _smooth(cells: Floats, reach: float) -> Floats:
    """Gaussian smoothing in both directions. `reach`: its standard deviation in cells."""
    most = min(int(2.5 * reach), (CELLS - 1) // 2)
    kernel = np.exp(-0.5 * (np.arange(-most, most + 1) / reach) ** 2)
    for axis in (0, 1):
        cells = np.apply_along_axis(np.convolve, axis, cells, kernel, "same")
    return cells


def _finer(cells: Floats) -> Floats:
    """More cells, linearly in between."""
    old = (np.arange(CELLS) + 0.5) / CELLS
    new = (np.arange(FINE) + 0.5) / FINE
    rows = np.stack([np.interp(new, old, row) for row in cells])
    return np.stack([np.interp(new, old, column) for column in rows.T], axis=1)
