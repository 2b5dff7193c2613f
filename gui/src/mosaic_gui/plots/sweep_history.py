"""Optimisation history: the value of each trial, and the best one so far."""

import numpy as np
import pyqtgraph as pg

from mosaic_contracts.sweeps import TrialState
from mosaic_gui.plots.axis import NumberAxis
from mosaic_gui.plots.trial_plot import DotGroup, TrialPlot
from mosaic_gui.state.language import tr
from mosaic_gui.state.trial_points import TrialPoints
from mosaic_gui.state.trial_words import BAD_STATES
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.sweeps import SweepsModel


class SweepHistory(TrialPlot):
    """Values over the numbers of trials. Trials without a value are crosses at the lower edge."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__(model, "history", tr("Optimisation history"))

    def bottom_axis(self) -> pg.AxisItem:
        return NumberAxis("bottom")

    def dress(self) -> None:
        self._best = pg.PlotCurveItem(antialias=True, skipFiniteCheck=True)
        self._best.setZValue(10)
        self._failed = pg.ScatterPlotItem(symbol="x", size=8, pxMode=True)
        for item in (self._best, self._failed):
            self._item.addItem(item)

    def recolour(self) -> None:
        tokens = current()
        self._best.setPen(pg.mkPen(tokens.ok, width=2))
        self._failed.setPen(pg.mkPen(tokens.bad, width=1.5))

    def clear(self) -> None:
        self._best.setData([], [])
        self._failed.setData([], [])

    def draw(self, points: TrialPoints) -> None:
        tokens, values = current(), points.values(self.place)
        numbers = np.arange(points.count, dtype=float)
        complete = points.complete
        pruned = points.is_state(TrialState.PRUNED) & np.isfinite(values)
        other = np.isfinite(values) & ~complete & ~pruned
        self.show_places(
            numbers,
            values,
            (
                DotGroup(numbers[pruned], values[pruned], tokens.warn, 0.8),
                DotGroup(numbers[other], values[other], tokens.neutral, 0.8),
                DotGroup(numbers[complete], values[complete], tokens.accent),
            ),
        )
        self._best.setData(*_stairs(*points.best_so_far(self.place), points.count))
        failed = numbers[points.is_state(*BAD_STATES) & ~np.isfinite(values)]
        finite = values[np.isfinite(values)]
        low = float(finite.min()) if len(finite) else 0.0
        span = float(np.ptp(finite)) if len(finite) else 1.0
        floor = low - 0.05 * (span or 1.0)
        self._failed.setData(failed, np.full(len(failed), floor))
        self._y = np.where(np.isin(numbers, failed), floor, values)


def _stairs(numbers: np.ndarray, best: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The line of the best value: only the trials at which it changed, and the end."""
    if not len(numbers):
        return np.empty(0), np.empty(0)
    at = np.flatnonzero(np.diff(best, prepend=np.nan) != 0)
    x = np.append(numbers[at], max(count - 1, numbers[-1]))
    y = np.append(best[at], best[-1])
    return np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
