"""Min/max downsampling of a line to the width of a chart, so that no spike is lost."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

HIGHEST = 1e300
"""Values are clipped to this: the difference of two larger ones is infinite, and no axis has that range."""
MOST_GAPS = 120
"""Marks of a curve; more of them would merge into a band."""

MOST_UNEVEN = 1.5
"""How many times the mean number of points one bucket may have, for buckets to be counted off. The older half of a
long live curve is thinner: with equal numbers of points its buckets would be wider, and it would be drawn coarser."""


@dataclass(frozen=True)
class ChartLine:
    """The points and breaks of one drawn line."""

    x: Floats
    y: Floats
    """Finite values; `connect` breaks the line where a value is not finite."""
    connect: NDArray[np.uint8]
    """1: a line goes from this point to the next."""
    gaps_x: Floats
    """Where values are NaN or infinite."""

    @property
    def lone(self) -> NDArray[np.bool_]:
        """Which points have no line to either side: a line of one point, or a point between two gaps."""
        joined = self.connect[:-1] != 0
        lone = np.ones(len(self.x), np.bool_)
        lone[:-1] &= ~joined
        lone[1:] &= ~joined
        return lone


NO_LINE = ChartLine(np.empty(0), np.empty(0), np.empty(0, np.uint8), np.empty(0))
"""A line without points."""


def visible(x: Floats, low: float, high: float) -> slice:
    """The part of an ascending `x` between two bounds, with one point beyond on either side."""
    begin = int(np.searchsorted(x, low, side="left"))
    end = int(np.searchsorted(x, high, side="right"))
    return slice(max(0, begin - 1), min(len(x), end + 1))


def chart_line(
    x: Floats, y: Floats, buckets: int, breaks: NDArray[np.bool_] | None = None
) -> ChartLine:
    """Reduce points to a line of about `2 * buckets` points that is broken at every gap.

    Args:
        x: Places, ascending.
        y: Values; one that is NaN or infinite is a gap.
        buckets: Stretches of equal width, of which the lowest and the highest point are kept.
        breaks: True where no line may go from a point to the next, whatever the values are.
    """
    finite = np.isfinite(y)
    if breaks is None and finite.all():
        kept = _picked(x, y, buckets)
        return ChartLine(x[kept], _drawable(y[kept]), np.ones(len(kept), np.uint8), np.empty(0))
    gaps = spread_marks(x[~finite])
    # the number of gaps before each point: a line is broken where it grows, also within a bucket
    before = np.cumsum(~finite)
    if breaks is not None:
        before[1:] += np.cumsum(breaks[:-1])
    before = before[finite]
    x, y = x[finite], y[finite]
    kept = _picked(x, y, buckets)
    joined = np.zeros(len(kept), np.uint8)
    joined[:-1] = before[kept[1:]] == before[kept[:-1]]
    return ChartLine(x[kept], _drawable(y[kept]), joined, gaps)


def joined_lines(lines: Sequence[ChartLine]) -> ChartLine:
    """Join lines, with a break between each two."""
    connect = [np.append(one.connect[:-1], np.uint8(0))[: len(one.x)] for one in lines]
    return ChartLine(
        np.concatenate([one.x for one in lines]),
        np.concatenate([one.y for one in lines]),
        np.concatenate(connect),
        np.concatenate([one.gaps_x for one in lines]),
    )


def spread_marks(gaps: Floats) -> Floats:
    """Thin ascending places of gaps to `MOST_GAPS`: of each equal stretch the first, so that none stays unmarked."""
    if len(gaps) <= MOST_GAPS:
        return gaps
    share = (gaps - gaps[0]) / ((gaps[-1] - gaps[0]) or 1.0)
    return gaps[np.unique((share * (MOST_GAPS - 1)).astype(np.intp), return_index=True)[1]]


def _drawable(y: Floats) -> Floats:
    return np.clip(y, -HIGHEST, HIGHEST)


def _picked(x: Floats, y: Floats, buckets: int) -> NDArray[np.intp]:
    """Places of lowest and highest of each bucket, and of both ends, ascending; `y` is finite."""
    n = len(y)
    if n <= 2 * buckets:
        return np.arange(n)
    starts = np.append(0, np.searchsorted(x, np.linspace(x[0], x[-1], buckets + 1)[1:-1]))
    # points that lie about equally dense are counted, in a fifth of the time
    if np.diff(starts, append=n).max() <= MOST_UNEVEN * (n / buckets):
        inner = _by_count(y, -(-n // buckets))
    else:
        inner = _by_place(y, np.unique(starts))
    kept = np.concatenate([[0], inner, [n - 1]]).astype(np.intp)
    # ascending already: equal neighbours are a bucket's lowest that is its highest, or an end
    places: NDArray[np.intp] = kept[np.concatenate([[True], kept[1:] > kept[:-1]])]
    return places


def _by_count(y: Floats, size: int) -> NDArray[np.intp]:
    """Lowest and highest of each `size` points."""
    whole = len(y) // size * size
    table = y[:whole].reshape(-1, size)
    base = np.arange(len(table)) * size
    pairs = np.stack([base + table.argmin(1), base + table.argmax(1)])
    pairs.sort(axis=0)
    rest = y[whole:]
    ends = sorted([whole + int(rest.argmin()), whole + int(rest.argmax())]) if len(rest) else []
    return np.concatenate([pairs.T.ravel(), ends]).astype(np.intp)


def _by_place(y: Floats, starts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Lowest and highest of each stretch of the axis, given by its first point; none is empty."""
    lengths = np.diff(starts, append=len(y))
    bucket = np.repeat(np.arange(len(starts)), lengths)
    pairs = []
    for extreme in (np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)):
        places = np.flatnonzero(y == np.repeat(extreme, lengths))
        pairs.append(places[np.unique(bucket[places], return_index=True)[1]])
    both = np.stack(pairs)
    both.sort(axis=0)
    return both.T.ravel()
