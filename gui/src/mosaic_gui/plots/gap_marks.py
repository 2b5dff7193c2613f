"""Crosses along the lower edge of a chart, where a value of any of its curves is NaN or infinite."""

from collections.abc import Sequence

import numpy as np
import pyqtgraph as pg

from mosaic_gui.state.decimation import spread_marks
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.curves import Drawn

SIZE_PX = 8
ABOVE_CURVES = 3


class GapMarks:
    """One item for all curves: each costs as much as a curve, and the marks look alike."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self.item = pg.ScatterPlotItem(symbol="x", size=SIZE_PX, pxMode=True)
        self.item.setZValue(ABOVE_CURVES)
        self.recolour()
        self.item.setVisible(False)
        plot.addItem(self.item)

    def recolour(self) -> None:
        """Take the colour of the theme that is applied."""
        self.item.setPen(pg.mkPen(current().bad, width=1.5))

    def show(self, drawn: Sequence[Drawn], height: float) -> None:
        """Mark the gaps of these curves at a height of the value axis."""
        places = np.concatenate([np.empty(0), *(one.raw.gaps_x for one in drawn)])
        places = spread_marks(np.sort(places))
        if len(places) or self.item.isVisible():
            self.item.setVisible(len(places) > 0)
            self.item.setData(places, np.full(len(places), height))
