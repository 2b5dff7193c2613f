"""The base of the charts of a sweep: each trial is a dot, and one of them can be selected."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QPoint, QPointF, QRectF, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFontMetrics, QPainter, QPen
from PyQt6.QtWidgets import QFrame, QLabel, QVBoxLayout, QWidget

from mosaic_gui.plots.axis import ValueAxis
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.trial_points import Floats, TrialAxis, TrialPoints
from mosaic_gui.state.trial_words import trial_facts, value_text
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.sweeps import SweepsModel

REACH_PX = 14.0
"""Distance up to which a click or the pointer means a dot."""
LARGE_PX, SMALL_PX, MOST_LARGE = 7.0, 4.0, 400
"""Diameters of dots, and the number of trials up to which they are large."""
MOST_ROUND = 4_000
"""Dots that are round; more of them are squares, which take a tenth of the time."""
GRID = 0.6
BENEATH = -1000
AXIS_WIDTH = 56


class DotGroup(NamedTuple):
    """Dots of one colour."""

    x: Floats
    y: Floats
    colour: str
    scale: float = 1.0


class TrialDots(pg.GraphicsObject):
    """All dots of a chart in one item. Pens are round, so a point is a dot; symbols take ten times as long."""

    def __init__(self, plot: pg.PlotItem) -> None:
        super().__init__()
        self._drawn: list[tuple[DotGroup, QPen]] = []
        self._bounds = QRectF()
        self._is_round = True
        plot.addItem(self)

    def show_dots(self, groups: Sequence[DotGroup]) -> None:
        """Draw these dots, the last group on top."""
        self.prepareGeometryChange()
        count = sum(len(group.x) for group in groups)
        size = LARGE_PX if count <= MOST_LARGE else SMALL_PX
        self._is_round = count <= MOST_ROUND
        self._drawn, self._bounds = [], QRectF()
        for group in groups:
            if not len(group.x):
                continue
            pen = QPen(QColor(group.colour), size * group.scale)
            pen.setCosmetic(True)
            caps = Qt.PenCapStyle
            pen.setCapStyle(caps.RoundCap if self._is_round else caps.SquareCap)
            self._drawn.append((group, pen))
            left, top = float(group.x.min()), float(group.y.min())
            place = QRectF(left, top, float(np.ptp(group.x)), float(np.ptp(group.y)))
            self._bounds = self._bounds.united(place.adjusted(-1e-9, -1e-9, 1e-9, 1e-9))
        self.update()

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw each group in one call, in pixels: Qt gives a point a width of 1/63 of the unit that is drawn in."""
        place = painter.transform()
        painter.save()
        painter.resetTransform()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self._is_round)
        for group, pen in self._drawn:
            x = group.x * place.m11() + place.dx()
            y = group.y * place.m22() + place.dy()
            painter.setPen(pen)
            painter.drawPoints(pg.functions.arrayToQPolygonF(x, y))
        painter.restore()


