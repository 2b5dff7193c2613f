"""Paints a picture of an environment, its grid, or the values of an observation, as large as the space allows."""

import math
from collections.abc import Sequence

from PyQt6.QtCore import QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QImage, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QSizePolicy, QWidget

from mosaic_contracts.grid import Grid
from mosaic_gui.state import wording
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.views.world import draw_world

MARGIN = 12
PIXEL_ART = 320
"""Frames with sides up to this many pixels are magnified pixel by pixel, so that their edges stay sharp."""
MOST_VALUES = 64
_ROW, _INDEX, _NUMBER = 22, 30, 76
"""Height of a value's row, and widths of its number and of its figure."""


class FrameCanvas(QWidget):
    """Shows one of a picture, a grid or values; nothing at first."""

    painted = pyqtSignal()
    """What was shown last was painted."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._image: QImage | None = None
        self._magnified: tuple[int, QImage] | None = None
        self._grid: Grid | None = None
        self._place: tuple[int, int] | None = None
        self._values: list[float] = []
        self._span = 1.0
        self.is_faded = False
        """Whether what is shown is older than what was asked for."""
        self._is_framed = False
        self._strip = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(name)

    def show_image(self, image: QImage) -> None:
        """Show a picture."""
        self._clear()
        self._image = image
        self.update()

    def show_grid(self, grid: Grid, place: tuple[int, int] | None) -> None:
        """Show a grid world with the agent at a row and column."""
        self._clear()
        self._grid, self._place = grid, place
        self.update()

    def show_values(self, values: Sequence[float]) -> None:
        """Show the numbers of an observation as bars. The largest one so far spans the width."""
        span = self._span
        self._clear()
        self._values = list(values[:MOST_VALUES])
        largest = max((abs(v) for v in self._values if math.isfinite(v)), default=0.0)
        self._span = max(span, largest)
        self.update()

    def show_nothing(self) -> None:
        """Show an empty surface."""
        self._clear()
        self._span = 1.0
        self.update()

    def set_faded(self, on: bool) -> None:
        """Show whether a newer picture is awaited."""
        if on is not self.is_faded:
            self.is_faded = on
            self.update()

    def set_framed(self, on: bool) -> None:
        """Frame the picture, or the place of it: it has the keyboard."""
        if on is not self._is_framed:
            self._is_framed = on
            self.update()

    def set_strip(self, height: int) -> None:
        """Keep a strip of this height free above the picture."""
        if height != self._strip:
            self._strip = height
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(360, 300)

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        room = QRectF(self.rect()).adjusted(MARGIN, MARGIN + self._strip, -MARGIN, -MARGIN)
        if room.width() < 1 or room.height() < 1:
            return
        if self.is_faded:
            painter.setOpacity(0.55)
        if self._image is not None:
            self._paint_image(painter, room, self._image)
        elif self._grid is not None:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            draw_world(painter, room, self._grid, self._place)
        elif self._values:
            self._paint_values(painter, room)
        if self._is_framed:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(QPen(QColor(current().accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(QRectF(self.rect()).adjusted(3, 3, -3, -3), 6, 6)
        painter.end()
        self.painted.emit()

    def _clear(self) -> None:
        self._image = self._magnified = self._grid = self._place = None
        self._values = []

    def _paint_image(self, painter: QPainter, room: QRectF, image: QImage) -> None:
        place = fitted(image.size(), room)
        factor = place.width() * self.devicePixelRatioF() / image.width()
        if factor > 1 and max(image.width(), image.height()) <= PIXEL_ART:
            image = self._magnify(image, math.ceil(factor))
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        painter.drawImage(place, image)
        painter.setPen(QColor(current().line))
        painter.drawRect(place.adjusted(-0.5, -0.5, 0.5, 0.5))

    def _magnify(self, image: QImage, times: int) -> QImage:
        """Repeat each pixel; what is too large by a part of a pixel is then scaled down smoothly."""
        if self._magnified is None or self._magnified[0] != times:
            size = image.size() * times
            self._magnified = (times, image.scaled(size))
        return self._magnified[1]

    def _paint_values(self, painter: QPainter, room: QRectF) -> None:
        tokens = current()
        height = min(float(_ROW), room.height() / len(self._values))
        bars = room.adjusted(_INDEX, 0, -_NUMBER, 0)
        left, right = Qt.AlignmentFlag.AlignLeft, Qt.AlignmentFlag.AlignRight
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(ui_font(max(7, min(12, int(height * 0.62)))))
        for n, value in enumerate(self._values):
            row = QRectF(room.left(), room.top() + n * height, room.width(), height)
            painter.setPen(QColor(tokens.muted))
            painter.drawText(row, left | middle, str(n))
            painter.setPen(QColor(tokens.text))
            painter.drawText(row, right | middle, wording.number(value, 3))
            track = QRectF(bars.left(), row.center().y() - height * 0.25, bars.width(), height / 2)
            painter.fillRect(track, QColor(mixed(tokens.raised, tokens.surface, 0.7)))
            painter.fillRect(self._bar(track, value), QColor(tokens.accent))
            painter.fillRect(
                QRectF(track.center().x() - 0.5, track.top() - 1, 1, track.height() + 2),
                QColor(tokens.edge),
            )

    def _bar(self, track: QRectF, value: float) -> QRectF:
        share = value / self._span if math.isfinite(value) else 0.0
        half, middle = track.width() / 2, track.center().x()
        length = abs(share) * half
        return QRectF(
            middle if share >= 0 else middle - length, track.top(), length, track.height()
        )


def fitted(size: QSize, room: QRectF) -> QRectF:
    """The largest place with the shape of a picture in the middle of a room; a pixel at least in each direction."""
    factor = min(room.width() / size.width(), room.height() / size.height())
    place = QRectF(0, 0, max(1.0, size.width() * factor), max(1.0, size.height() * factor))
    place.moveCenter(room.center())
    return place
