"""Mean and standard deviation of several curves."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """Mean of several curves at common places, and one standard deviation to either side."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats
    breaks: NDArray[np.bool_]
    """True where all curves have a gap between a place and the next, so that no line may be drawn there."""


def mean_band(curves: Sequence[tuple[Floats, Floats]], buckets: int) -> Band | None:
    """Mean and deviation of curves (places, values) over the stretch where there is one at least.

    Each counts alike, however many points it has. A curve does not count beyond its last point or in its gaps.
    """
    known = [_Member(x, y, buckets) for x, y in curves if np.isfinite(y).any()]
    if not known:
        return None
    low, high = min(one.first for one in known), max(one.last for one in known)
    longest = max(len(one.x) for one in known)
    places = (
        np.linspace(low, high, max(2, min(buckets, longest))) if high > low else np.array([low])
    )
    table = np.array([one.at(places) for one in known])
    there = np.isfinite(table)
    count = np.maximum(there.sum(axis=0), 1)
    filled = np.where(there, table, 0.0)
    mean = filled.sum(axis=0) / count
    spread = np.sqrt((np.where(there, table - mean, 0.0) ** 2).sum(axis=0) / count)
    some = there.any(axis=0)
    mean, spread, places = mean[some], spread[some], places[some]
    breaks = _breaks(known, places, there[:, some])
    return Band(places, mean, mean - spread, mean + spread, breaks)


class _Member:
    """One curve of a group: its finite points in buckets, and where its gaps are."""

    def __init__(self, x: Floats, y: Floats, buckets: int) -> None:
        finite = np.isfinite(y)
        self.gaps = x[~finite]
        self._finite_x = x[finite]
        self.first, self.last = float(self._finite_x[0]), float(self._finite_x[-1])
        self.x, self._y = _bucket_means(self._finite_x, y[finite], buckets)

    def at(self, places: Floats) -> Floats:
        """Values at these places; NaN beyond the ends and inside of gaps."""
        values = np.interp(places, self.x, self._y)
        values[(places < self.first) | (places > self.last)] = np.nan
        if not len(self.gaps):
            return values
        half = (places[-1] - places[0]) / max(1, len(places) - 1) / 2
        # a place that has a point of its own nearby counts, whatever lies further on
        after = np.searchsorted(self._finite_x, places - half)
        near = self._finite_x[np.minimum(after, len(self._finite_x) - 1)]
        has_point = np.abs(near - places) <= half
        right = np.searchsorted(self._finite_x, places)
        left = np.maximum(right - 1, 0)
        right = np.minimum(right, len(self._finite_x) - 1)
        is_gap = self._gaps_before(self._finite_x[right]) > self._gaps_before(self._finite_x[left])
        return np.where(is_gap & ~has_point, np.nan, values)

    def is_broken(self, places: Floats) -> NDArray[np.bool_]:
        """Whether a gap lies between each place and the next."""
        broken: NDArray[np.bool_] = np.diff(self._gaps_before(places), append=0) != 0
        return broken

    def _gaps_before(self, places: Floats) -> NDArray[np.intp]:
        return np.searchsorted(self.gaps, places)


def _breaks(
    members: Sequence[_Member], places: Floats, there: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """A line breaks where no curve goes on from a place to the next without a gap."""
    follows = np.zeros_like(there)
    follows[:, :-1] = there[:, :-1] & there[:, 1:]
    broken = np.array([one.is_broken(places) for one in members])
    breaks: NDArray[np.bool_] = ~(follows & ~broken).any(axis=0)
    breaks[-1:] = False
    return breaks


def _bucket_means(x: Floats, y: Floats, buckets: int) -> tuple[Floats, Floats]:
    """Many points as the means of neighbours: one picked out of many would be chance."""
    if len(x) <= 2 * buckets:
        return x, y
    edges = np.linspace(0, len(x), buckets + 1).astype(np.intp)[:-1]
    count = np.diff(np.append(edges, len(x)))
    return np.add.reduceat(x, edges) / count, np.add.reduceat(y, edges) / count
