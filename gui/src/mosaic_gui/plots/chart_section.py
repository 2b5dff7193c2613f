"""A section of charts: a heading that folds it, and its charts side by side."""

from collections.abc import Sequence

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QGridLayout, QPushButton, QVBoxLayout, QWidget

from mosaic_gui.plots.chart import Chart
from mosaic_gui.state.chart_page import MOST_COLUMNS
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.icon import icon

BETWEEN_PX = 10
LEAST_CHART_HEIGHT = 190
_UNLIMITED = 16_777_215
"""Qt's largest height: no limit."""


class ChartSection(QWidget):
    """Charts whose names begin alike."""

    fold_wanted = pyqtSignal(str, bool)

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName(f"charts.section.{name}")
        self.name = name
        self.heading = QPushButton()
        self.heading.setProperty("kind", "fold")
        self.heading.setObjectName(f"charts.fold.{name}")
        self.heading.clicked.connect(lambda: self.fold_wanted.emit(name, not self._is_folded))
        self._is_folded = False
        self._grid = QGridLayout()
        self._grid.setSpacing(BETWEEN_PX)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.heading)
        column.addLayout(self._grid, 1)

    def show_heading(self, count: int, *, is_visible: bool, is_folded: bool) -> None:
        """Name the section, and show whether it is folded."""
        self._is_folded = is_folded
        title = self.name or tr("Other curves")
        number = tr_n("{n} chart", "{n} charts", count)
        self.heading.setText(f"{title}  {number}")
        self.heading.setIcon(icon("arrow_right" if is_folded else "arrow_down", "muted"))
        self.heading.setToolTip(tr("Unfold this section") if is_folded else tr("Fold this section"))
        self.heading.setVisible(is_visible)

    def place(self, charts: Sequence[Chart], columns: int, row_height: int) -> int:
        """Put charts side by side.

        Args:
            charts: The visible ones.
            columns: How many a row has.
            row_height: Height of a row in pixels; 0: rows share the page.

        Returns:
            Number of rows.
        """
        for n, chart in enumerate(charts):
            chart.setMinimumHeight(row_height or LEAST_CHART_HEIGHT)
            chart.setMaximumHeight(row_height or _UNLIMITED)
            self._grid.addWidget(chart, n // columns, n % columns)
            chart.show()  # at once: what is drawn before the layout's turn would be drawn twice
        rows = -(-len(charts) // columns)
        for row in range(max(rows, self._grid.rowCount())):
            # alike from the start, also where a chart has not been drawn yet
            self._grid.setRowStretch(row, 1 if row < rows else 0)
        for column in range(MOST_COLUMNS):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        return rows
