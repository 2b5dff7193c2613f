"""A chart as a figure for a paper: white ground, titles of both axes, a legend; lines stay lines in PDF and SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PyQt6.QtCore import QPointF, QRectF, QSizeF, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetricsF, QPainter, QPainterPath, QPen, QPolygonF

from mosaic_gui.plots.curve_pens import dash_of
from mosaic_gui.state.chart_line import ChartLine, Floats
from mosaic_gui.state.clipping import clipped
from mosaic_gui.state.settings import XAxis
from mosaic_gui.state.ticks import Tick, place_ticks, value_ticks
from mosaic_gui.theme.apply import ui_font
from mosaic_gui.theme.tokens import LIGHT, mixed
from mosaic_gui.viewmodels.curves import Drawn

WIDTH_PT, PLOT_HEIGHT_PT = 432.0, 240.0
"""Six inches: the width of a text column, to be scaled down for two."""
BUCKETS = 800
_TEXT_PX, _TICK_PX = 11, 10
"""Heights of letters; a painter's unit is a point here."""
_MARGIN, _GAP, _TICK = 10.0, 5.0, 3.0
_TICKS_A_PT = 1 / 62
_ROW = 15.0
_SAMPLE = 20.0
_BAND, _RAW, _OLDER = 0.18, 0.25, 0.5
_LINE, _FAINT = 1.3, 0.6
_GROUND, _INK, _GRID = "#ffffff", "#1a2029", "#e3e7ec"


