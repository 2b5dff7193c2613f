"""Where a chart that is dragged by its heading would be put."""

from collections.abc import Sequence

from PyQt6.QtCore import QPoint, QRect
from PyQt6.QtWidgets import QFrame, QWidget

from mosaic_gui.plots.chart import Chart
from mosaic_gui.plots.chart_section import BETWEEN_PX

_WIDTH_PX = 3


class DropMark(QFrame):
    """A line between two charts."""

    def __init__(self, inside: QWidget) -> None:
        super().__init__(inside)
        self.setProperty("kind", "drop")
        self.hide()

    def show_at(self, chart: Chart, *, is_after: bool) -> None:
        """Show the line before or behind a chart."""
        parent = self.parentWidget()
        if parent is None:
            return
        place = QRect(chart.mapTo(parent, QPoint(0, 0)), chart.size())
        middle = (place.right() + BETWEEN_PX // 2) if is_after else place.left() - BETWEEN_PX // 2
        left = min(max(0, middle - _WIDTH_PX // 2), parent.width() - _WIDTH_PX)
        self.setGeometry(left, place.top(), _WIDTH_PX, place.height())
        self.raise_()
        self.show()


def drop_target(charts: Sequence[Chart], place: QPoint) -> tuple[Chart, bool] | None:
    """The visible chart at a place of the screen, and whether the place is in its right half; None without a chart."""
    for chart in charts:
        at = chart.mapFromGlobal(place)
        if chart.isVisible() and chart.rect().contains(at):
            return chart, at.x() > chart.width() / 2
    return None


def follower(shown: Sequence[str], target: str, *, is_after: bool) -> str | None:
    """The name in front of which a chart is put; None: at the end."""
    at = list(shown).index(target) + is_after
    return shown[at] if at < len(shown) else None
