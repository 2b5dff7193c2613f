"""Marks of a chart: dots for points that no line leads to, and crosses where a value is NaN or infinite."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QRectF, Qt
from PyQt6.QtGui import QColor, QPainter, QPen, QPolygonF

from mosaic_gui.plots.curve_pens import line_colour, raw_colour
from mosaic_gui.state.alert_marks import PlacedMark
from mosaic_gui.state.chart_line import ChartLine, Floats, spread_marks
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.curves import Drawn

LARGE_PX, SMALL_PX, CROSS_PX = 6.0, 2.5, 8
MOST_LARGE = 60
"""Dots of one line; more of them lie so close that they have to look like a line."""
MOST = 4_000
"""Dots of one line; more take longer to draw than a frame has."""
ABOVE_CURVES = 3
ALERT_PX = 10
ALERT_BELOW_TOP = 0.03
"""Share of the height between the top and the triangle of an alert."""


class Dots(NamedTuple):
    """Lone points of one line."""

    x: Floats
    y: Floats
    colour: QColor


class LonePoints(pg.GraphicsObject):
    """One item for all curves of a chart. Its pens are round, so a point is a dot; symbols take ten times as long."""

    def __init__(self, plot: pg.PlotItem) -> None:
        super().__init__()
        self.dots: list[Dots] = []
        self._drawn: list[tuple[QPolygonF, QPen]] = []
        self._bounds = QRectF()
        self.setZValue(ABOVE_CURVES)
        plot.addItem(self, ignoreBounds=True)

    def show_points(self, drawn: Sequence[Drawn]) -> None:
        """Draw the lone points of these curves."""
        before = self.dots
        self.dots = [
            _some(Dots(line.x[lone], line.y[lone], colour))
            for line, colour in _lines(drawn)
            if (lone := line.lone).any()
        ]
        if not before and not self.dots:
            return
        self.prepareGeometryChange()
        self._drawn = [
            (pg.functions.arrayToQPolygonF(one.x, one.y), _pen(one)) for one in self.dots
        ]
        self._bounds = QRectF()
        for polygon, _ in self._drawn:
            self._bounds = self._bounds.united(polygon.boundingRect().adjusted(-1, -1, 1, 1))
        self.update()

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw all dots of a line at once."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for polygon, pen in self._drawn:
            painter.setPen(pen)
            painter.drawPoints(polygon)


def _some(dots: Dots) -> Dots:
    step = len(dots.x) // MOST + 1
    return Dots(dots.x[::step], dots.y[::step], dots.colour)


def _pen(dots: Dots) -> QPen:
    pen = QPen(dots.colour, LARGE_PX if len(dots.x) <= MOST_LARGE else SMALL_PX)
    pen.setCosmetic(True)
    pen.setCapStyle(Qt.PenCapStyle.RoundCap)
    return pen


def _lines(drawn: Sequence[Drawn]) -> Iterator[tuple[ChartLine, QColor]]:
    for one in drawn:
        yield one.raw, raw_colour(one)
    for one in drawn:
        if one.smooth is not None:
            yield one.smooth, line_colour(one)


class AlertMarks:
    """A line across the chart with a triangle on top for each alert; made with the first one."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self._plot = plot
        self._lines: pg.PlotCurveItem | None = None
        self._tips: pg.ScatterPlotItem | None = None
        self.marks: list[PlacedMark] = []

    def show(self, marks: Sequence[PlacedMark], floor: float, top: float) -> None:
        """Mark alerts between the ends of the vertical axis."""
        self.marks = list(marks)
        if not marks and self._lines is None:
            return
        lines, tips = self._items()
        x = np.array([mark.x for mark in marks], dtype=np.float64)
        lines.setData(np.repeat(x, 2), np.tile([floor, top], len(x)), connect="pairs")
        tips.setData(x, np.full(len(x), top - ALERT_BELOW_TOP * (top - floor)))

    def near(self, x: float, reach: float) -> list[PlacedMark]:
        """Marks that are no further away."""
        return [mark for mark in self.marks if abs(mark.x - x) <= reach]

    def recolour(self) -> None:
        """Take the colours of the theme that is applied."""
        if self._lines is not None and self._tips is not None:
            warn = current().warn
            self._lines.setPen(pg.mkPen(warn, width=1, style=Qt.PenStyle.DashLine))
            self._tips.setPen(pg.mkPen(warn))
            self._tips.setBrush(pg.mkBrush(warn))

    def _items(self) -> tuple[pg.PlotCurveItem, pg.ScatterPlotItem]:
        if self._lines is None or self._tips is None:
            self._lines = pg.PlotCurveItem()
            self._tips = pg.ScatterPlotItem(symbol="t", size=ALERT_PX, pxMode=True)
            for item in (self._lines, self._tips):
                item.setZValue(ABOVE_CURVES)
                self._plot.addItem(item, ignoreBounds=True)
            self.recolour()
        return self._lines, self._tips


class GapMarks:
    """Crosses along the lower edge; one item for all curves, because each item costs as much as a curve."""

    def __init__(self, plot: pg.PlotItem) -> None:
        self.item = pg.ScatterPlotItem(symbol="x", size=CROSS_PX, pxMode=True)
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
