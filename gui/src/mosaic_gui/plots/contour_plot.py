"""Contour: the value over two parameters, as bands of a smoothed surface with the trials on it."""

import numpy as np
import pyqtgraph as pg
from PyQt6.QtCore import QRectF
from PyQt6.QtGui import QColor

from mosaic_contracts.sweeps import Direction, TrialState
from mosaic_gui.plots.sweep_colours import rank_colour
from mosaic_gui.plots.trial_plot import DotGroup, TrialPlot
from mosaic_gui.state.language import tr
from mosaic_gui.state.sweep_surface import surface
from mosaic_gui.state.trial_points import TrialPoints
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.sweeps import SweepsModel

BENEATH_DOTS = -10


class ContourPlot(TrialPlot):
    """Green is best. Where no trial is near, nothing is drawn."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__(model, "contour", tr("Contour"))

    def dress(self) -> None:
        self._image = pg.ImageItem()
        self._image.setZValue(BENEATH_DOTS)
        self._item.addItem(self._image)

    def clear(self) -> None:
        self._image.clear()

    def draw(self, points: TrialPoints) -> None:
        names = list(self.parameters) or list(points.axes)
        first, second = points.axes[names[0]], points.axes[names[min(1, len(names) - 1)]]
        self._bottom.show_axis(first)
        self._left.show_axis(second)
        x, y, values = (
            points.places(first.name),
            points.places(second.name),
            points.values(self.place),
        )
        complete = points.complete
        bounds = (first.low, first.high, second.low, second.high)
        found = surface(np.where(complete, x, np.nan), y, values, bounds)
        if found is None:
            self._image.clear()
        else:
            is_falling = points.objectives[self.place].direction is Direction.MINIMIZE
            bands = 1.0 - found.bands if is_falling else found.bands
            self._image.setImage(_coloured(bands), autoLevels=False, levels=(0, 255))
            self._image.setRect(
                QRectF(first.low, second.low, first.high - first.low, second.high - second.low)
            )
        other = points.is_state(TrialState.PRUNED) & np.isfinite(x) & np.isfinite(y)
        complete = complete & np.isfinite(x) & np.isfinite(y)
        tokens = current()
        self.show_places(
            x,
            y,
            (
                DotGroup(x[other], y[other], tokens.warn, 0.6),
                DotGroup(x[complete], y[complete], tokens.text, 0.6),
            ),
        )


def _coloured(bands: np.ndarray) -> np.ndarray:
    """A picture of bands."""
    picture = np.zeros((*bands.shape, 4), np.uint8)
    surface_colour = current().surface
    for band in np.unique(bands[np.isfinite(bands)]):
        colour = QColor(mixed(rank_colour(float(band)), surface_colour, 0.55))
        picture[bands == band] = (colour.red(), colour.green(), colour.blue(), 255)
    return picture
