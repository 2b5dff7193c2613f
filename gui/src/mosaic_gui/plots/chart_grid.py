"""The charts of a page: in sections, side by side, or one of them alone."""

from collections.abc import Callable, Iterator

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from mosaic_gui.discard import discard
from mosaic_gui.plots.chart import Chart, chart_key
from mosaic_gui.plots.chart_drop import DropMark, drop_target, follower
from mosaic_gui.plots.chart_section import BETWEEN_PX, ChartSection
from mosaic_gui.state.chart_page import (
    LEAST_HEIGHT,
    MOST_COLUMNS,
    MOST_HEIGHT,
    column_count,
    section_of,
    sections,
)
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.curves import FIRST_CHARTS, CurveModel
from mosaic_gui.viewmodels.frame_clock import DrawQueue

MOVED_A_TURN = 2
"""Charts that are moved in one turn of the event loop; each takes up to two milliseconds to paint."""
SETTLE_MS = 25
"""Time after a move of the axis until the curves are drawn again: while the axis moves, their picture moves with it."""
HEIGHT_STEP = 40
"""Pixels by which a key press changes the height of the rows."""


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
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # charts have it
        self._model = model
        self._inside = QWidget()
        self._inside.setProperty("kind", "inside")
        self._column = QVBoxLayout(self._inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(BETWEEN_PX)
        self.setWidget(self._inside)
        self.charts: list[Chart] = []
        self._is_resting = False
        """Whether the charts were given back; they are made again when the grid is shown."""
        self._sections: dict[str, ChartSection] = {}
        self._mark = DropMark(self._inside)
        self._queue = DrawQueue(self)
        self._followers: list[Chart] = []
        """Charts whose axis is still to be moved."""
        self._follow = single_shot_timer(self, self._move_followers)
        self._settle = single_shot_timer(self, self.redraw_in_turn, SETTLE_MS)
        if (bar := self.verticalScrollBar()) is not None:
            bar.valueChanged.connect(self.redraw_in_turn)
        model.charts_changed.connect(self.rebuild)
        model.curves_grown.connect(self.redraw_in_turn)
        model.rested.connect(self._rest)
        view = model.view
        view.span_changed.connect(self._on_span)
        view.cross_moved.connect(self._on_cross)
        view.hidden_changed.connect(self.redraw_in_turn)
        view.axis_changed.connect(self.redraw_in_turn)
        view.arranged.connect(self.rebuild)

    @property
    def shown(self) -> list[Chart]:
        """Charts that are on the page, in their order: neither folded away nor behind one that is alone."""
        alone, folded = self._alone(), self._folded()
        if alone is not None:
            return [alone]
        return [chart for chart in self.charts if section_of(chart.name) not in folded]

    def rebuild(self) -> None:
        """Show the charts that the model names; unchanged ones stay."""
        self._is_resting = False
        here = {chart.key: chart for chart in self.charts}
        names = self._model.view.page.ordered(self._model.charts)
        by_section = [name for part in sections(names).values() for name in part]
        wanted = [chart_key(self._model, name) for name in by_section]
        self.charts = [here.pop(key) if key in here else self._make(key[0]) for key in wanted]
        for chart in here.values():
            discard(chart)
        self._place()
        self._draw_one_by_one()

    def show_chart(self, name: str) -> None:
        """Bring a chart into sight, and give it the focus."""
        for chart in self.charts:
            if chart.name == name:
                self._inside.adjustSize()
                self.ensureWidgetVisible(chart)
                chart.setFocus()

    def redraw_in_turn(self) -> None:
        """Draw what has grown, one chart after the other, so that no frame and no click waits for all of them."""
        if self.isVisible():
            for chart in self.charts:
                self._redraw_later(chart)

    def redraw(self) -> None:
        """Draw all charts at once, e.g. for a screenshot."""
        self._queue.stop()
        for chart in self.charts:
            chart.redraw()

    def showEvent(self, event: object) -> None:
        super().showEvent(event)  # type: ignore[arg-type]
        if self._is_resting:
            self.rebuild()
        else:
            self._draw_one_by_one()

    def _rest(self) -> None:
        """Give the charts back while nobody sees them: each has pictures and widgets of its own."""
        if self.isVisible():
            return
        self._is_resting = True
        self._queue.stop()
        for chart in self.charts:
            discard(chart)
        self.charts = []
        self._place()

    def hideEvent(self, event: object) -> None:
        super().hideEvent(event)  # type: ignore[arg-type]
        self._queue.stop()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._place()
        self.redraw_in_turn()

    def _on_span(self) -> None:
        """Move the chart that the user moves at once, and the others a few each turn of the event loop."""
        self._settle.start()
        if not self._model.view.zoom.is_moving:
            self._followers = []
            for chart in self.charts:
                chart.show_span()
            return
        seen = [chart for chart in self.shown if not chart.visibleRegion().isEmpty()]
        leader = next((chart for chart in seen if chart.underMouse() or chart.hasFocus()), None)
        if leader is not None:
            leader.show_span()
        # those that wait stay in their order, so that each has its turn
        waiting = [chart for chart in self._followers if chart in seen]
        self._followers = [one for one in (*waiting, *seen) if one is not leader]
        self._followers = list(dict.fromkeys(self._followers))
        if self._followers and not self._follow.isActive():
            self._follow.start()

    def _move_followers(self) -> None:
        now, self._followers = self._followers[:MOVED_A_TURN], self._followers[MOVED_A_TURN:]
        for chart in now:
            if chart in self.charts:
                chart.show_span()
        if self._followers:
            self._follow.start()

    def _on_cross(self) -> None:
        for chart in self.charts:
            chart.show_cross()

    def _draw_one_by_one(self) -> None:
        """Draw the first chart now, and the others one by one while the grid is visible."""
        if self.charts and self.isVisible():
            self.charts[0].redraw()
        self.redraw_in_turn()

    def _redraw_later(self, chart: Chart) -> None:
        if self.isVisible():  # all are drawn when the grid is shown
            self._queue.ask(chart.key, self._drawing(chart))

    def _drawing(self, chart: Chart) -> Callable[[], Iterator[None]]:
        def draw() -> Iterator[None]:
            # what is scrolled out of sight is drawn when it comes into it
            if chart in self.charts and not chart.visibleRegion().isEmpty():
                for _ in chart.drawing():
                    yield
                    if chart not in self.charts:
                        return

        return draw

    def _make(self, name: str) -> Chart:
        chart = Chart(self._model, name)
        chart.removed.connect(self.chart_removed)
        chart.said.connect(self.said)
        chart.limits_wanted.connect(self.limits_wanted)
        chart.resized.connect(lambda: self._redraw_later(chart))
        chart.moved_by.connect(self._move_by)
        chart.heading.dragged.connect(lambda place: self._drag(chart, place, is_end=False))
        chart.heading.dropped.connect(lambda place: self._drag(chart, place, is_end=True))
        chart.grip.resized.connect(self._resize)
        chart.height_wanted.connect(self._change_height)
        return chart

    def _alone(self) -> Chart | None:
        name = self._model.view.alone
        return next((chart for chart in self.charts if chart.name == name), None)

    def _folded(self) -> set[str]:
        return set(self._model.view.page.folded) if self._has_sections() else set()

    def _has_sections(self) -> bool:
        """Whether sections have headings: a few charts need none."""
        names = [chart.name for chart in self.charts]
        return len(names) > FIRST_CHARTS and len(sections(names)) > 1

    def _place(self) -> None:
        parts: dict[str, list[Chart]] = {}
        alone, folded, has_sections = self._alone(), self._folded(), self._has_sections()
        for chart in self.charts:
            parts.setdefault(section_of(chart.name) if has_sections else "", []).append(chart)
        for name in [name for name in self._sections if name not in parts]:
            discard(self._sections.pop(name))
        page = self._model.view.page
        row_height = 0 if alone is not None else page.row_height
        shown = self.shown
        for at, (name, charts) in enumerate(parts.items()):
            section = self._section(name)
            self._column.insertWidget(at, section)
            seen = [chart for chart in charts if chart in shown]
            for chart in charts:
                chart.grip.setVisible(alone is None)
                if chart not in shown:
                    chart.hide()
            section.setVisible(alone is None or bool(seen))
            heading = has_sections and alone is None
            section.show_heading(len(charts), is_visible=heading, is_folded=name in folded)
            columns = column_count(self.width(), len(seen), page.columns if alone is None else 1)
            rows = section.place(seen, columns, row_height)
            self._column.setStretch(at, 0 if row_height else rows)
        self._fill_rest(len(parts), is_filled=row_height == 0 and bool(shown))

    def _fill_rest(self, at: int, *, is_filled: bool) -> None:
        """Keep the charts at the top where they do not fill the page."""
        while self._column.count() > at:
            self._column.takeAt(at)
        if not is_filled:
            self._column.addStretch(1)

    def _section(self, name: str) -> ChartSection:
        if name not in self._sections:
            section = self._sections[name] = ChartSection(name)
            section.fold_wanted.connect(
                lambda name, on: self._model.view.fold(name, is_folded=bool(on))
            )
        return self._sections[name]

    def _drag(self, chart: Chart, place: QPoint, *, is_end: bool) -> None:
        """Show where a dragged chart would go, or put it there."""
        target = drop_target(self.shown, place)
        self._mark.hide()
        if target is None or target[0] is chart:
            return
        other, is_after = target
        if not is_end:
            self._mark.show_at(other, is_after=is_after)
            return
        names = [one.name for one in self.charts]
        before = follower(names, other.name, is_after=is_after)
        if before != chart.name:
            self._model.view.move_chart(chart.name, before, names)

    def _move_by(self, name: str, by: int) -> None:
        """Move a chart one place forward or back."""
        names = [one.name for one in self.charts]
        at = names.index(name) + by
        if 0 <= at < len(names):
            before = names[at] if by < 0 else follower(names, names[at], is_after=True)
            self._model.view.move_chart(name, before, names)
            self._focus(name)

    def _focus(self, name: str) -> None:
        """Give the focus back to a chart after it was moved."""
        chart = next((one for one in self.charts if one.name == name), None)
        if chart is not None:
            chart.setFocus()
            self.ensureWidgetVisible(chart)

    def _resize(self, width: int, height: int) -> None:
        columns = round(self._inside.width() / max(1, width))
        view = self._model.view
        view.set_sizes(
            columns=min(max(1, columns), MOST_COLUMNS),
            row_height=min(max(LEAST_HEIGHT, height), MOST_HEIGHT),
        )

    def _change_height(self, by: int) -> None:
        page = self._model.view.page
        first = self.shown[0].height() if self.shown else LEAST_HEIGHT
        height = (page.row_height or first) + by * HEIGHT_STEP
        self._model.view.set_sizes(
            columns=page.columns, row_height=min(max(LEAST_HEIGHT, height), MOST_HEIGHT)
        )
