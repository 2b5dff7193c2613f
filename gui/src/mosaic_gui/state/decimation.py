"""Fewer points that look the same: of each stretch the lowest and the highest, so that no spike is lost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_POINTS = 20_000
"""More than that a curve is never given (measured: beyond, a frame takes longer than its tick)."""


@dataclass(frozen=True)
class Line:
    """What a curve draws."""

    x: Floats
    y: Floats
    """All finite: where a value is not, the line is broken by `connect`."""
    connect: NDArray[np.uint8]
    """1: a line goes from this point to the next."""
    gaps_x: Floats
    """Where values are NaN or infinite."""


def visible(x: Floats, low: float, high: float) -> slice:
    """The part of an ascending `x` between two bounds, with one point beyond on either side."""
    begin = int(np.searchsorted(x, low, side="left"))
    end = int(np.searchsorted(x, high, side="right"))
    return slice(max(0, begin - 1), min(len(x), end + 1))


def line(x: Floats, y: Floats, buckets: int) -> Line:
    """The points as one line with about `2 * buckets` points at most, and its gaps."""
    finite = np.isfinite(y)
    gaps = x[~finite]
    if len(gaps) > buckets:
        gaps = gaps[:: len(gaps) // buckets + 1]
    if finite.all():
        x, y = min_max(x, y, buckets)
        return Line(x, y, _joined(len(x)), gaps)
    xs, ys, joins = [], [], []
    for stretch in _stretches(finite):
        share = max(1, buckets * (stretch.stop - stretch.start) // len(x))
        part_x, part_y = min_max(x[stretch], y[stretch], share)
        xs.append(part_x)
        ys.append(part_y)
        joins.append(_joined(len(part_x)))
        joins[-1][-1] = 0
    if not xs:
        return Line(np.empty(0), np.empty(0), np.empty(0, np.uint8), gaps)
    return Line(np.concatenate(xs), np.concatenate(ys), np.concatenate(joins), gaps)


def min_max(x: Floats, y: Floats, buckets: int) -> tuple[Floats, Floats]:
    """Lowest and highest of each bucket in the order in which they came; few points stay as they are."""
    n = len(y)
    if n <= 2 * buckets:
        return x, y
    size = -(-n // buckets)
    whole = n // size * size
    table = y[:whole].reshape(-1, size)
    base = np.arange(len(table)) * size
    ends = [0, n - 1]
    if whole < n:
        ends += [whole + int(y[whole:].argmin()), whole + int(y[whole:].argmax())]
    kept = np.unique(np.concatenate([base + table.argmin(1), base + table.argmax(1), ends]))
    return x[kept], y[kept]


def _stretches(finite: NDArray[np.bool_]) -> list[slice]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], finite, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def _joined(n: int) -> NDArray[np.uint8]:
    return np.ones(n, np.uint8)
