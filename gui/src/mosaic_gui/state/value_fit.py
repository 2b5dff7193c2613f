"""Limits of values, for the vertical axis of a chart."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Limits = tuple[float, float]

LOW_SHARE, HIGH_SHARE = 0.01, 0.99


def spread_of(lines: Sequence[Floats]) -> Limits | None:
    """Lowest and highest finite value of some lines; None without one."""
    known = [y for y in lines if len(y)]
    if not known:
        return None
    return widened(float(min(y.min() for y in known)), float(max(y.max() for y in known)))


def quantiles_of(lines: Sequence[Floats]) -> Limits | None:
    """The 1st and the 99th percentile over all finite values; None without one."""
    finite = [y[np.isfinite(y)] for y in lines]
    values = np.concatenate([np.empty(0), *finite])
    if not len(values):
        return None
    low, high = np.quantile(values, (LOW_SHARE, HIGH_SHARE))
    return widened(float(low), float(high))


def widened(low: float, high: float) -> Limits:
    """Limits with a height, also where all values are equal."""
    if math.isclose(low, high):
        margin = abs(low) * 0.1 or 1.0
        return low - margin, high + margin
    return low, high