@dataclass(frozen=True)
class Figure:
    """What a figure shows."""

    drawn: Sequence[Drawn]
    names: Sequence[tuple[str, int]]
    """Names of the curves with the indices of their colours; none: no legend."""
    x_span: tuple[float, float]
    y_span: tuple[float, float]
    axis: XAxis
    x_title: str
    y_title: str
    log_scale: bool

    @property
    def size(self) -> QSizeF:
        """Size in points."""
        return QSizeF(
            WIDTH_PT, PLOT_HEIGHT_PT + _ROW * len(self._rows()) + (_GAP if self.names else 0)
        )

    def paint(self, painter: QPainter) -> None:
        """Draw the figure; one unit of the painter is one point."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(QRectF(0, 0, self.size.width(), self.size.height()), QColor(_GROUND))
        font = _font(_TICK_PX)
        across = QFontMetricsF(font)
        y_ticks = value_ticks(*self.y_span, 6, log_scale=self.log_scale)
        labels = max((across.horizontalAdvance(text) for _, text in y_ticks), default=0)
        left = _MARGIN + _TEXT_PX + _GAP + labels + _GAP + _TICK
        below = _MARGIN + _TEXT_PX + _GAP + _TICK_PX + _GAP
        plot = QRectF(
            left, _MARGIN, WIDTH_PT - left - _MARGIN - 6, PLOT_HEIGHT_PT - below - _MARGIN
        )
        x_ticks = place_ticks(self.axis, *self.x_span, max(2, int(plot.width() * _TICKS_A_PT)))
        self._axes(painter, plot, x_ticks, y_ticks)
        # of a group a paper shows mean and band, not each seed
        drawn = [one for one in self.drawn if not one.is_faint]
        for one in sorted(drawn, key=lambda one: one.smooth is not None and not one.is_older):
            self._curve(painter, plot, one)
        self._titles(painter, plot)
        self._legend(painter)

    def _axes(
        self, painter: QPainter, plot: QRectF, xs: Sequence[Tick], ys: Sequence[Tick]
    ) -> None:
        painter.setFont(_font(_TICK_PX))
        for value, text in ys:
            y = self._at(plot, 0, value).y()
            painter.setPen(QPen(QColor(_GRID), 0.6))
            painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y))
            painter.setPen(QPen(QColor(_INK), 0.7))
            painter.drawLine(QPointF(plot.left() - _TICK, y), QPointF(plot.left(), y))
            place = QRectF(0, y - _TICK_PX, plot.left() - _TICK - _GAP, 2.0 * _TICK_PX)
            painter.drawText(
                place, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text
            )
        for value, text in xs:
            x = self._at(plot, value, 0).x()
            painter.drawLine(QPointF(x, plot.bottom()), QPointF(x, plot.bottom() + _TICK))
            place = QRectF(x - 40, plot.bottom() + _TICK + 2, 80, 1.4 * _TICK_PX)
            painter.drawText(place, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, text)
        painter.drawLine(plot.bottomLeft(), plot.bottomRight())
        painter.drawLine(plot.topLeft(), plot.bottomLeft())

    def _titles(self, painter: QPainter, plot: QRectF) -> None:
        painter.setFont(_font(_TEXT_PX))
        painter.setPen(QColor(_INK))
        place = QRectF(
            plot.left(), PLOT_HEIGHT_PT - _MARGIN - _TEXT_PX - 2, plot.width(), 1.6 * _TEXT_PX
        )
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, self.x_title)
        painter.save()
        painter.translate(_MARGIN + _TEXT_PX / 2, plot.center().y())
        painter.rotate(-90)
        place = QRectF(-plot.height() / 2, -_TEXT_PX, plot.height(), 2.0 * _TEXT_PX)
        painter.drawText(place, Qt.AlignmentFlag.AlignCenter, self.y_title)
        painter.restore()

    def _curve(self, painter: QPainter, plot: QRectF, one: Drawn) -> None:
        colour = QColor(LIGHT.series[one.colour % len(LIGHT.series)])
        if one.is_older:
            colour = QColor(mixed(colour.name(), _GROUND, _OLDER))
        if one.band is not None and len(one.band.x) > 1:
            self._band(painter, plot, one, colour)
        is_alone = one.smooth is None and not one.is_faint
        raw = colour if is_alone else QColor(mixed(colour.name(), _GROUND, _RAW))
        self._line(painter, plot, one.raw, QPen(raw, _LINE if is_alone else _FAINT))
        if one.smooth is not None:
            pen = QPen(colour, _LINE)
            pen.setStyle(dash_of(one.colour))
            self._line(painter, plot, one.smooth, pen)

    def _line(self, painter: QPainter, plot: QRectF, line: ChartLine, pen: QPen) -> None:
        pen.setJoinStyle(Qt.PenJoinStyle.RoundJoin)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        path, before = QPainterPath(), None
        for x0, y0, x1, y1 in clipped(
            line.x, line.y, line.connect, self.x_span, self.y_span
        ).tolist():
            if (x0, y0) != before:
                path.moveTo(self._at(plot, x0, y0))
            path.lineTo(self._at(plot, x1, y1))
            before = (x1, y1)
        painter.drawPath(path)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(pen.color())
        for x, y in zip(line.x[line.lone].tolist(), line.y[line.lone].tolist(), strict=True):
            if self.x_span[0] <= x <= self.x_span[1] and self.y_span[0] <= y <= self.y_span[1]:
                painter.drawEllipse(self._at(plot, x, y), 2.0, 2.0)

    def _band(self, painter: QPainter, plot: QRectF, one: Drawn, colour: QColor) -> None:
        band = one.band
        if band is None:
            return
        there = np.isfinite(band.low) & np.isfinite(band.high)
        there &= (band.x >= self.x_span[0]) & (band.x <= self.x_span[1])
        ends = np.flatnonzero((band.breaks | ~there)[:-1]) + 1
        ground = QColor(colour)
        ground.setAlphaF(_BAND)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(ground)
        for places in np.split(np.arange(len(band.x)), ends):
            part = places[there[places]]
            if len(part) > 1:
                low, high = (np.clip(edge[part], *self.y_span) for edge in (band.low, band.high))
                x: Floats = band.x[part]
                corners = [*zip(x, low, strict=True), *zip(x[::-1], high[::-1], strict=True)]
                painter.drawPolygon(QPolygonF([self._at(plot, a, b) for a, b in corners]))

    def _at(self, plot: QRectF, x: float, y: float) -> QPointF:
        (left, right), (low, high) = self.x_span, self.y_span
        across, up = (x - left) / (right - left), (y - low) / (high - low)
        return QPointF(plot.left() + across * plot.width(), plot.bottom() - up * plot.height())

    def _rows(self) -> list[list[tuple[str, int, float]]]:
        """Entries of the legend by line, each with its width."""
        across = QFontMetricsF(_font(_TICK_PX))
        rows: list[list[tuple[str, int, float]]] = []
        free = 0.0
        for name, colour in self.names:
            width = _SAMPLE + _GAP + across.horizontalAdvance(name) + 3 * _GAP
            if not rows or width > free:
                rows.append([])
                free = WIDTH_PT - 2 * _MARGIN
            rows[-1].append((name, colour, width))
            free -= width
        return rows

    def _legend(self, painter: QPainter) -> None:
        painter.setFont(_font(_TICK_PX))
        for n, row in enumerate(self._rows()):
            middle = PLOT_HEIGHT_PT + _GAP / 2 + _ROW * (n + 0.5)
            x = (WIDTH_PT - sum(width for _, _, width in row)) / 2
            for name, colour, width in row:
                pen = QPen(QColor(LIGHT.series[colour % len(LIGHT.series)]), _LINE)
                pen.setStyle(dash_of(colour))
                painter.setPen(pen)
                painter.drawLine(QPointF(x, middle), QPointF(x + _SAMPLE, middle))
                painter.setPen(QColor(_INK))
                place = QRectF(x + _SAMPLE + _GAP, middle - _ROW / 2, width, _ROW)
                painter.drawText(
                    place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name
                )
                x += width


def _font(height: int) -> QFont:
    return ui_font(height)
