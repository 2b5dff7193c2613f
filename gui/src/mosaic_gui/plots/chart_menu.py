"""Menu of a chart: its vertical axis, its place on the page, files to save."""

from collections.abc import Callable
from functools import partial

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtGui import QAction, QActionGroup
from PyQt6.QtWidgets import QMenu, QWidget

from mosaic_gui.plots.export import EXPORTS
from mosaic_gui.state.chart_page import AxisChoice, ValueFit
from mosaic_gui.state.language import mark, tr, tr_mark
from mosaic_gui.viewmodels.curves import CurveModel

FITS = {
    ValueFit.SMOOTHED: mark("Fit the smoothed line"),
    ValueFit.ALL: mark("Fit all values"),
    ValueFit.QUANTILE: mark("Fit the 1st to 99th percentile"),
    ValueFit.LIMITS: mark("Set limits …"),
}
"""Words for the ways to choose the vertical axis."""


class ChartMenu(QMenu):
    """What can be done with one chart."""

    export_wanted = pyqtSignal(str)
    limits_wanted = pyqtSignal()
    hide_wanted = pyqtSignal()
    moved_by = pyqtSignal(int)
    """By how many places the chart is to move."""

    def __init__(self, parent: QWidget, model: CurveModel, name: str) -> None:
        super().__init__(parent)
        self._model, self._name = model, name
        self._fits: dict[ValueFit, QAction] = {}
        self._add_fits()
        self.addSeparator()
        for kind in EXPORTS:
            words = tr("Save as {kind} …", kind=kind.upper())
            self._add(words, partial(self.export_wanted.emit, kind))
        self.addSeparator()
        self._alone = self._add(tr("Show alone"), lambda: model.view.enlarge(name), "Return")
        self._add(tr("Move forward"), lambda: self.moved_by.emit(-1), "Ctrl+Shift+Left")
        self._add(tr("Move back"), lambda: self.moved_by.emit(1), "Ctrl+Shift+Right")
        self.addSeparator()
        self._add(tr("Hide this chart"), self.hide_wanted.emit)
        self.aboutToShow.connect(self._refresh)

    def _add_fits(self) -> None:
        group = QActionGroup(self)
        for fit, words in FITS.items():
            action = self._add(tr_mark(words), partial(self._choose, fit))
            action.setCheckable(True)
            group.addAction(action)
            self._fits[fit] = action
        self._add(tr("Use this axis for all charts"), self._use_for_all)

    def _add(self, words: str, act: Callable[[], object], keys: str = "") -> QAction:
        """Add a line. `keys`: those that do the same in a chart with the focus."""
        action = QAction(self)
        self._name_action(action, words, keys)
        action.triggered.connect(lambda _on: act())
        self.addAction(action)
        return action

    def _name_action(self, action: QAction, words: str, keys: str) -> None:
        """Show words in a line, and keys at its end that this menu does not listen to."""
        shown = f"{words}\t{keys}" if keys else words
        action.setText(shown)

    def _choose(self, fit: ValueFit) -> None:
        if fit is ValueFit.LIMITS:
            self.limits_wanted.emit()
        else:
            self._model.view.set_axis(self._name, AxisChoice(fit=fit))

    def _use_for_all(self) -> None:
        view = self._model.view
        view.set_axes(self._model.names, view.page.axis_of(self._name))

    def _refresh(self) -> None:
        """Tick what holds now."""
        is_alone = self._model.view.alone == self._name
        self._name_action(
            self._alone, tr("Show all charts") if is_alone else tr("Show alone"), "Return"
        )
        self._fits[self._model.view.page.axis_of(self._name).fit].setChecked(True)
