"""How the charts of a page are shown: the common horizontal axis, the crosshair, hidden curves, the arrangement."""

from collections.abc import Sequence

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state.chart_page import AxisChoice, ChartPage
from mosaic_gui.state.x_zoom import Span, XZoom, within


class ChartView(QObject):
    """State that all charts of a page share. It has no points."""

    span_changed = pyqtSignal()
    cross_moved = pyqtSignal()
    hidden_changed = pyqtSignal()
    arranged = pyqtSignal()
    """Order, columns, sizes, sections, or which chart is alone."""
    axis_changed = pyqtSignal(str)
    """Name of a chart whose vertical axis is another one; empty: of all."""
    remembered = pyqtSignal()
    """The page has changed and is to be saved."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.zoom = XZoom()
        self.cross: float | None = None
        """Place of the crosshair on the horizontal axis."""
        self.hidden: set[str] = set()
        """First runs of the curves that are hidden."""
        self.page = ChartPage()
        self.alone = ""
        """Name of the chart that takes the whole page; empty: none."""

    def begin(self) -> None:
        """Forget what concerns the runs that were shown before."""
        self.zoom.clear()
        self.cross = None
        self.hidden.clear()
        self.alone = ""

    def use_page(self, page: ChartPage) -> None:
        """Take another arrangement."""
        self.page = page
        self.arranged.emit()

    def show_span(self, span: Span | None, whole: Span | None, gesture: object = None) -> None:
        """Show a stretch of the axis in all charts; None: all points.

        Args:
            span: First and last visible place.
            whole: The whole axis, which the stretch cannot leave.
            gesture: Equal for changes that are undone together.
        """
        if span is not None and whole is None:
            return
        wanted = within(span, whole) if span is not None and whole is not None else None
        if self.zoom.show(wanted, gesture):
            self.span_changed.emit()

    def undo_zoom(self) -> None:
        """Show the stretch before the last change."""
        if self.zoom.undo():
            self.span_changed.emit()

    def move_cross(self, x: float | None) -> None:
        """Move the crosshair of all charts; None hides it."""
        if x != self.cross:
            self.cross = x
            self.cross_moved.emit()

    def set_hidden(self, curve: str, is_hidden: bool) -> None:
        """Hide or show the curve that begins with this run."""
        self.hidden = (self.hidden | {curve}) if is_hidden else (self.hidden - {curve})
        self.hidden_changed.emit()

    def show_alone(self, curve: str, curves: Sequence[str]) -> None:
        """Hide all curves but one; once more shows all again."""
        others = {one for one in curves if one != curve}
        self.hidden = set() if self.hidden == others else others
        self.hidden_changed.emit()

    def show_all(self) -> None:
        """Show every curve."""
        self.hidden.clear()
        self.hidden_changed.emit()

    def set_axis(self, name: str, choice: AxisChoice) -> None:
        """Choose the vertical axis of a chart."""
        self.page.set_axis(name, choice)
        self.axis_changed.emit(name)
        self.remembered.emit()

    def set_axes(self, names: Sequence[str], choice: AxisChoice) -> None:
        """Choose one vertical axis for several charts."""
        for name in names:
            self.page.set_axis(name, choice)
        self.axis_changed.emit("")
        self.remembered.emit()

    def set_sizes(self, columns: int, row_height: int) -> None:
        """Choose columns and height of the rows.

        Args:
            columns: 0: as many as fit.
            row_height: Pixels; 0: the rows share the page.
        """
        if (columns, row_height) != (self.page.columns, self.page.row_height):
            self.page.columns, self.page.row_height = columns, row_height
            self._arrange()

    def reset_page(self) -> None:
        """Go back to the order and the sizes of a new page; vertical axes stay."""
        page = self.page
        page.columns, page.row_height, page.order, page.folded = 0, 0, [], []
        self._arrange()

    def fold(self, section: str, *, is_folded: bool) -> None:
        """Fold or unfold a section."""
        self.page.fold(section, is_folded=is_folded)
        self._arrange()

    def fold_all(self, names: Sequence[str], *, is_folded: bool) -> None:
        """Fold or unfold several sections."""
        for name in names:
            self.page.fold(name, is_folded=is_folded)
        self._arrange()

    def move_chart(self, name: str, before: str | None, shown: Sequence[str]) -> None:
        """Put a chart in front of another one, or at the end."""
        self.page.move(name, before, shown)
        self._arrange()

    def enlarge(self, name: str) -> None:
        """Show one chart on the whole page; the same again, or an empty name, shows all."""
        self.alone = "" if name == self.alone else name
        self.arranged.emit()

    def _arrange(self) -> None:
        self.arranged.emit()
        self.remembered.emit()
