"""One metric of one run: its points in the order in which they came, in arrays that grow."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mosaic_gui.state.smoothing import Smoother

Floats = NDArray[np.float64]
Numbers = Floats | Sequence[float | None]

_FIRST = 256
MOST_RAW = 400_000
"""Points kept of one series (about 10 MB); beyond, the older half is thinned to the lowest and highest of each four."""


class Series:
    """Steps (NaN where a point has none), wall-clock seconds and values."""

    def __init__(self) -> None:
        self._data = np.empty((3, _FIRST))
        self._size = 0
        self.thinned = False
        self.is_rising = True
        """Every point has a step, and none is below the one before: the steps are places on an axis as they are."""
        self.version = 0
        """Grows when points were thinned: whoever kept something of the points begins anew."""
        self._smoother: Smoother | None = None
        self._smoothed = np.empty(0)
        self._smoothed_size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def steps(self) -> Floats:
        return self._data[0, : self._size]

    @property
    def t(self) -> Floats:
        return self._data[1, : self._size]

    @property
    def values(self) -> Floats:
        return self._data[2, : self._size]

    def extend(self, steps: Numbers, t: Numbers, values: Numbers) -> None:
        """Append points; all three have one length. A step that is None or NaN is none."""
        added = len(values)
        self._reserve(self._size + added)
        place = slice(self._size, self._size + added)
        self._data[0, place] = np.asarray(steps, dtype=np.float64)  # None becomes NaN
        self.is_rising = self.is_rising and self._goes_on_rising(place)
        self._data[1, place] = t
        self._data[2, place] = values
        self._size += added
        if self._size > MOST_RAW:
            self._thin()

    def smoothed(self, factor: float) -> Floats:
        """The values smoothed over all points; only what is new is computed."""
        if self._smoother is None or self._smoother.factor != factor:
            self._smoother = Smoother(factor)
            self._smoothed_size = 0
        if len(self._smoothed) < self._data.shape[1]:
            grown = np.empty(self._data.shape[1])
            grown[: self._smoothed_size] = self._smoothed[: self._smoothed_size]
            self._smoothed = grown
        new = self.values[self._smoothed_size :]
        if len(new):
            self._smoothed[self._smoothed_size : self._size] = self._smoother.extend(new)
            self._smoothed_size = self._size
        return self._smoothed[: self._size]

    def _goes_on_rising(self, new: slice) -> bool:
        steps = self._data[0, max(0, new.start - 1) : new.stop]
        # a comparison with NaN is false
        return bool((steps[1:] >= steps[:-1]).all() and np.isfinite(steps[-1:]).all())

    def _reserve(self, size: int) -> None:
        room = self._data.shape[1]
        if size <= room:
            return
        while room < size:
            room *= 2
        grown = np.empty((3, room))
        grown[:, : self._size] = self._data[:, : self._size]
        self._data = grown

    def _thin(self) -> None:
        half = self._size // 2 // 4 * 4
        table = np.nan_to_num(self.values[:half], nan=0.0).reshape(-1, 4)
        base = np.arange(len(table)) * 4
        picks = np.unique(np.concatenate([base + table.argmin(1), base + table.argmax(1)]))
        kept = np.concatenate([picks, np.arange(half, self._size)])
        self._data[:, : len(kept)] = self._data[:, kept]
        self._size = len(kept)
        self._smoother = None
        self.thinned = True
        self.version += 1
