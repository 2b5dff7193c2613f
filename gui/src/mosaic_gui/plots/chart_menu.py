"""Menu of a chart: its vertical axis, its place on the page, files to save."""

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

    def __init__(self, parent: QWidget, model: CurveModel, name: str) -> None:
        super().__init__(parent)
        self._model, self._name = model, name
        self._fits: dict[ValueFit, QAction] = {}
        self._add_fits()
        self.addSeparator()
        for kind in EXPORTS:
            self._add(
                tr("Save as {kind} …", kind=kind.upper()),
                lambda kind=kind: self.export_wanted.emit(kind),
            )
        self.addSeparator()
        self._add(tr("Hide this chart"), self.hide_wanted.emit)
        self.aboutToShow.connect(self._refresh)

    def _add_fits(self) -> None:
        group = QActionGroup(self)
        for fit, words in FITS.items():
            action = self._add(tr_mark(words), lambda fit=fit: self._choose(fit))
            action.setCheckable(True)
            group.addAction(action)
            self._fits[fit] = action
        self._add(tr("Use this axis for all charts"), self._use_for_all)

    def _add(self, words: str, act: object) -> QAction:
        action = QAction(words, self)
        action.triggered.connect(lambda _on: act())  # type: ignore[operator]
        self.addAction(action)
        return action

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
        self._fits[self._model.view.page.axis_of(self._name).fit].setChecked(True)
