"""Fewer points that look the same: of each stretch the lowest and the highest, so that no spike is lost."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HIGHEST = 1e300
"""What is higher is drawn there: the difference of two such numbers is none any more, and no axis could be made."""
MOST_GAPS = 120
"""Marks of a curve; more of them are a band in which none can be told from its neighbours."""


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


NO_LINE = Line(np.empty(0), np.empty(0), np.empty(0, np.uint8), np.empty(0))
"""One without points."""


def visible(x: Floats, low: float, high: float) -> slice:
    """The part of an ascending `x` between two bounds, with one point beyond on either side."""
    begin = int(np.searchsorted(x, low, side="left"))
    end = int(np.searchsorted(x, high, side="right"))
    return slice(max(0, begin - 1), min(len(x), end + 1))


def line(x: Floats, y: Floats, buckets: int) -> Line:
    """The points as one line with about `2 * buckets` points, and its gaps."""
    finite = np.isfinite(y)
    if finite.all():
        kept = _picked(y, buckets)
        return Line(x[kept], _drawable(y[kept]), np.ones(len(kept), np.uint8), np.empty(0))
    gaps = x[~finite]
    gaps = gaps[:: len(gaps) // MOST_GAPS + 1]
    # how many odd values lie before each point: a line is broken where that grows
    before = np.cumsum(~finite)[finite]
    x, y = x[finite], y[finite]
    kept = _picked(y, buckets)
    joined = np.zeros(len(kept), np.uint8)
    joined[:-1] = before[kept[1:]] == before[kept[:-1]]
    if len(kept) < len(y):
        # within a bucket lowest and highest stay one stroke: it says what lies between them, gaps or not
        size = _size(len(y), buckets)
        joined[:-1] |= kept[1:] // size == kept[:-1] // size
    return Line(x[kept], _drawable(y[kept]), joined, gaps)


def _drawable(y: Floats) -> Floats:
    return np.clip(y, -HIGHEST, HIGHEST)


def _picked(y: Floats, buckets: int) -> NDArray[np.intp]:
    """Places of lowest and highest of each bucket, and of both ends, ascending; `y` is finite."""
    n = len(y)
    if n <= 2 * buckets:
        return np.arange(n)
    size = _size(n, buckets)
    whole = n // size * size
    table = y[:whole].reshape(-1, size)
    base = np.arange(len(table)) * size
    pairs = np.stack([base + table.argmin(1), base + table.argmax(1)])
    pairs.sort(axis=0)
    rest = [whole + int(y[whole:].argmin()), whole + int(y[whole:].argmax())] if whole < n else []
    kept = np.concatenate([[0], pairs.T.ravel(), sorted(rest), [n - 1]]).astype(np.intp)
    # ascending already: equal neighbours are a bucket's lowest that is its highest, or an end
    places: NDArray[np.intp] = kept[np.concatenate([[True], kept[1:] > kept[:-1]])]
    return places


def _size(n: int, buckets: int) -> int:
    return -(-n // buckets)
