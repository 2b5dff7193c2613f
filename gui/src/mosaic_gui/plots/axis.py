"""Axes whose numbers a person can read: `20k`, and powers of ten on a logarithmic scale."""

from typing import Any

import pyqtgraph as pg
from PyQt6.QtCore import QLineF, QPointF
from PyQt6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from mosaic_gui.state.settings import XAxis
from mosaic_gui.state.ticks import place_ticks
from mosaic_gui.state.wording import short_count
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import mixed

SEEN_FROM = 40
"""Least opacity (of 255) of a line that is drawn; fainter ones are not visible."""
PLACE_HEIGHT_PX, PLACE_TOP_PX, PLACE_EVERY_PX, PLACE_GAP_PX = 22, 6, 66, 10
"""Height of a horizontal axis, the room above its texts, the least distance of two places, and of two texts."""
_Stroke = tuple[QPen, QPointF, QPointF]


class _Axis(pg.AxisItem):
    """Painted from the layout, not from a recorded picture, which searches its font again for each label."""

    picture: Any
    """Layout of line, ticks and texts; None: not made yet."""

    def paint(self, p: QPainter, _opt: object, _widget: object) -> None:
        if self.picture is None:  # pyqtgraph forgets it when the range changes
            if self.style["tickFont"]:
                p.setFont(self.style["tickFont"])
            self.picture = self.generateDrawSpecs(p) or ()
        if self.picture:
            self.drawPicture(p, *self.picture)

    def drawPicture(self, p: QPainter, axis: _Stroke, ticks: list[_Stroke], texts: object) -> None:
        """Draw an axis as pyqtgraph does, with opaque lines of one colour in one call."""
        by_colour: dict[int, list[QLineF]] = {}
        for pen, begin, end in ticks:
            if begin != end and pen.color().alpha() >= SEEN_FROM:
                by_colour.setdefault(pen.color().rgba(), []).append(QLineF(begin, end))
        p.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        for rgba, lines in by_colour.items():
            colour = QColor.fromRgba(rgba)
            # what is translucent is drawn pixel by pixel
            p.setPen(QColor(mixed(colour.name(), current().surface, colour.alphaF())))
            p.drawLines(*lines)
        super().drawPicture(p, axis, [], texts)


class CountAxis(_Axis):
    """Steps, episodes or seconds."""

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if spacing >= 1:
            return [short_count(round(value * scale)) for value in values]
        return list(super().tickStrings(values, scale, spacing))


class StretchAxis(pg.AxisItem):
    """Horizontal axis of a chart. It is painted directly: pyqtgraph's takes three milliseconds whenever it is moved."""

    def __init__(self, axis: XAxis) -> None:
        super().__init__(orientation="bottom")
        self._axis = axis
        self.setHeight(PLACE_HEIGHT_PX)

    def paint(self, p: QPainter, _opt: object, _widget: object) -> None:
        """Draw a line and round places; the last one is moved inside where it would be cut."""
        width, (low, high) = self.size().width(), self.range
        p.setPen(self.pen())
        p.drawLine(QPointF(0, 0.5), QPointF(width, 0.5))
        if not high > low or width <= 0:
            return
        font = self.style["tickFont"]
        p.setFont(font)
        p.setPen(self.textPen())
        across = QFontMetricsF(font)
        ticks = place_ticks(self._axis, low, high, max(2, int(width // PLACE_EVERY_PX)))
        end = -PLACE_GAP_PX
        for place, text in ticks:
            need = across.horizontalAdvance(text)
            left = (place - low) / (high - low) * width - need / 2
            left = min(max(left, 0.0), width - need)
            if left >= end + PLACE_GAP_PX:
                p.drawText(QPointF(left, PLACE_TOP_PX + across.ascent()), text)
                end = left + need


class NumberAxis(CountAxis):
    """Numbers of trials: no ticks between two of them."""

    def tickSpacing(self, low: float, high: float, size: float) -> list[tuple[float, float]]:
        levels = super().tickSpacing(low, high, size)
        return [level for level in levels if level[0] >= 1] or [(1.0, 0.0)]


class ValueAxis(_Axis):
    """Axis of values; on a logarithmic scale they are exponents."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.is_log = False
        self.enableAutoSIPrefix(False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self.is_log:
            return [f"{10**value:.3g}" for value in values]
        most = max((abs(value) for value in values), default=0.0)
        if most >= 1e12 or 0 < most < 1e-3:
            return [f"{value:.1e}".replace("e+", "e") if value else "0" for value in values]
        if most >= 10_000 and spacing >= 1:
            return [short_count(round(value * scale)) for value in values]
        return list(super().tickStrings(values, scale, spacing))
