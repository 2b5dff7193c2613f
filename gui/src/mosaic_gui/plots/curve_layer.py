"""All curves of a chart as one picture, which is painted in short steps and moved with the axes until it is new."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QRectF, QSize, Qt
from PyQt6.QtGui import QBrush, QColor, QImage, QPainter, QPainterPath, QPen
from PyQt6.QtWidgets import QWidget

from mosaic_gui.plots.curve_pens import (
    ROUGH_FROM,
    band_brush,
    is_alone,
    line_colour,
    raw_colour,
    smooth_pen,
)
from mosaic_gui.state.chart_line import ChartLine, Floats
from mosaic_gui.viewmodels.curves import Drawn

FARTHEST_PX = 1e6
"""Places beyond this are moved there: Qt computes with them in whole parts of a pixel."""
BENEATH_DOTS = 2


@dataclass(frozen=True)
class Stroke:
    """One line of the picture."""

    line: ChartLine
    pen: QPen
    antialias: bool


class CurveLayer(pg.GraphicsObject):
    """The picture covers more than the visible stretch, so that moving the axis shows curves at once."""

    def __init__(self, plot: pg.PlotItem) -> None:
        super().__init__()
        self.strokes: list[Stroke] = []
        """Lines of the picture, in the order in which they were painted."""
        self.curve_count = 0
        self._picture = QImage()
        self._place = QRectF()
        """What the picture covers, on the axes."""
        self.setZValue(BENEATH_DOTS)
        plot.addItem(self, ignoreBounds=True)

    def painting(
        self, drawn: Sequence[Drawn], place: QRectF, size: QSize, width: float, screen: QWidget
    ) -> Iterator[None]:
        """Paint a new picture, a line each step, and show it at the end.

        Args:
            drawn: Curves.
            place: What the picture is to cover, on the axes.
            size: Its size in logical pixels.
            width: Width of smoothed lines in pixels.
            screen: Widget that shows it: the picture is as sharp as its screen.
        """
        ratio = screen.devicePixelRatioF()
        picture = QImage(size * ratio, QImage.Format.Format_ARGB32_Premultiplied)
        picture.setDevicePixelRatio(ratio)
        picture.fill(Qt.GlobalColor.transparent)
        scale = _Scale(place, size)
        strokes: list[Stroke] = []
        for one in drawn:
            self._stroke(picture, scale, _raw_stroke(one), strokes)
            yield
        for one in drawn:
            if one.band is not None and len(one.band.x) > 1:
                _paint_band(picture, scale, one)
                yield
        for one in drawn:
            if one.smooth is not None:
                stroke = Stroke(one.smooth, smooth_pen(one, width), antialias=True)
                self._stroke(picture, scale, stroke, strokes)
                yield
        self.prepareGeometryChange()
        self._picture, self._place, self.strokes = picture, place, strokes
        self.curve_count = sum(
            len(one.raw.x) > 0 or (one.smooth is not None and len(one.smooth.x) > 0)
            for one in drawn
        )
        self.update()

    def clear(self) -> None:
        """Show nothing."""
        self.prepareGeometryChange()
        self._picture, self._place, self.strokes, self.curve_count = QImage(), QRectF(), [], 0

    def boundingRect(self) -> QRectF:
        return self._place

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw the picture where the axes are now."""
        if self._picture.isNull():
            return
        target = painter.transform().mapRect(self._place)
        painter.save()
        painter.resetTransform()
        size = self._picture.deviceIndependentSize()
        if abs(target.width() - size.width()) < 1 and abs(target.height() - size.height()) < 1:
            # only moved: whole pixels are copied, which takes a tenth of the time of scaling
            painter.drawImage(target.topLeft().toPoint(), self._picture)
        else:
            painter.drawImage(target, self._picture, QRectF(self._picture.rect()))
        painter.restore()

    def _stroke(
        self, picture: QImage, scale: "_Scale", stroke: Stroke, strokes: list[Stroke]
    ) -> None:
        line = stroke.line
        if not len(line.x):
            return
        strokes.append(stroke)
        painter = QPainter(picture)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, stroke.antialias)
        painter.setPen(stroke.pen)
        painter.drawPath(scale.path(line.x, line.y, line.connect))
        painter.end()


class _Scale:
    """From the axes to pixels of the picture."""

    def __init__(self, place: QRectF, size: QSize) -> None:
        self._left, self._top = place.left(), place.top() + place.height()
        self._across = size.width() / (place.width() or 1.0)
        self._up = size.height() / (place.height() or 1.0)

    def x(self, x: Floats) -> Floats:
        return np.clip((x - self._left) * self._across, -FARTHEST_PX, FARTHEST_PX)

    def y(self, y: Floats) -> Floats:
        return np.clip((self._top - y) * self._up, -FARTHEST_PX, FARTHEST_PX)

    def path(self, x: Floats, y: Floats, connect: object) -> QPainterPath:
        """A path of Qt; `connect` as in `ChartLine`."""
        joined = np.asarray(connect)
        # "all" makes the path of an unbroken line in a fifth of the time
        ways = "all" if joined[:-1].all() else joined.astype(np.int32)
        path: QPainterPath = pg.functions.arrayToQPath(
            self.x(x), self.y(y), connect=ways, finiteCheck=False
        )
        return path


def _raw_stroke(one: Drawn) -> Stroke:
    antialias = is_alone(one) or len(one.raw.x) < ROUGH_FROM
    return Stroke(one.raw, QPen(QColor(raw_colour(one)), 1.0), antialias)


def _paint_band(picture: QImage, scale: _Scale, one: Drawn) -> None:
    """Fill the band around a mean, broken where the mean is."""
    band = one.band
    if band is None:
        return
    there = np.isfinite(band.low) & np.isfinite(band.high)
    ends = np.flatnonzero((band.breaks | ~there)[:-1]) + 1
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QBrush(band_brush(line_colour(one))))
    for places in np.split(np.arange(len(band.x)), ends):
        part = places[there[places]]
        if len(part) > 1:
            x = np.concatenate([band.x[part], band.x[part][::-1]])
            y = np.concatenate([band.low[part], band.high[part][::-1]])
            painter.drawPolygon(pg.functions.arrayToQPolygonF(scale.x(x), scale.y(y)))
    painter.end()
