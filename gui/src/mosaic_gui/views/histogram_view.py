"""Histograms over steps as a map, and next to it the bins of the chosen step."""

from collections.abc import Sequence

import numpy as np
from PyQt6.QtCore import QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QImage, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy

from mosaic_contracts.media import MediaValue
from mosaic_gui.state import wording
from mosaic_gui.state.heat_map import HeatMap, heat_map
from mosaic_gui.state.language import tr
from mosaic_gui.state.settings import XAxis
from mosaic_gui.state.ticks import place_ticks, value_ticks
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.views.bases import PaintedWidget

LEFT_PX, BOTTOM_PX, TOP_PX, RIGHT_PX = 56, 24, 8, 10
BARS_PX = 130
"""Width of the bins of the chosen step; none where the map would be narrower than that."""
_GAP_PX = 10
_TICK_EVERY_PX = (70, 36)
_SHADES = 64


class HistogramView(PaintedWidget):
    """A column for each step, a row for each range of values; the more values, the stronger the colour."""

    chosen = pyqtSignal(int)
    """Place of the histogram that was clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("media.histogram")
        self.setAccessibleName(tr("Histograms by step"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMouseTracking(True)
        self._values: list[MediaValue] = []
        self._place = 0
        self._made: tuple[tuple[int, int], HeatMap | None] | None = None

    def show_values(self, values: Sequence[MediaValue], place: int) -> None:
        """Show histograms and which of them is chosen."""
        if values != self._values:
            self._values, self._made = list(values), None
        self._place = place
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(420, 260)

    def minimumSizeHint(self) -> QSize:
        return QSize(160, 120)

    @property
    def _map_rect(self) -> QRectF:
        """The place of the map."""
        whole = QRectF(self.rect()).adjusted(LEFT_PX, TOP_PX, -RIGHT_PX, -BOTTOM_PX)
        if whole.width() > 2 * BARS_PX:
            whole.setRight(whole.right() - BARS_PX - _GAP_PX)
        return whole

    @property
    def map(self) -> HeatMap | None:
        """The map in the size of the widget."""
        rect = self._map_rect
        size = (max(0, int(rect.width())), max(0, int(rect.height())))
        if self._made is None or self._made[0] != size:
            rows = max(1, min(size[1] // 2, 128))
            self._made = (size, heat_map(self._values, *((size[0], rows) if size[0] else (0, 0))))
        return self._made[1]

    def words_at(self, point: QPointF) -> str:
        """Step, range of values and share of a cell."""
        found, rect = self.map, self._map_rect
        if found is None or not rect.contains(point):
            return ""
        rows, columns = found.cells.shape
        column = min(columns - 1, int((point.x() - rect.left()) / rect.width() * columns))
        row = min(rows - 1, int((point.y() - rect.top()) / rect.height() * rows))
        high = found.high - (found.high - found.low) * row / rows
        low = found.high - (found.high - found.low) * (row + 1) / rows
        return tr(
            "{place}\n{share} of the values from {low} to {high}",
            place=self._place_words(found.at[column]),
            share=f"{100 * found.cells[row, column]:.3g} %",
            low=wording.number(low),
            high=wording.number(high),
        )

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        """Choose the step below the pointer."""
        if event is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(event.position())

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        """Follow a drag."""
        if event is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._choose(event.position())

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        tokens = current()
        painter.fillRect(self.rect(), QColor(tokens.surface))
        found = self.map
        if found is None:
            return
        rect = self._map_rect
        painter.drawImage(rect, _image(found))
        painter.setPen(QColor(tokens.line))
        painter.drawRect(rect)
        self._paint_axes(painter, rect, found)
        self._paint_choice(painter, rect, found)

    def _paint_axes(self, painter: QPainter, rect: QRectF, found: HeatMap) -> None:
        painter.setFont(ui_font(11))
        painter.setPen(QColor(current().muted))
        right, up = Qt.AlignmentFlag.AlignRight, Qt.AlignmentFlag.AlignVCenter
        most = max(2, int(rect.height()) // _TICK_EVERY_PX[1])
        for value, text in value_ticks(found.low, found.high, most, log_scale=False):
            y = rect.bottom() - (value - found.low) / (found.high - found.low) * rect.height()
            painter.drawText(QRectF(0, y - 9, LEFT_PX - 6, 18), right | up, text)
        first, last = float(found.places[0]), float(found.places[-1])
        if last <= first:
            words = self._place_words(0) if found.has_steps else ""
            below = QRectF(rect.left(), rect.bottom() + 4, rect.width(), 18)
            painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, words)
            return
        most = max(2, int(rect.width()) // _TICK_EVERY_PX[0])
        for place, text in place_ticks(XAxis.STEP, first, last, most):
            x = rect.left() + (place - first) / (last - first) * rect.width()
            below = QRectF(x - 40, rect.bottom() + 4, 80, 18)
            if below.right() < self.width() and below.left() > 0:
                painter.drawText(below, Qt.AlignmentFlag.AlignHCenter, text)

    def _paint_choice(self, painter: QPainter, rect: QRectF, found: HeatMap) -> None:
        """The line at the chosen step, and its bins on the same vertical axis."""
        if self._place >= len(self._values):
            return
        value, tokens = self._values[self._place], current()
        first, last = float(found.places[0]), float(found.places[-1])
        if last > first and self._place < len(found.places):
            share = (float(found.places[self._place]) - first) / (last - first)
            x = rect.left() + share * rect.width()
            painter.setPen(QPen(QColor(tokens.text), 1))
            painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom()))
        left, room = rect.right() + _GAP_PX, self.width() - RIGHT_PX - rect.right() - _GAP_PX
        most = max(value.counts or [0.0])
        if room < BARS_PX / 2 or not value.edges or not value.counts or most <= 0:
            return
        scale = rect.height() / (found.high - found.low)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(tokens.accent))
        for low, high, count in zip(value.edges, value.edges[1:], value.counts, strict=False):
            top = rect.bottom() - (high - found.low) * scale
            height = max(1.0, (high - low) * scale - 0.5)
            painter.drawRect(QRectF(left, top, room * count / most, height))

    def _choose(self, point: QPointF) -> None:
        found, rect = self.map, self._map_rect
        if found is None or not self._values:
            return
        columns = len(found.at)
        column = int((point.x() - rect.left()) / max(1.0, rect.width()) * columns)
        self.chosen.emit(found.at[min(max(column, 0), columns - 1)])

    def _place_words(self, place: int) -> str:
        step = self._values[place].step if place < len(self._values) else None
        if step is None:
            return tr("value {n}", n=wording.count(place + 1))
        return tr("step {n}", n=wording.count(step))


def _image(found: HeatMap) -> QImage:
    """The cells in colours of the theme. Square roots show what is rare."""
    tokens = current()
    shades = [mixed(tokens.accent, tokens.surface, n / (_SHADES - 1)) for n in range(_SHADES)]
    table = np.array([int(QColor(shade).rgb()) for shade in shades], dtype=np.uint32)
    largest = found.cells.max() or 1.0
    index = np.sqrt(found.cells / largest) * (_SHADES - 1)
    pixels = np.ascontiguousarray(table[np.rint(index).astype(int)])
    rows, columns = pixels.shape
    image = QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGB32)
    return image.copy()  # which does not need the bytes any more
