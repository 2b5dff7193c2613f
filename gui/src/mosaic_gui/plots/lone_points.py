"""Dots for points that no line leads to: a curve of one point, or a point between two gaps."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PyQt6.QtGui import QColor

from mosaic_gui.plots.curve_items import line_colour, raw_colour
from mosaic_gui.state.decimation import Floats, Line
from mosaic_gui.viewmodels.curves import Drawn

LARGE_PX, SMALL_PX = 6.0, 2.5
MOST_LARGE = 60
"""Dots of one line; more of them lie so close that they have to look like a line."""
MOST = 4_000
"""Dots of a chart; more take longer to draw than a frame has."""
ABOVE_CURVES = 3


class LonePoints:
    """One item for all curves of a chart, made with the first dot: most charts have none."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self._plot = plot
        self.item: pg.ScatterPlotItem | None = None

    def show(self, drawn: Sequence[Drawn]) -> None:
        """Draw the lone points of these curves."""
        found = [
            (line.x[lone], line.y[lone], colour)
            for line, colour in _lines(drawn)
            if (lone := line.lone).any()
        ]
        if not found and self.item is None:
            return
        if self.item is None:
            self.item = pg.ScatterPlotItem(pxMode=True, pen=None)
            self.item.setZValue(ABOVE_CURVES)
            self._plot.addItem(self.item)
        x, y = _joined([x for x, _, _ in found]), _joined([y for _, y, _ in found])
        counts = [len(x) for x, _, _ in found]
        sizes = np.repeat([LARGE_PX if n <= MOST_LARGE else SMALL_PX for n in counts], counts)
        brushes = np.repeat(np.array([pg.mkBrush(c) for *_, c in found], object), counts)
        some = slice(None, None, len(x) // MOST + 1)
        self.item.setVisible(len(x) > 0)
        self.item.setData(x[some], y[some], size=sizes[some], brush=brushes[some].tolist())


def _lines(drawn: Sequence[Drawn]) -> Iterator[tuple[Line, QColor]]:
    for one in drawn:
        yield one.raw, raw_colour(one)
    for one in drawn:
        if one.smooth is not None:
            yield one.smooth, line_colour(one)


def _joined(parts: Sequence[Floats]) -> NDArray[np.float64]:
    return np.concatenate([np.empty(0), *parts])
