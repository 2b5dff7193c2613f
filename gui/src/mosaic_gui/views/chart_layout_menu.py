"""Menu for the arrangement of the charts: columns, height of rows, sections."""

from collections.abc import Callable
from functools import partial

from PyQt6.QtGui import QAction, QActionGroup
from PyQt6.QtWidgets import QMenu, QWidget

from mosaic_gui.state.chart_page import MOST_COLUMNS, sections
from mosaic_gui.state.language import mark, tr, tr_mark, tr_n
from mosaic_gui.viewmodels.curves import CurveModel

HEIGHTS = {
    0: mark("Rows share the page"),
    200: mark("Low rows"),
    320: mark("Medium rows"),
    480: mark("High rows"),
}
"""Heights of a row in pixels, with the word for each."""


class ChartLayoutMenu(QMenu):
    """Shows what holds each time that it opens."""

    def __init__(self, parent: QWidget, model: CurveModel) -> None:
        super().__init__(parent)
        self._model = model
        self.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.clear()
        view = self._model.view
        page = view.page
        columns = QActionGroup(self)
        for n in range(MOST_COLUMNS + 1):
            words = tr_n("{n} column", "{n} columns", n) if n else tr("As many columns as fit")
            choose = partial(view.set_sizes, n, page.row_height)
            self._add(words, choose, columns, page.columns == n)
        self.addSeparator()
        heights = QActionGroup(self)
        for height, words in HEIGHTS.items():
            self._add(
                tr_mark(words),
                partial(view.set_sizes, page.columns, height),
                heights,
                page.row_height == height,
            )
        self.addSeparator()
        names = list(sections(self._model.charts))
        self._add(tr("Fold all sections"), lambda: view.fold_all(names, is_folded=True))
        self._add(tr("Unfold all sections"), lambda: view.fold_all(names, is_folded=False))
        self._add(tr("Reset order and sizes"), view.reset_page)

    def _add(
        self,
        words: str,
        act: Callable[[], object],
        group: QActionGroup | None = None,
        is_chosen: bool = False,
    ) -> None:
        action = QAction(words, self)
        if group is not None:
            action.setCheckable(True)
            action.setChecked(is_chosen)
            group.addAction(action)
        action.triggered.connect(lambda _on: act())
        self.addAction(action)
