"""Plot items of one curve: the raw line, the smoothed line over it, the band of a group."""

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QBrush, QColor, QPen

from mosaic_gui.state.chart_line import ChartLine
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.curves import Drawn

SMOOTH_WIDTH = 1.6
ROUGH_FROM = 300
"""Points of a faint line from which it is drawn without antialiasing, which takes half of the time."""
OLDER_SHARE = 0.5
"""Share of the colour of a series in the colour of its earlier passes, which the newest pass repeats."""
_DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
)
"""Dash patterns that distinguish lines of one colour once all colours are taken."""


class CurveItems:
    """Items of one curve in a plot."""

    def __init__(self, plot: pg.PlotItem) -> None:
        # what the model hands over is decimated, cut to the view and finite already
        options = {"skipFiniteCheck": True, "antialias": True}
        self.raw = pg.PlotCurveItem(**options)
        self.smooth = pg.PlotCurveItem(**options)
        self._low, self._high = pg.PlotCurveItem(**options), pg.PlotCurveItem(**options)
        for edge in (self._low, self._high):
            edge.setPen(QPen(Qt.PenStyle.NoPen))
            edge.setVisible(
                False
            )  # also what draws nothing costs a paint: the band knows their paths
        self.band = pg.FillBetweenItem(self._low, self._high)
        for depth, item in enumerate((self.raw, self.band, self.smooth)):
            item.setZValue(depth)  # what was measured lies beneath all means, whoever's it is
        for item in (self.band, self._low, self._high, self.raw, self.smooth):
            plot.addItem(item)

    @property
    def has_points(self) -> bool:
        """Whether the curve has points."""
        return any(
            item.getData()[0] is not None and len(item.getData()[0])
            for item in (self.raw, self.smooth)
        )

    def show(self, drawn: Drawn, width: float) -> None:
        """Draw a curve, its mean so many pixels wide."""
        colour = line_colour(drawn)
        raw, smooth = drawn.raw, drawn.smooth
        self.raw.setData(
            raw.x,
            raw.y,
            connect=_connect(raw),
            pen=_pen(raw_colour(drawn)),
            antialias=_is_alone(drawn) or len(raw.x) < ROUGH_FROM,
        )
        self.smooth.setVisible(smooth is not None)
        if smooth is None:
            self.smooth.setData([], [])
        else:
            pen = _pen(colour, 1.0 if drawn.is_older else width)
            pen.setStyle(dash_of(drawn.colour))
            self.smooth.setData(smooth.x, smooth.y, connect=_connect(smooth), pen=pen)
        self._show_band(drawn, colour)

    def clear(self) -> None:
        """Draw nothing."""
        for item in (self.raw, self.smooth, self._low, self._high):
            item.setData([], [])
        self.band.setVisible(False)

    def _show_band(self, drawn: Drawn, colour: QColor) -> None:
        band = drawn.band
        # without points pyqtgraph has no path to fill
        self.band.setVisible(band is not None and len(band.x) > 1)
        if band is None or len(band.x) < 2:
            return
        there = np.isfinite(band.low) & np.isfinite(band.high)
        # no line is drawn to a point that is left out, on either side of it
        breaks = band.breaks | ~there | np.append(~there[1:], False)
        joined = np.logical_not(breaks[there])
        connect = "all" if joined[:-1].all() else joined.astype(np.uint8)
        self._low.setData(band.x[there], band.low[there], connect=connect)
        self._high.setData(band.x[there], band.high[there], connect=connect)
        ground = QColor(colour)
        ground.setAlphaF(0.16)
        self.band.setBrush(QBrush(ground))


def series_colour(index: int) -> str:
    """Colour of a curve by its index; colours repeat."""
    series = current().series
    return series[index % len(series)]


def dash_of(index: int) -> Qt.PenStyle:
    """Dash pattern of a curve by its index."""
    return _DASHES[index // len(current().series) % len(_DASHES)]


def line_colour(drawn: Drawn) -> QColor:
    """Colour of the smooth line, or of the raw one where it is alone; of earlier passes it is paler."""
    colour = series_colour(drawn.colour)
    return QColor(mixed(colour, current().surface, OLDER_SHARE) if drawn.is_older else colour)


def raw_colour(drawn: Drawn) -> QColor:
    """Colour of the raw line: that of the series, paler where a smooth line or a mean lies over it."""
    tokens = current()
    colour = line_colour(drawn).name()
    if _is_alone(drawn):
        return QColor(colour)
    share = 0.14 if drawn.is_faint else 0.32 if tokens.is_dark else 0.28
    # mixed, not translucent: Qt draws a translucent line of many zigzags in ten times the time
    return QColor(mixed(colour, tokens.surface, share))


def _is_alone(drawn: Drawn) -> bool:
    return drawn.smooth is None and not drawn.is_faint


def _connect(line: ChartLine) -> NDArray[np.uint8] | str:
    """The `connect` argument of pyqtgraph; "all" makes the path of an unbroken line in a fifth of the time."""
    return "all" if line.connect[:-1].all() else line.connect


def _pen(colour: QColor, width: float = 1.0) -> QPen:
    pen = QPen(colour, width)
    pen.setCosmetic(True)  # its width is in pixels, whatever the axes are
    return pen
