"""Parallel coordinates: a line for each trial over an axis for each parameter.

Dragging along an axis selects a range of it.
"""

import math

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QPointF, QRectF, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QPainter, QPainterPath, QPen
from PyQt6.QtWidgets import QGraphicsItem

from mosaic_gui.plots.sweep_colours import faint_colour, rank_colour
from mosaic_gui.plots.trial_plot import TrialPlot, place_text
from mosaic_gui.state.language import tr
from mosaic_gui.state.trial_points import Floats, TrialAxis, TrialPoints
from mosaic_gui.state.wording import number
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.viewmodels.sweeps import SweepsModel

MOST_AXES = 10
"""Parameters that are drawn; of more the most important ones."""
BUCKETS = 12
MOST_SMOOTH = 1_000
"""Lines that are antialiased; more of them would take longer than a frame."""
REACH = 0.18
"""Distance from an axis, in spaces between axes, within which dragging selects a range of it."""
LEAST_BRUSH = 0.01
LABEL_PX = 20.0
"""Height of the labels above and below an axis."""
_VALUE = "\0value"
"""Name of the value's axis among the brushes, which is that of no parameter."""


class TrialLines(pg.GraphicsObject):
    """All lines in one item. Qt keeps its picture until it changes."""

    def __init__(self, plot: pg.PlotItem) -> None:
        super().__init__()
        self._paths: list[tuple[QPainterPath, QPen]] = []
        self._bounds = QRectF()
        self._is_smooth = True
        self.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)
        plot.addItem(self, ignoreBounds=True)

    def show_lines(
        self, paths: list[tuple[QPainterPath, QPen]], width: float, *, is_smooth: bool = True
    ) -> None:
        """Draw these lines, the last ones on top. `width`: spaces between axes. `is_smooth`: antialiased."""
        self._is_smooth = is_smooth
        self.prepareGeometryChange()
        self._paths, self._bounds = paths, QRectF(-0.1, -0.02, width + 0.2, 1.04)
        self.update()

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, painter: QPainter, *_: object) -> None:
        """Draw the lines of each colour in one call."""
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, self._is_smooth)
        for path, pen in self._paths:
            painter.setPen(pen)
            painter.drawPath(path)


class _BrushBox(pg.ViewBox):
    """Does not move; reports where it is dragged."""

    dragged = pyqtSignal(object, object, bool)
    """Begin and present place in the plot, and whether the drag has ended."""

    def mouseDragEvent(self, event: object, axis: int | None = None) -> None:
        event.accept()  # type: ignore[attr-defined]
        begin = self.mapToView(event.buttonDownPos())  # type: ignore[attr-defined]
        now = self.mapToView(event.pos())  # type: ignore[attr-defined]
        self.dragged.emit(begin, now, event.isFinish())  # type: ignore[attr-defined]

    def wheelEvent(self, event: object, axis: int | None = None) -> None:
        event.ignore()  # type: ignore[attr-defined]


