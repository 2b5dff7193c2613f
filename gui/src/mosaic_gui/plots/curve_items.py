"""What one curve is drawn with: the raw line, the smooth one over it, the band of a group, and marks at its gaps."""

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QBrush, QColor, QPen

from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.curves import Drawn

SMOOTH_WIDTH = 1.6
_DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
)
"""Once all colours are taken, lines of one colour are told apart by these."""


class CurveItems:
    """Items of one curve in a plot."""

    def __init__(self, plot: pg.PlotItem) -> None:
        # what the model hands over is decimated, cut to the view and finite already
        options = {"skipFiniteCheck": True, "antialias": True}
        self.raw = pg.PlotCurveItem(**options)
        self.smooth = pg.PlotCurveItem(**options)
        self.gaps = pg.ScatterPlotItem(symbol="x", size=8, pxMode=True)
        self._low, self._high = pg.PlotCurveItem(**options), pg.PlotCurveItem(**options)
        for edge in (self._low, self._high):
            edge.setPen(QPen(Qt.PenStyle.NoPen))
            edge.setVisible(
                False
            )  # also what draws nothing costs a paint: the band knows their paths
        self.band = pg.FillBetweenItem(self._low, self._high)
        for depth, item in enumerate((self.raw, self.band, self.smooth, self.gaps)):
            item.setZValue(depth)  # what was measured lies beneath all means, whoever's it is
        for item in (self.band, self._low, self._high, self.raw, self.smooth, self.gaps):
            plot.addItem(item)

    @property
    def has_points(self) -> bool:
        """Something of it is drawn."""
        return any(
            item.getData()[0] is not None and len(item.getData()[0])
            for item in (self.raw, self.smooth)
        )

    def show(self, drawn: Drawn, floor: float, width: float) -> None:
        """Draw a curve; marks of gaps lie at `floor`."""
        tokens = current()
        colour = QColor(series_colour(drawn.colour))
        faint = QColor(colour)
        faint.setAlphaF(0.14 if drawn.is_faint else 0.32 if tokens.is_dark else 0.28)
        raw, smooth = drawn.raw, drawn.smooth
        alone = smooth is None and not drawn.is_faint
        self.raw.setData(raw.x, raw.y, connect=raw.connect, pen=_pen(colour if alone else faint))
        self.smooth.setVisible(smooth is not None)
        if smooth is None:
            self.smooth.setData([], [])
        else:
            pen = _pen(colour, width)
            pen.setStyle(_DASHES[drawn.colour // len(tokens.series) % len(_DASHES)])
            self.smooth.setData(smooth.x, smooth.y, connect=smooth.connect, pen=pen)
        self._show_band(drawn, colour)
        gaps = raw.gaps_x
        self.gaps.setVisible(len(gaps) > 0)
        self.gaps.setData(gaps, np.full(len(gaps), floor), pen=pg.mkPen(tokens.bad, width=1.5))

    def clear(self) -> None:
        """Draw nothing."""
        for item in (self.raw, self.smooth, self.gaps, self._low, self._high):
            item.setData([], [])
        self.band.setVisible(False)

    def _show_band(self, drawn: Drawn, colour: QColor) -> None:
        band = drawn.band
        # without points pyqtgraph has no path to fill
        self.band.setVisible(band is not None and len(band.x) > 1)
        if band is None or len(band.x) < 2:
            return
        there = np.isfinite(band.low) & np.isfinite(band.high)
        self._low.setData(band.x[there], band.low[there])
        self._high.setData(band.x[there], band.high[there])
        ground = QColor(colour)
        ground.setAlphaF(0.16)
        self.band.setBrush(QBrush(ground))


def series_colour(index: int) -> str:
    """Colour of a curve; beyond the last they come again."""
    series = current().series
    return series[index % len(series)]


def _pen(colour: QColor, width: float = 1.0) -> QPen:
    pen = QPen(colour, width)
    pen.setCosmetic(True)  # its width is in pixels, whatever the axes are
    return pen
