"""Pareto front: both objectives of each trial, and the trials that no other one beats in both."""

import numpy as np
import pyqtgraph as pg

from mosaic_gui.plots.trial_plot import DotGroup, TrialPlot
from mosaic_gui.state.language import tr
from mosaic_gui.state.trial_points import TrialPoints
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.viewmodels.sweeps import SweepsModel


class ParetoPlot(TrialPlot):
    """The first objective to the right, the second one upwards."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__(model, "pareto", tr("Pareto front"))

    def dress(self) -> None:
        self._front = pg.PlotCurveItem(antialias=True)
        self._item.addItem(self._front)

    def recolour(self) -> None:
        self._front.setPen(pg.mkPen(current().ok, width=1.5))

    def clear(self) -> None:
        self._front.setData([], [])

    def draw(self, points: TrialPoints) -> None:
        if len(points.objectives) < 2:
            self.clear()
            self._dots.show_dots(())
            return
        tokens, complete = current(), points.complete & np.isfinite(points.values(1))
        x, y = (np.where(complete, points.values(place), np.nan) for place in (0, 1))
        best = np.array([trial.number for trial in self._model.trials.best], int)
        rest = complete.copy()
        rest[best] = False
        front = best[np.argsort(x[best])]
        self._front.setData(x[front], y[front])
        for axis, objective in zip((self._bottom, self._left), points.objectives, strict=True):
            axis.setLabel(objective.metric, color=tokens.muted)
            axis.label.setFont(ui_font(11))
        self.show_places(
            x,
            y,
            (
                DotGroup(x[rest], y[rest], tokens.accent, 0.8),
                DotGroup(x[best], y[best], tokens.ok, 1.2),
            ),
        )
