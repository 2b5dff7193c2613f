"""Exponential smoothing without start bias: a constant series stays constant from its first point.

The sum runs over all points, never over the decimated ones, so that zooming does not change a smoothed value.
"""

import math

import numpy as np
from numpy.typing import NDArray

from mosaic_gui.state.settings import MOST_SMOOTHING

Floats = NDArray[np.float64]

MOST = MOST_SMOOTHING
_BLOCK = 256


class Smoother:
    """Smooths a series that grows at its end; what was smoothed once is not touched again."""

    def __init__(self, factor: float) -> None:
        """Args:
        factor: weight of the past, from 0 to MOST.

        Raises:
            ValueError: it is outside of that.
        """
        if not 0.0 <= factor <= MOST:
            raise ValueError(f"a smoothing factor lies between 0 and {MOST}, not {factor}")
        self.factor = factor
        self._sum = 0.0
        self._weight = 0.0
        steps = np.arange(_BLOCK)
        lag = steps[:, None] - steps[None, :]
        self._matrix = np.where(lag >= 0, (1 - factor) * factor ** np.maximum(lag, 0), 0.0)
        self._decay = factor ** (steps + 1.0)

    def extend(self, values: Floats) -> Floats:
        """Smoothed values of the next points. What is not finite stays as it is and is not averaged in."""
        smoothed = values.astype(np.float64, copy=True)
        finite = np.isfinite(values)
        if self.factor > 0:
            smoothed[finite] = self._extend_finite(values[finite])
        return smoothed

    def extend_weighted(self, levels: Floats, weights: Floats) -> Floats:
        """As `extend`, for points that each represent `weights` points with a mean of `levels`."""
        smoothed = np.full(len(levels), np.nan)
        for place, (level, weight) in enumerate(
            zip(levels.tolist(), weights.tolist(), strict=True)
        ):
            if weight and math.isfinite(level):
                past = self.factor**weight
                self._sum = past * self._sum + (1 - past) * level
                self._weight = past * self._weight + (1 - past)
            if self._weight:
                smoothed[place] = self._sum / self._weight
        return smoothed

    def _extend_finite(self, values: Floats) -> Floats:
        out = np.empty_like(values)
        for begin in range(0, len(values), _BLOCK):
            part = values[begin : begin + _BLOCK]
            n = len(part)
            decay = self._decay[:n]
            sums = self._matrix[:n, :n] @ part + decay * self._sum
            weights = 1.0 - decay * (1.0 - self._weight)
            out[begin : begin + n] = sums / weights
            self._sum, self._weight = float(sums[-1]), float(weights[-1])
        return out