class ParallelPlot(TrialPlot):
    """Lines of complete trials, the best ones on top. The last axis is the objective's value."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__(model, "parallel", tr("Parallel coordinates"))
        self.setToolTip(
            tr("Drag along an axis to select a range of it; click the axis to clear it")
        )
        self._names: list[str] = []
        self._axes: list[TrialAxis | None] = []
        self._lines = np.empty((0, 0))
        """Height of each trial on each axis, from 0 to 1; NaN: it has none."""
        self._spans: list[tuple[float, float]] = []
        self._scale = (0.0, 1.0)
        self._labels: list[pg.TextItem] = []
        self._items: list[object] = []
        model.brushed.connect(self._on_brushed)

    def box(self) -> pg.ViewBox:
        return _BrushBox(enableMenu=False)

    def dress(self) -> None:
        self._left.hide()
        self._item.showGrid(x=False, y=False)
        view = self._item.getViewBox()
        view.setMouseEnabled(x=False, y=False)
        view.dragged.connect(self._on_drag)
        view.sigResized.connect(lambda *_: self._fit())
        self._bundle = TrialLines(self._item)
        self._chosen_line = pg.PlotCurveItem(antialias=True)
        self._chosen_line.setZValue(40)
        self._item.addItem(self._chosen_line, ignoreBounds=True)
        self._ring.setVisible(False)

    def clear(self) -> None:
        self._names, self._axes, self._lines = [], [], np.empty((0, 0))
        self._bundle.show_lines([], 1.0)
        self._drop_items()

    def draw(self, points: TrialPoints) -> None:
        names = self._most_important(points)
        self._axes = [*(points.axes[name] for name in names), None]
        self._names = [*names, _VALUE]
        values = points.values(self.place)
        complete = points.complete
        self._scale = _spread(values[complete])
        columns = [self._heights(axis, points.places(axis.name)) for axis in self._axes if axis]
        columns.append((values - self._scale[0]) / (self._scale[1] - self._scale[0]))
        self._lines = np.stack(columns, axis=1)
        self._lines[~complete] = np.nan
        inside = points.within(self._model.brushes) & complete
        self._draw_lines(points.quality(self.place), inside, complete)
        self._draw_axes()

    def nearest(self, place: QPointF, reach_px: float = 9.0) -> int | None:
        """Number of the trial whose line is next to a place."""
        if not len(self._lines) or len(self._names) < 2:
            return None
        view = self._item.getViewBox()
        at, (_, high) = view.mapSceneToView(place), view.viewPixelSize()
        left = min(max(0, math.floor(at.x())), len(self._names) - 2)
        share = min(max(0.0, at.x() - left), 1.0)
        heights = self._lines[:, left] * (1 - share) + self._lines[:, left + 1] * share
        away = np.abs(heights - at.y())
        if np.isnan(away).all() or not high:
            return None
        number = int(np.nanargmin(away))
        return number if away[number] <= reach_px * high else None

    def mark(self) -> None:
        if not self._is_made:
            return
        chosen = self._model.selected
        is_there = chosen is not None and chosen < len(self._lines)
        heights = self._lines[chosen] if is_there and chosen is not None else np.empty(0)
        if not np.isfinite(heights).any():
            heights = np.empty(0)
        self._chosen_line.setData(np.arange(len(heights), dtype=float), heights, connect="finite")
        self._chosen_line.setPen(pg.mkPen(current().text, width=2.5))

    def _most_important(self, points: TrialPoints) -> list[str]:
        names = list(points.axes)
        importance = self._model.importance
        if len(names) <= MOST_AXES:
            return names
        known = importance.importances if importance is not None else {}
        best = sorted(names, key=lambda name: -known.get(name, 0.0))[:MOST_AXES]
        return [name for name in names if name in best]

    def _heights(self, axis: TrialAxis, places: Floats) -> Floats:
        return (places - axis.low) / (axis.high - axis.low)

    def _draw_lines(self, quality: Floats, inside: np.ndarray, complete: np.ndarray) -> None:
        is_smooth = int(complete.sum()) <= MOST_SMOOTH
        drawn: list[tuple[QPainterPath, QPen]] = []
        outside = complete & ~inside
        if outside.any():
            drawn.append((self._path(np.flatnonzero(outside)), _pen(faint_colour())))
        numbers = np.flatnonzero(inside & np.isfinite(quality))
        numbers = numbers[np.argsort(quality[numbers])]
        for part in np.array_split(numbers, min(BUCKETS, max(1, len(numbers)))):
            if len(part):
                rank = float(quality[part].mean())
                width = 1.0 + rank if is_smooth else 1.0
                drawn.append((self._path(part), _pen(rank_colour(rank), width)))
        self._bundle.show_lines(drawn, float(len(self._names) - 1), is_smooth=is_smooth)

    def _path(self, numbers: np.ndarray) -> QPainterPath:
        """The lines of some trials as one path, with gaps between them."""
        count = len(self._names)
        y = np.full((len(numbers), count + 1), np.nan)
        y[:, :count] = self._lines[numbers]
        x = np.broadcast_to(np.arange(count + 1, dtype=float), y.shape)
        path: QPainterPath = pg.functions.arrayToQPath(
            np.ascontiguousarray(x).ravel(), y.ravel(), connect="finite"
        )
        return path

    def _draw_axes(self) -> None:
        tokens = current()
        self._drop_items()
        for at, axis in enumerate(self._axes):
            line = pg.PlotCurveItem([at, at], [0, 1], pen=pg.mkPen(tokens.edge, width=1.5))
            line.setZValue(20)
            self._add(line)
            for place, anchor in ((0.0, (0.5, 0.0)), (1.0, (0.5, 1.0))):
                text = pg.TextItem(self._text_at(axis, place), tokens.muted, anchor=anchor)
                text.setFont(ui_font(11))
                text.setPos(at, place)
                self._add(text)
        ticks = [(at, self._title(name)) for at, name in enumerate(self._names)]
        self._bottom.setTicks([ticks])
        self._item.setXRange(-0.35, len(self._names) - 0.65, padding=0)
        self._fit()
        self._draw_brushes()

    def _fit(self) -> None:
        """Leave space for the labels at both ends of the axes."""
        high = self._item.getViewBox().height()
        if high > 3 * LABEL_PX:
            margin = LABEL_PX / (high - 2 * LABEL_PX)
            self._item.setYRange(-margin, 1 + margin, padding=0)

    def _draw_brushes(self) -> None:
        tokens = current()
        for at, (name, axis) in enumerate(zip(self._names, self._axes, strict=True)):
            span = self._model.brushes.get(name)
            if span is None:
                continue
            low, high = (self._height(axis, place) for place in span)
            bar = pg.BarGraphItem(
                x=[at], y0=[low], height=[high - low], width=0.09, pen=pg.mkPen(tokens.text)
            )
            colour = QColor(tokens.accent)
            colour.setAlpha(110)
            bar.setOpts(brush=colour)
            bar.setZValue(30)
            self._add(bar)

    def _height(self, axis: TrialAxis | None, place: float) -> float:
        low, high = (axis.low, axis.high) if axis is not None else self._scale
        return min(1.0, max(0.0, (place - low) / (high - low)))

    def _place(self, axis: TrialAxis | None, height: float) -> float:
        low, high = (axis.low, axis.high) if axis is not None else self._scale
        return low + height * (high - low)

    def _text_at(self, axis: TrialAxis | None, height: float) -> str:
        place = self._place(axis, height)
        return number(place, 3) if axis is None else place_text(axis, place)

    def _title(self, name: str) -> str:
        return tr("Value") if name == _VALUE else name

    def _add(self, item: object) -> None:
        self._items.append(item)
        self._item.addItem(item, ignoreBounds=True)

    def _drop_items(self) -> None:
        for item in self._items:
            self._item.removeItem(item)
        self._items = []

    def _on_drag(self, begin: QPointF, now: QPointF, is_finished: bool) -> None:
        at = round(begin.x())
        if not 0 <= at < len(self._names) or abs(begin.x() - at) > REACH:
            return
        low, high = sorted((min(1.0, max(0.0, begin.y())), min(1.0, max(0.0, now.y()))))
        if not is_finished or high - low < LEAST_BRUSH:
            return
        axis = self._axes[at]
        places = self._place(axis, low), self._place(axis, high)
        if axis is not None and axis.choices is not None:
            places = places[0] - 0.25, places[1] + 0.25
        self._model.brush(self._names[at], places)

    def _on_click(self, event: object) -> None:
        place = self._item.getViewBox().mapSceneToView(event.scenePos())  # type: ignore[attr-defined]
        at = round(place.x())
        is_axis = 0 <= at < len(self._names) and abs(place.x() - at) < 0.05
        if is_axis and self._names[at] in self._model.brushes:
            self._model.brush(self._names[at], None)
        else:
            super()._on_click(event)

    def _on_brushed(self) -> None:
        if self.isVisible():
            self.redraw()


def _pen(colour: str, width: float = 1.0) -> QPen:
    pen = QPen(QColor(colour), width)
    pen.setCosmetic(True)
    pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)
    return pen


def _spread(values: Floats) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)
