"""Slice: the value of each trial over one parameter."""

import numpy as np

from mosaic_contracts.sweeps import TrialState
from mosaic_gui.plots.sweep_colours import rank_colour
from mosaic_gui.plots.trial_plot import DotGroup, TrialPlot
from mosaic_gui.state.language import tr
from mosaic_gui.state.trial_points import TrialPoints
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.sweeps import SweepsModel

RANKS = 8
"""Groups of colours from the first trials to the last ones."""


class SlicePlot(TrialPlot):
    """Dots get lighter with the number of their trial, so that the search is seen."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__(model, "slice", tr("Slice"))

    def draw(self, points: TrialPoints) -> None:
        name = self.parameters[0] if self.parameters else next(iter(points.axes))
        x, y = points.places(name), points.values(self.place)
        self._bottom.show_axis(points.axes[name])
        complete = np.flatnonzero(points.complete & np.isfinite(x))
        pruned = points.is_state(TrialState.PRUNED) & np.isfinite(x) & np.isfinite(y)
        groups = [DotGroup(x[pruned], y[pruned], current().warn, 0.8)]
        for n, part in enumerate(np.array_split(complete, RANKS)):
            groups.append(DotGroup(x[part], y[part], rank_colour(0.15 + 0.55 * n / (RANKS - 1))))
        self.show_places(x, y, groups)
