"""The charts of a run, side by side as far as there is room."""

from collections.abc import Callable

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtWidgets import QFrame, QGridLayout, QScrollArea, QWidget

from mosaic_gui.discard import discard
from mosaic_gui.plots.chart import Chart, chart_key
from mosaic_gui.viewmodels.curves import CurveModel
from mosaic_gui.viewmodels.frame_clock import DrawQueue

LEAST_HEIGHT = 190
TWO_COLUMNS_FROM = 620
"""Width in pixels from which charts have two columns."""


class ChartGrid(QScrollArea):
    """One chart for each name that the model shows."""

    chart_removed = pyqtSignal(str)
    said = pyqtSignal(str)
    limits_wanted = pyqtSignal(str)
    """Name of a chart whose vertical limits are to be typed."""

    def __init__(self, model: CurveModel) -> None:
        super().__init__()
        self.setObjectName("charts")
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # menus of charts have it
        self._model = model
        self._inside = QWidget()
        self._inside.setProperty("kind", "inside")
        self._layout = QGridLayout(self._inside)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(10)
        self.setWidget(self._inside)
        self.charts: list[Chart] = []
        self._queue = DrawQueue(self)
        if (bar := self.verticalScrollBar()) is not None:
            bar.valueChanged.connect(self.redraw_in_turn)
        model.charts_changed.connect(self.rebuild)
        model.curves_grown.connect(self.redraw_in_turn)
        view = model.view
        view.span_changed.connect(self._on_span)
        view.cross_moved.connect(self._on_cross)
        view.hidden_changed.connect(self.redraw_in_turn)
        view.axis_changed.connect(self.redraw_in_turn)

    def rebuild(self) -> None:
        """Show the charts that the model names; unchanged ones stay."""
        here = {chart.key: chart for chart in self.charts}
        wanted = [chart_key(self._model, name) for name in self._model.charts]
        self.charts = [here.pop(key) if key in here else self._make(key[0]) for key in wanted]
        for chart in here.values():
            discard(chart)
        self._place()
        self._draw_one_by_one()

    def redraw_in_turn(self) -> None:
        """Draw what has grown, one chart after the other, so that no frame and no click waits for all of them."""
        if self.isVisible():
            for chart in self.charts:
                self._queue.ask(chart.key, self._drawing(chart))

    def redraw(self) -> None:
        """Draw all charts at once, e.g. for a screenshot."""
        self._queue.stop()
        for chart in self.charts:
            chart.redraw()

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        self._draw_one_by_one()

    def hideEvent(self, event: object) -> None:
        super().hideEvent(event)  # type: ignore[arg-type]
        self._queue.stop()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._place()
        self.redraw_in_turn()

    def _on_span(self) -> None:
        for chart in self.charts:
            chart.show_span()
        self.redraw_in_turn()

    def _on_cross(self) -> None:
        for chart in self.charts:
            chart.show_cross()

    def _draw_one_by_one(self) -> None:
        """Draw the first chart now, and the others one by one while the grid is visible."""
        if self.charts and self.isVisible():
            self.charts[0].redraw()
        self.redraw_in_turn()

    def _drawing(self, chart: Chart) -> Callable[[], None]:
        def draw() -> None:
            # what is scrolled out of sight is drawn when it comes into it
            if chart in self.charts and not chart.visibleRegion().isEmpty():
                chart.redraw()

        return draw

    def _make(self, name: str) -> Chart:
        chart = Chart(self._model, name)
        chart.setMinimumHeight(LEAST_HEIGHT)
        chart.removed.connect(self.chart_removed)
        chart.said.connect(self.said)
        chart.limits_wanted.connect(self.limits_wanted)
        return chart

    def _place(self) -> None:
        wide = self.width() >= TWO_COLUMNS_FROM and len(self.charts) > 1
        columns = 2 if wide else 1
        for n, chart in enumerate(self.charts):
            self._layout.addWidget(chart, n // columns, n % columns)
            chart.show()  # at once: what is drawn before the layout's turn would be drawn twice
        rows = -(-len(self.charts) // columns)
        for row in range(max(rows, self._layout.rowCount())):
            # alike from the start, also where a chart has not been drawn yet
            self._layout.setRowStretch(row, 1 if row < rows else 0)
        for column in range(2):
            self._layout.setColumnStretch(column, 1 if column < columns else 0)
