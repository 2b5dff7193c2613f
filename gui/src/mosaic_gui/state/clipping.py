"""Cuts lines at the edges of a rectangle, for a drawing that has no clip of its own, e.g. an SVG."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def clipped(
    x: Floats,
    y: Floats,
    connect: NDArray[np.uint8],
    x_span: tuple[float, float],
    y_span: tuple[float, float],
) -> Floats:
    """The parts of a line within a rectangle (Liang and Barsky 1984).

    Args:
        x, y: Points of the line.
        connect: 1 where a line goes from a point to the next.
        x_span, y_span: Edges of the rectangle.

    Returns:
        One row a part: x and y of its begin, x and y of its end.
    """
    if len(x) < 2:
        return np.empty((0, 4))
    joined = connect[:-1] != 0
    x0, y0 = x[:-1][joined], y[:-1][joined]
    dx, dy = x[1:][joined] - x0, y[1:][joined] - y0
    begin, end = np.zeros(len(x0)), np.ones(len(x0))
    outside = np.zeros(len(x0), np.bool_)
    for delta, room in (
        (-dx, x0 - x_span[0]),
        (dx, x_span[1] - x0),
        (-dy, y0 - y_span[0]),
        (dy, y_span[1] - y0),
    ):
        with np.errstate(divide="ignore", invalid="ignore"):
            share = room / delta
        begin = np.where(delta < 0, np.maximum(begin, share), begin)
        end = np.where(delta > 0, np.minimum(end, share), end)
        outside |= (delta == 0) & (room < 0)
    seen = ~outside & (begin <= end)
    x0, y0, dx, dy, begin, end = (one[seen] for one in (x0, y0, dx, dy, begin, end))
    return np.column_stack([x0 + begin * dx, y0 + begin * dy, x0 + end * dx, y0 + end * dy])
