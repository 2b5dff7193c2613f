"""One metric over time: a heading with the newest value, and the curves of all runs that are shown."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QPointF, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QContextMenuEvent, QKeyEvent, QResizeEvent
from PyQt6.QtWidgets import QFrame, QSizePolicy, QVBoxLayout

from mosaic_gui.plots import chart_keys
from mosaic_gui.plots.axis import StretchAxis, ValueAxis
from mosaic_gui.plots.axis_words import AXIS_TITLES
from mosaic_gui.plots.chart_grip import ChartGrip
from mosaic_gui.plots.chart_heading import ChartHeading
from mosaic_gui.plots.chart_keys import ChartKey
from mosaic_gui.plots.chart_menu import ChartMenu
from mosaic_gui.plots.curve_layer import CurveLayer
from mosaic_gui.plots.curve_pens import SMOOTH_WIDTH, series_colour
from mosaic_gui.plots.export import Y_MARGIN, export_chart
from mosaic_gui.plots.marks import ABOVE_CURVES, AlertMarks, GapMarks, LonePoints
from mosaic_gui.plots.readout import Readout
from mosaic_gui.plots.zoom_box import ZoomBox
from mosaic_gui.state import wording
from mosaic_gui.state.chart_page import ValueFit
from mosaic_gui.state.language import tr, tr_mark
from mosaic_gui.state.settings import XAxis
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.curves import CurveModel, Drawn

LEAST_BUCKETS = 120
BEYOND = 0.25
"""Share of the visible stretch that is drawn on either side of it, for an axis that is moved."""
GRID = 0.6
"""Opacity of the lines across a chart, in the colour of other lines."""
ALERT_REACH_PX = 8
"""Distance of the pointer from the mark of an alert within which its words are shown."""
BENEATH = -1000
"""Z value of the axes, below the curves, because their grid is opaque."""
WIDE_UP_TO_PX = 8_000.0
"""Length of all means of a chart, in pixels, up to which they are wider than 1. What a wide line costs grows with its
length: measured, 800 points of pure noise on 400x250 are 66,000 px and take 260 ms, 1.7 ms with a width of 1."""


class Chart(QFrame):
    """A panel with one metric. Its x range follows the newest point until the user moves it.

    What it draws in is made with the first drawing: that takes longer than drawing, and nobody waits for all charts.
    """

    removed = pyqtSignal(str)
    said = pyqtSignal(str)
    """A notice for the user."""
    limits_wanted = pyqtSignal(str)
    """The limits of the vertical axis are to be typed."""
    moved_by = pyqtSignal(str, int)
    """Name, and by how many places the chart is to move."""
    resized = pyqtSignal()
    """The area of the curves has another size than the picture in it."""
    height_wanted = pyqtSignal(int)
    """1 or -1: higher or lower rows."""

    def __init__(self, model: CurveModel, name: str) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName(f"chart.{name}")
        self.setAccessibleName(tr("Chart of {name}", name=name))
        self.name = name
        self.key = chart_key(model, name)
        self._model = model
        self._is_made = False
        self._is_fitting = False
        """Whether a drawing lays the parts out, whose new sizes it then takes itself."""
        # the grid gives all charts of a row the same width, whatever their names and values are
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 6)
        layout.setSpacing(2)
        self.menu = self._make_menu()
        self.heading = ChartHeading(name, self.menu)
        layout.addWidget(self.heading, 0, Qt.AlignmentFlag.AlignTop)
        self._body = layout
        self.grip = ChartGrip(self)
        self.heading.opened.connect(lambda: model.view.enlarge(name))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        on_theme(self, self._colour_again)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        """Do with keys what the mouse does: zoom, pan, one chart alone, order and height."""
        if event is None or not self._take_key(event):
            super().keyPressEvent(event)

    def _take_key(self, event: QKeyEvent) -> bool:
        """Whether the key is one of a chart."""
        act = chart_keys.action_of(event)
        view, span = self._model.view, self._model.span
        match act:
            case None:
                return False
            case ChartKey.LEAVE:
                if not view.alone:
                    return False
                view.enlarge("")
            case ChartKey.ENLARGE:
                view.enlarge(self.name)
            case ChartKey.ALL:
                self._model.set_following(True)
            case ChartKey.EARLIER | ChartKey.LATER:
                self.moved_by.emit(self.name, 1 if act is ChartKey.LATER else -1)
            case ChartKey.HIGHER | ChartKey.LOWER:
                self.height_wanted.emit(1 if act is ChartKey.HIGHER else -1)
            case _:
                if span is not None:
                    self._model.show_span(*chart_keys.span_after(act, span), ("key", act))
        return True

    def contextMenuEvent(self, event: QContextMenuEvent | None) -> None:
        """Open the menu with its key."""
        if event is not None:
            self.menu.popup(event.globalPos())

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self.grip.settle()

    @property
    def curve_count(self) -> int:
        """Curves with points in it."""
        return self._layer.curve_count if self._is_made else 0

    @property
    def plot(self) -> pg.PlotItem:
        """For export and tests."""
        self._make()
        return self._item

    def redraw(self) -> None:
        """Draw the visible part of the curves."""
        for _ in self.drawing():
            pass

    def drawing(self) -> Iterator[None]:
        """Draw the visible part of the curves in short steps; the picture before stays until the new one is whole."""
        extent = self._model.extent(self.name)
        if extent is None:
            return
        self._make()
        low, high = self._model.span or extent
        self._item.setXRange(low, high, padding=0)
        self._fit()
        beyond = 0.0 if self._model.following else BEYOND * (high - low)
        first, last = low - beyond, high + beyond
        share = (last - first) / (high - low)
        width = round(max(LEAST_BUCKETS, self._box.width()) * share)
        drawn: list[Drawn] = []
        for group in self._model.drawn_groups(self.name, first, last, width):
            drawn += group
            yield
        floor, top = self._limits(drawn, low, high)
        place = QRectF(first, floor, last - first, top - floor)
        size = QSize(width, max(1, round(self._box.height())))
        thick = SMOOTH_WIDTH if _length_px(drawn, place, size) <= WIDE_UP_TO_PX else 1.0
        yield from self._layer.painting(drawn, place, size, thick, self._plot)
        self._item.setYRange(floor, top, padding=0)
        self._gaps.show(drawn, floor + 0.03 * (top - floor))
        self._dots.show_points(drawn)
        self.alerts.show(self._model.alert_marks(self.name), floor, top)
        self._say_last(drawn)

    def _fit(self) -> None:
        """Lay the parts out, so that the picture has the size of the box."""
        self._is_fitting = True
        self._item.layout.activate()
        self._is_fitting = False

    def _on_box_resized(self) -> None:
        if not self._is_fitting:
            self.resized.emit()

    def _limits(self, drawn: Sequence[Drawn], low: float, high: float) -> tuple[float, float]:
        """Ends of the vertical axis, with a margin unless they were typed."""
        limits = self._model.value_limits(self.name, drawn, low, high)
        if limits is None:
            floor, top = self._item.viewRange()[1]
            return float(floor), float(top)
        if self._model.view.page.axis_of(self.name).fit is ValueFit.LIMITS:
            return limits
        margin = Y_MARGIN * (limits[1] - limits[0])
        return limits[0] - margin, limits[1] + margin

    def _make(self) -> None:
        if self._is_made:
            return
        self._is_made = True
        self._value_axis = ValueAxis(orientation="left")
        self._box = ZoomBox()
        self._plot = pg.PlotWidget(
            viewBox=self._box,
            enableMenu=False,  # nobody opens it, and it is half of what a plot takes to make
            axisItems={"left": self._value_axis, "bottom": StretchAxis(self._model.axis)},
        )
        self._plot.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # it takes no keys; its menu does
        self._item = self._plot.getPlotItem()
        self._layer = CurveLayer(self._item)
        self._gaps = GapMarks(self._item)
        self._dots = LonePoints(self._item)
        self.alerts = AlertMarks(self._item)
        self.readout = Readout(self._plot)
        self._body.addWidget(self._plot, 1)
        self._plot.show()
        self.grip.raise_()
        self._dress()
        self._connect()
        # its width is known before the layout's turn, or it would be drawn twice
        self._body.activate()

    def _make_menu(self) -> ChartMenu:
        menu = ChartMenu(self, self._model, self.name)
        menu.export_wanted.connect(
            lambda kind: export_chart(self, self._model, self.name, kind, self.said.emit)
        )
        menu.limits_wanted.connect(lambda: self.limits_wanted.emit(self.name))
        menu.hide_wanted.connect(lambda: self.removed.emit(self.name))
        menu.moved_by.connect(lambda by: self.moved_by.emit(self.name, by))
        return menu

    def _dress(self) -> None:
        self._plot.setFrameShape(QFrame.Shape.NoFrame)
        self._value_axis.is_log = self._model.log_scale
        self._value_axis.setWidth(48)
        self._item.hideButtons()
        self._item.showGrid(x=False, y=True, alpha=GRID)
        for side in ("left", "bottom"):
            axis = self._item.getAxis(side)
            axis.setStyle(tickLength=0, tickFont=ui_font(11), tickTextOffset=6)
            axis.setZValue(BENEATH)
        self._item.getAxis("bottom").setToolTip(tr_mark(AXIS_TITLES[self._model.axis]))
        self._cross = pg.InfiniteLine(angle=90)
        self._cross.setVisible(False)
        self._cross.setZValue(ABOVE_CURVES)
        self._item.addItem(self._cross, ignoreBounds=True)
        self._colour()

    def _colour(self) -> None:
        """Apply the theme's colours to axes and grid; curves get theirs with each drawing."""
        tokens = current()
        self._plot.setBackground(tokens.surface)
        for side in ("left", "bottom"):
            axis = self._item.getAxis(side)
            axis.setPen(pg.mkPen(tokens.line))
            axis.setTextPen(pg.mkPen(tokens.muted))
        self._cross.setPen(pg.mkPen(tokens.edge, width=1))
        self._gaps.recolour()
        self.alerts.recolour()

    def _colour_again(self) -> None:
        if self._is_made:
            self._colour()
            self.redraw()

    def _connect(self) -> None:
        self._box.span_wanted.connect(self._show_wanted)
        # values at the pointer would cover the stretch that is chosen
        self._box.choosing.connect(self._on_left)
        # the picture has the size of the box, and is made again for another one
        self._box.sigResized.connect(lambda _box: self._on_box_resized())
        self._box.all_wanted.connect(lambda: self._model.set_following(True))
        self._box.menu_wanted.connect(lambda place: self.menu.popup(place.toPoint()))
        self._plot.scene().sigMouseMoved.connect(self._on_mouse)
        self._plot.leaveEvent = lambda _event: self._on_left()

    def _show_wanted(self, low: float, high: float, gesture: object) -> None:
        self._model.show_span(low, high, gesture)
        self.show_span()  # now: the next event of the gesture starts from here

    def show_span(self) -> None:
        """Move the axis at once; the curves follow when they are drawn again."""
        if self._is_made and (span := self._model.span) is not None:
            self._item.setXRange(*span, padding=0)

    def show_cross(self) -> None:
        """Move the line of the crosshair to where the pointer is, in whatever chart that is."""
        if not self._is_made:
            return
        x = self._model.view.cross
        self._cross.setVisible(x is not None)
        if x is not None:
            self._cross.setPos(x)

    def _on_mouse(self, place: QPointF) -> None:
        if not self._box.sceneBoundingRect().contains(place) or self._box.band.isVisible():
            self._on_left()
            return
        x = float(self._box.mapSceneToView(place).x())
        found = self._model.nearest(self.name, x)
        if not found:
            return
        self._model.view.move_cross(found[0].x)
        pointer = self._plot.mapFromScene(place)
        words = _place_text(self._model.axis, found[0].x, is_sample=self._model.is_sample)
        self.readout.show_readings(words, found, pointer, self._alert_words(x))

    def _alert_words(self, x: float) -> list[str]:
        """What the alerts at the pointer say, each with the name of its run where there are several."""
        low, high = self._item.viewRange()[0]
        reach = ALERT_REACH_PX * (high - low) / max(1.0, self._box.width())
        near = self.alerts.near(x, reach)
        several = len(self._model.ordered_ids) > 1
        return [
            tr("Alert {rule}: {message}", rule=one.mark.rule, message=one.mark.message)
            + (f" · {self._model.label(one.run_id)}" if several else "")
            for one in near
        ]

    def _on_left(self) -> None:
        self._model.view.move_cross(None)
        self.readout.hide()

    def _say_last(self, drawn: Sequence[Drawn]) -> None:
        self.heading.show_values(
            [
                (wording.number(one.last), series_colour(one.colour))
                for one in drawn
                if one.last is not None
            ]
        )


def chart_key(model: CurveModel, name: str) -> tuple[str, XAxis, bool]:
    """Properties on which a chart's axes depend."""
    return name, model.axis, model.log_scale


def _place_text(axis: XAxis, x: float, *, is_sample: bool) -> str:
    match axis:
        case XAxis.STEP:
            return tr("step {n}", n=wording.count(round(x)))
        case XAxis.EPISODE if is_sample:
            return tr("recorded episode {n}", n=wording.count(round(x)))
        case XAxis.EPISODE:
            return tr("episode {n}", n=wording.count(round(x)))
        case XAxis.RELATIVE:
            return wording.duration(x)
    return wording.clock(x)


def _length_px(drawn: Sequence[Drawn], place: QRectF, size: QSize) -> float:
    """Length of all smoothed lines in pixels."""
    up = size.height() / place.height()
    lines = [one.smooth for one in drawn if one.smooth is not None]
    climbs = sum(float(np.abs(np.diff(line.y)).sum()) for line in lines)
    return up * climbs + len(lines) * size.width()
