"""The charts of a sweep, one at a time. Only the one in sight is drawn."""

from collections.abc import Callable

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtGui import QHideEvent, QShowEvent
from PyQt6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.plots.contour_plot import ContourPlot
from mosaic_gui.plots.importance_plot import ImportancePlot
from mosaic_gui.plots.parallel_plot import ParallelPlot
from mosaic_gui.plots.pareto_plot import ParetoPlot
from mosaic_gui.plots.slice_plot import SlicePlot
from mosaic_gui.plots.sweep_history import SweepHistory
from mosaic_gui.plots.trial_plot import TrialPlot
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.frame_clock import DrawQueue
from mosaic_gui.viewmodels.sweeps import SweepsModel
from mosaic_gui.views.form_field import CalmCombo
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.text import label

HISTORY, PARALLEL, IMPORTANCE = "history", "parallel", "importance"
SLICE, CONTOUR, PARETO = "slice", "contour", "pareto"
LEAST_HEIGHT = 150


class SweepPlots(QFrame):
    """A choice of charts above the chosen one."""

    trial_opened = pyqtSignal(int)
    """Number of a trial whose runs are to be watched."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setMinimumHeight(LEAST_HEIGHT)
        self._model = model
        self._queue = DrawQueue(self)
        self._made: dict[str, TrialPlot] = {}
        makers: dict[str, tuple[str, Callable[[SweepsModel], TrialPlot]]] = {
            HISTORY: (tr("History"), SweepHistory),
            PARALLEL: (tr("Parallel"), ParallelPlot),
            IMPORTANCE: (tr("Importance"), ImportancePlot),
            SLICE: (tr("Slice"), SlicePlot),
            CONTOUR: (tr("Contour"), ContourPlot),
            PARETO: (tr("Pareto"), ParetoPlot),
        }
        self._makers = {key: make for key, (_, make) in makers.items()}
        self.choices = Segments({key: word for key, (word, _) in makers.items()}, "sweeps.plots")
        self.objective = _combo("objective", tr("Objective"))
        self.first = _combo("first", tr("Parameter to the right"))
        self.second = _combo("second", tr("Parameter upwards"))
        self._axes = QWidget()
        self._up = label("↑", "small")
        self._stack = QStackedWidget()
        self._arrange()
        self.choices.chosen.connect(self.show_plot)
        for combo in (self.objective, self.first, self.second):
            combo.currentIndexChanged.connect(lambda _n: self._ask())
        model.trials_changed.connect(lambda _change: self._ask())
        model.facts_changed.connect(self._on_facts)
        model.chosen_changed.connect(self._on_sweep)
        self._on_sweep()

    @property
    def current(self) -> TrialPlot:
        """The chart that is chosen."""
        return self.plot(self.choices.key)

    def plot(self, key: str) -> TrialPlot:
        """A chart by its key; made when it is first wanted."""
        if key not in self._made:
            made = self._made[key] = self._makers[key](self._model)
            made.chosen.connect(self._model.select)
            made.opened.connect(self.trial_opened)
            self._stack.addWidget(made)
        return self._made[key]

    def show_plot(self, key: str) -> None:
        """Show a chart."""
        self.choices.set_key(key)
        self._stack.setCurrentWidget(self.plot(key))
        self.first.setVisible(key in (SLICE, CONTOUR))
        self.second.setVisible(key == CONTOUR)
        self._up.setVisible(key == CONTOUR)
        has_two = len(self._model.trials.objectives) > 1
        self.objective.setVisible(has_two and key not in (PARETO, IMPORTANCE))
        self._axes.setVisible(key in (SLICE, CONTOUR) or not self.objective.isHidden())
        self._ask()

    def redraw(self) -> None:
        """Draw the chart in sight."""
        if not self.isVisible():
            return
        shown = self.current
        shown.place = max(0, self.objective.currentIndex())
        names = (self.first.currentText(), self.second.currentText())
        shown.parameters = tuple(name for name in names if name)
        shown.redraw()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self.show_plot(self.choices.key)

    def hideEvent(self, event: QHideEvent | None) -> None:
        super().hideEvent(event)
        self._queue.stop()

    def _on_sweep(self) -> None:
        """Offer the axes of the chosen sweep."""
        spec = self._model.spec
        names = list(spec.parameters) if spec is not None else []
        metrics = [one.metric for one in spec.objectives] if spec is not None else []
        for combo, words, at in (
            (self.objective, metrics, 0),
            (self.first, names, 0),
            (self.second, names, min(1, len(names) - 1)),
        ):
            combo.blockSignals(True)
            combo.clear()
            combo.addItems(words)
            combo.setCurrentIndex(at)
            combo.blockSignals(False)
        pareto = self.choices.findChild(QPushButton, f"sweeps.plots.{PARETO}")
        if pareto is not None:
            pareto.setVisible(len(metrics) > 1)
        key = self.choices.key
        self.show_plot(HISTORY if key == PARETO and len(metrics) < 2 else key)

    def _on_facts(self) -> None:
        if self.choices.key == IMPORTANCE:
            self._ask()

    def _ask(self) -> None:
        if self.isVisible():
            self._queue.ask("plot", self.redraw)

    def _arrange(self) -> None:
        axes = QHBoxLayout(self._axes)
        axes.setContentsMargins(10, 0, 10, 0)
        axes.setSpacing(8)
        for part in (self.objective, self.first, self._up, self.second):
            axes.addWidget(part)
        axes.addStretch(1)
        row = QHBoxLayout()
        row.setContentsMargins(10, 8, 10, 0)
        row.addWidget(self.choices)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self._axes)
        layout.addWidget(self._stack, 1)


def _combo(name: str, words: str) -> CalmCombo:
    made = CalmCombo()
    made.setObjectName(f"sweeps.{name}")
    made.setAccessibleName(words)
    made.setToolTip(words)
    made.setMaximumWidth(220)
    return made
