"""Learning curves: episodes of a training in bins of equally many environment steps."""

import numpy as np

from mosaic_analysis.estimators import Floats
from mosaic_contracts.comparisons import TrainingRun

FINAL_PART = 0.1
"""Part of the steps at the end whose returns are the final ones."""


class Bins:
    """Bins over the first `length` environment steps.

    Args:
        length: steps that all runs have.
        count: number of bins.
    """

    def __init__(self, length: int, count: int) -> None:
        self.ends: Floats = np.linspace(length / count, length, count)
        """Last step of each bin."""
        self._final = max(1, round(count * FINAL_PART))

    def values(self, run: TrainingRun) -> Floats:
        """Return the mean return of the episodes that ended in each bin.

        A bin without an end has the value of the one before; those before the first end have that of the first.
        """
        places = np.searchsorted(self.ends, run.steps)
        is_inside = places < len(self.ends)
        returns = np.asarray(run.returns, np.float64)
        if not is_inside.any():  # its first episode ended later than the shortest training
            return np.full(len(self.ends), returns[0])
        sums = np.bincount(places[is_inside], returns[is_inside], len(self.ends))
        counts = np.bincount(places[is_inside], minlength=len(self.ends))
        filled = np.flatnonzero(counts)
        newest = np.searchsorted(filled, np.arange(len(self.ends)), side="right") - 1
        sources = filled[np.maximum(newest, 0)]
        return np.asarray(sums[sources] / counts[sources], np.float64)

    def final(self, curve: Floats) -> float:
        """Return the mean of the last tenth of a curve."""
        return float(curve[-self._final :].mean())

    def steps_to(self, curve: Floats, threshold: float) -> float:
        """Return the end of the first bin that reaches a threshold; infinity: none does."""
        reached = np.flatnonzero(curve >= threshold)
        return float(self.ends[reached[0]]) if len(reached) else np.inf
