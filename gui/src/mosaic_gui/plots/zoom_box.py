"""Area of a chart in which the mouse chooses the visible stretch of the horizontal axis."""

import time
from typing import Any

import pyqtgraph as pg
from PyQt6.QtCore import QPointF, QRectF, Qt, pyqtSignal
from PyQt6.QtGui import QColor
from PyQt6.QtWidgets import QGraphicsRectItem

from mosaic_gui.state.x_zoom import PAN_SHARE, WHEEL_FACTOR, moved, scaled
from mosaic_gui.theme.current import current

LEAST_DRAG_PX = 4
"""Shorter drags are clicks with an unsteady hand."""
NOTCH = 120.0
"""Angle of one notch of a wheel, in Qt's eighths of a degree."""
TURN_S = 0.6
"""Notches of a wheel that follow each other within this time are one turn, and are undone together."""
_ABOVE = 1_000
_BAND_ALPHA = 0.18


class ZoomBox(pg.ViewBox):
    """Drag chooses a stretch, Shift-drag or the middle button moves it, the wheel zooms at the pointer.

    It changes no range by itself: all charts of a page have the same one.
    """

    span_wanted = pyqtSignal(float, float, object)
    """First and last place, and the gesture that they belong to."""
    choosing = pyqtSignal()
    """A stretch is being chosen."""
    all_wanted = pyqtSignal()
    menu_wanted = pyqtSignal(QPointF)
    """Place on the screen of a click with the right button."""

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.setMouseEnabled(False, False)
        self._gesture = 0
        self._turned = 0.0
        self._before: tuple[float, float] = (0.0, 1.0)
        self.band = QGraphicsRectItem(self)
        self.band.setZValue(_ABOVE)
        self.band.hide()

    def mouseDragEvent(self, ev: Any, axis: object = None) -> None:
        """Follow a drag: the stretch that it covers, or the movement."""
        ev.accept()
        pans = (
            ev.button() is Qt.MouseButton.MiddleButton
            or ev.modifiers() & Qt.KeyboardModifier.ShiftModifier
        )
        if ev.isStart():
            self._gesture += 1
            self._before = self._span()
        if pans:
            self.band.hide()
            self._pan(ev)
        elif ev.button() is Qt.MouseButton.LeftButton:
            self._choose(ev)

    def wheelEvent(self, ev: Any, axis: object = None) -> None:
        """Zoom at the pointer; Shift moves along the axis, and Ctrl leaves the wheel to the page."""
        if ev.modifiers() & Qt.KeyboardModifier.ControlModifier:
            ev.ignore()
            return
        ev.accept()
        now = time.monotonic()
        if now - self._turned > TURN_S:
            self._gesture += 1
        self._turned = now
        notches = ev.delta() / NOTCH
        low, high = self._span()
        if (
            ev.modifiers() & Qt.KeyboardModifier.ShiftModifier
            or ev.orientation() is Qt.Orientation.Horizontal
        ):
            wanted = moved((low, high), -notches * PAN_SHARE * (high - low))
        else:
            at = float(self.mapSceneToView(ev.scenePos()).x())
            wanted = scaled((low, high), at, WHEEL_FACTOR**notches)
        self.span_wanted.emit(*wanted, ("wheel", id(self), self._gesture))

    def mouseDoubleClickEvent(self, ev: Any) -> None:
        """Show all points."""
        ev.accept()
        self.all_wanted.emit()

    def mouseClickEvent(self, ev: Any) -> None:
        """Open the menu with the right button."""
        if ev.button() is Qt.MouseButton.RightButton:
            ev.accept()
            self.menu_wanted.emit(QPointF(ev.screenPos()))

    def _span(self) -> tuple[float, float]:
        low, high = self.viewRange()[0]
        return float(low), float(high)

    def _pan(self, ev: Any) -> None:
        width = self.width() or 1.0
        way = ev.buttonDownPos().x() - ev.pos().x()
        by = way / width * (self._before[1] - self._before[0])
        self.span_wanted.emit(*moved(self._before, by), ("pan", id(self), self._gesture))

    def _choose(self, ev: Any) -> None:
        inside = QRectF(0, 0, self.width(), self.height())
        left, right = sorted(
            min(max(x, inside.left()), inside.right())
            for x in (ev.buttonDownPos().x(), ev.pos().x())
        )
        if not ev.isFinish():
            accent = QColor(current().accent)
            self.band.setPen(pg.mkPen(accent, width=1))
            accent.setAlphaF(_BAND_ALPHA)
            self.band.setBrush(accent)
            self.band.setRect(QRectF(left, 0, right - left, inside.height()))
            self.band.show()
            self.choosing.emit()
            return
        self.band.hide()
        if right - left >= LEAST_DRAG_PX:
            places = [float(self.mapToView(QPointF(x, 0)).x()) for x in (left, right)]
            self.span_wanted.emit(*places, None)