class PlaceAxis(ValueAxis):
    """Axis of a parameter: choices by name, or numbers, on a logarithmic scale as they are."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.names: list[str] | None = None

    def text_width(self, text: str) -> int:
        """Pixels that a label needs."""
        return QFontMetrics(ui_font(11)).horizontalAdvance(text)

    def show_axis(self, axis: TrialAxis | None) -> None:
        """Label the places of a parameter; None: plain numbers."""
        self.is_log = axis is not None and axis.is_log
        self.names = axis.choices if axis is not None else None
        self.setTicks(None if self.names is None else [list(enumerate(self.names))])
        self.picture = None
        self.update()


class TrialPlot(QWidget):
    """A chart of all trials. What it draws in is made with the first drawing."""

    chosen = pyqtSignal(int)
    """Number of the trial that was clicked."""
    opened = pyqtSignal(int)
    """Number of the trial that was double-clicked."""

    def __init__(self, model: SweepsModel, name: str, title: str) -> None:
        super().__init__()
        self.setObjectName(f"sweeps.plot.{name}")
        self.setAccessibleName(title)
        self._model = model
        self.place = 0
        """Number of the objective that is drawn."""
        self.parameters: tuple[str, ...] = ()
        """Names of the parameters that are drawn, where the chart has such axes."""
        self._is_made = False
        self._x = self._y = np.empty(0)
        self._body = QVBoxLayout(self)
        self._body.setContentsMargins(0, 0, 0, 0)
        on_theme(self, self._on_theme)
        model.selected_changed.connect(self.mark)

    @property
    def plot(self) -> pg.PlotItem:
        """For tests."""
        self._make()
        return self._item

    def redraw(self) -> None:
        """Draw all trials of the chosen sweep."""
        points = self._model.points
        self._make()
        has_trials = points is not None and points.count > 0
        self._plot.setVisible(has_trials)
        self._none.setVisible(not has_trials)
        if points is None or not points.count:
            self._dots.show_dots(())
            self._x = self._y = np.empty(0)
            self.clear()
        else:
            self.draw(points)
        self.mark()

    def draw(self, points: TrialPoints) -> None:
        """Draw trials."""
        raise NotImplementedError

    def clear(self) -> None:
        """Draw nothing."""

    def dress(self) -> None:
        """Make further items of the chart, once."""

    def recolour(self) -> None:
        """Apply the colours of the theme to further items."""

    def box(self) -> pg.ViewBox | None:
        """What takes the mouse; None: it moves and zooms."""
        return None

    def bottom_axis(self) -> pg.AxisItem:
        """The axis below."""
        return PlaceAxis("bottom")

    def show_places(self, x: Floats, y: Floats, groups: Sequence[DotGroup]) -> None:
        """Draw dots. `x`, `y`: places by number of the trial, NaN: it has none."""
        self._x, self._y = x, y
        self._dots.show_dots(groups)

    def nearest(self, place: QPointF, reach_px: float = REACH_PX) -> int | None:
        """Number of the trial next to a place of the scene; None: none is near."""
        if not len(self._x):
            return None
        view = self._item.getViewBox()
        at, (wide, high) = view.mapSceneToView(place), view.viewPixelSize()
        if not wide or not high:
            return None
        away = ((self._x - at.x()) / wide) ** 2 + ((self._y - at.y()) / high) ** 2
        if np.isnan(away).all():
            return None
        number = int(np.nanargmin(away))
        return number if away[number] <= reach_px**2 else None

    def mark(self) -> None:
        """Mark the selected trial."""
        if not self._is_made:
            return
        number = self._model.selected
        known = number is not None and number < len(self._x) and math.isfinite(self._x[number])
        is_there = known and math.isfinite(self._y[number or 0])
        self._ring.setVisible(is_there)
        place = ([self._x[number]], [self._y[number]]) if is_there else ([], [])
        self._ring.setData(*place)

    def _make(self) -> None:
        if self._is_made:
            return
        self._is_made = True
        self._left, self._bottom = PlaceAxis("left"), self.bottom_axis()
        self._plot = pg.PlotWidget(
            viewBox=self.box(),
            enableMenu=False,
            axisItems={"left": self._left, "bottom": self._bottom},
        )
        self._plot.setFrameShape(QFrame.Shape.NoFrame)
        self._plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # the table takes the keys
        self._item = self._plot.getPlotItem()
        self._item.hideButtons()
        self._item.showGrid(x=False, y=True, alpha=GRID)
        self._left.setWidth(AXIS_WIDTH)
        for axis in (self._left, self._bottom):
            axis.setStyle(tickLength=0, tickFont=ui_font(11), tickTextOffset=6)
            axis.setZValue(BENEATH)
        self._dots = TrialDots(self._item)
        self._ring = pg.ScatterPlotItem(size=14, pxMode=True, symbol="o")
        self._ring.setBrush(None)
        self._ring.setZValue(50)
        self._item.addItem(self._ring, ignoreBounds=True)
        self._about = QLabel(self._plot)
        self._about.setObjectName("readout")
        self._about.setTextFormat(Qt.TextFormat.PlainText)
        self._about.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._about.hide()
        self.dress()
        self._colour()
        self._none = QLabel(tr("No trial yet"))
        self._none.setProperty("kind", "muted")
        self._none.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._none.hide()
        self._body.addWidget(self._plot)
        self._body.addWidget(self._none)
        self._plot.show()
        scene = self._plot.scene()
        scene.sigMouseClicked.connect(self._on_click)
        scene.sigMouseMoved.connect(self._on_mouse)
        self._plot.leaveEvent = lambda _event: self._about.hide()

    def _colour(self) -> None:
        tokens = current()
        self._plot.setBackground(tokens.surface)
        for axis in (self._left, self._bottom):
            axis.setPen(pg.mkPen(tokens.line))
            axis.setTextPen(pg.mkPen(tokens.muted))
        self._ring.setPen(pg.mkPen(tokens.text, width=2))
        self.recolour()

    def _on_theme(self) -> None:
        if self._is_made:
            self._colour()
            if self.isVisible():
                self.redraw()

    def _on_click(self, event: object) -> None:
        place: QPointF = event.scenePos()  # type: ignore[attr-defined]
        number = self.nearest(place)
        if event.double():  # type: ignore[attr-defined]
            if number is None:
                self._item.enableAutoRange()
            else:
                self.opened.emit(number)
        elif number is not None:
            self.chosen.emit(number)

    def _on_mouse(self, place: QPointF) -> None:
        number = self.nearest(place)
        trial = self._model.trials.get(number) if number is not None else None
        if trial is None:
            self._about.hide()
            return
        self._about.setText("\n".join(trial_facts(trial, self._model.trials.objectives)))
        self._about.adjustSize()
        pointer = self._plot.mapFromScene(place)
        left = pointer.x() + 14
        if left + self._about.width() > self._plot.width():
            left = pointer.x() - 14 - self._about.width()
        top = min(pointer.y() + 14, self._plot.height() - self._about.height() - 2)
        self._about.move(QPoint(max(0, left), max(0, top)))
        self._about.show()


def place_text(axis: TrialAxis, place: float) -> str:
    """The value at a place of an axis, in words."""
    value = axis.value(place)
    return value if isinstance(value, str) else wording.number(value, 3)


__all__ = [
    "DotGroup",
    "PlaceAxis",
    "TrialDots",
    "TrialPlot",
    "place_text",
    "value_text",
]
