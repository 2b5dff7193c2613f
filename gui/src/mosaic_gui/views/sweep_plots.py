"""The charts of a sweep, one at a time. Only the one in sight is drawn."""

from collections.abc import Callable

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtGui import QHideEvent, QShowEvent
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QStackedWidget, QVBoxLayout

from mosaic_gui.plots.sweep_history import SweepHistory
from mosaic_gui.plots.trial_plot import TrialPlot
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.frame_clock import DrawQueue
from mosaic_gui.viewmodels.sweeps import SweepsModel
from mosaic_gui.views.segments import Segments

HISTORY = "history"
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
        }
        self._makers = {key: make for key, (_, make) in makers.items()}
        self.choices = Segments({key: word for key, (word, _) in makers.items()}, "sweeps.plots")
        self._stack = QStackedWidget()
        row = QHBoxLayout()
        row.setContentsMargins(10, 8, 10, 0)
        row.addWidget(self.choices)
        row.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self._stack, 1)
        self.choices.chosen.connect(self.show_plot)
        for signal in (model.trials_changed, model.chosen_changed):
            signal.connect(lambda *_: self._ask())

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
        self._ask()

    def redraw(self) -> None:
        """Draw the chart in sight."""
        if self.isVisible():
            self.current.redraw()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self.show_plot(self.choices.key)

    def hideEvent(self, event: QHideEvent | None) -> None:
        super().hideEvent(event)
        self._queue.stop()

    def _ask(self) -> None:
        if self.isVisible():
            self._queue.ask("plot", self.redraw)
