"""One metric of one run: its points in order of arrival, in growing arrays.

The oldest part may be reduced (see `mosaic_gui.state.downsampling`): a long run is opened with its buckets, and a run
that streams for ever is thinned from its old end. Where the user zooms in, that stretch is replaced by a finer one.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mosaic_gui.state.downsampling import ReducedPoints, concatenated, evened
from mosaic_gui.state.passes import find_passes
from mosaic_gui.state.smoothing import Smoother

Floats = NDArray[np.float64]
Numbers = Floats | Sequence[float | None]

_FIRST = 256
MOST_RAW = 48_000
"""Points kept of one series (some 2 MB). Beyond that all but the newest quarter is thinned evenly, with lowest, highest
and gaps kept. The stack has all points, and they are read again where the user zooms in."""
MOST_NEW = 64
"""Points that wait to be put into arrays until somebody looks: a run may record hundreds of series that nobody draws, a
point or two at a time, and an array's cost is that of a call."""
_NONE = ReducedPoints(*(np.empty(0) for _ in range(5)))


class PointSeries:
    """Steps (NaN where a point has none), wall-clock seconds and values."""

    def __init__(self) -> None:
        self._data = np.empty((3, _FIRST))
        self._size = 0
        """Points in `_data`."""
        self._new: tuple[list[float | None], list[float], list[float]] = ([], [], [])
        self._reduced = _NONE
        """The first points, which represent several each."""
        self._begins: list[int] = [0]
        """The first reduced point of each pass over the steps."""
        self._unrefined: tuple[ReducedPoints, list[int]] | None = None
        """The reduced part and its passes as they were before a stretch was refined."""
        self._is_rising = True
        self._smoother: Smoother | None = None
        self._smoothed = np.empty(0)
        self._smoothed_size = 0
        self._apart: tuple[tuple[int, float, tuple[int, ...]], Floats] | None = None
        """What `smoothed_apart` found last, and for what."""

    def __len__(self) -> int:
        self._take_new()
        return self._size

    @property
    def steps(self) -> Floats:
        self._take_new()
        return self._data[0, : self._size]

    @property
    def t(self) -> Floats:
        self._take_new()
        return self._data[1, : self._size]

    @property
    def values(self) -> Floats:
        self._take_new()
        return self._data[2, : self._size]

    @property
    def is_rising(self) -> bool:
        """Whether every point has a step and steps never go back."""
        self._take_new()
        return self._is_rising

    @property
    def begins(self) -> list[int]:
        """The first points of the passes over the steps that the reduced part has."""
        self._take_new()
        return self._begins

    @property
    def thinned(self) -> bool:
        """Whether the series has fewer points than the run reported."""
        self._take_new()
        return len(self._reduced) > 0

    def too_few_points(self, part: slice, wanted: int) -> tuple[int, int] | None:
        """Lowest and highest step of a part with fewer than `wanted` points of which the stack knows more."""
        seen = slice(part.start, min(part.stop, len(self._reduced)))
        if not 0 < seen.stop - seen.start < wanted or self._reduced.weights[seen].max() <= 1:
            return None
        steps = self.steps[seen]
        if not np.isfinite(steps).all():
            return None
        return int(steps.min()), int(steps.max())

    def begin(self, reduced: ReducedPoints, begins: Sequence[int] = (0,)) -> None:
        """Start an empty series with reduced points.

        `begins`: the first point of each pass over the steps.
        """
        self._replace_reduced(reduced, begins)

    def append(self, step: float | None, t: float, value: float) -> None:
        """Append one point. A step that is None or NaN is none."""
        steps, times, values = self._new
        steps.append(step)
        times.append(t)
        values.append(value)
        if len(steps) >= MOST_NEW:
            self._take_new()

    def extend(self, steps: Numbers, t: Numbers, values: Numbers) -> None:
        """Append points; all three have one length. A step that is None or NaN is none."""
        self._take_new()
        self._extend(steps, t, values)

    def _take_new(self) -> None:
        """Put what was appended into the arrays."""
        if self._new[0]:
            new, self._new = self._new, ([], [], [])
            self._extend(*new)

    def _extend(self, steps: Numbers, t: Numbers, values: Numbers) -> None:
        added = len(values)
        self._reserve(self._size + added)
        place = slice(self._size, self._size + added)
        self._data[0, place] = np.asarray(steps, dtype=np.float64)  # None becomes NaN
        self._is_rising = self._is_rising and self._goes_on_rising(place)
        self._data[1, place] = np.asarray(t, dtype=np.float64)
        self._data[2, place] = np.asarray(
            values, dtype=np.float64
        )  # words of JSON become NaN and infinities
        self._size += added
        if self._size > MOST_RAW:
            self._thin()

    def refine(self, finer: ReducedPoints, begins: Sequence[int] = (0,)) -> None:
        """Put a finer stretch in its place among the reduced points; the one before becomes reduced again.

        `begins`: the first point of each pass; a pass without any has that of the next one.
        """
        self._take_new()
        base, known = self._unrefined or (self._reduced, self._begins)
        if not len(finer) or not np.isfinite(base.steps).all():
            return
        of_base = find_passes(base.steps, known)
        if len(begins) < len(of_base):
            return  # the stack has fewer passes here, so the place of the stretch is unknown
        old, new = _apart(base, of_base), _apart(finer, begins)[: len(of_base)]
        behind = self.steps[len(self._reduced) :]
        if len(behind) and behind[0] >= base.steps[-1]:
            new[-1] = new[-1].part(new[-1].steps < behind[0])  # those points are here as they are
        passes = [_refined(*pair) for pair in zip(old, new, strict=True)]
        sizes = [len(one) for one in passes]
        self._replace_reduced(concatenated(passes), [0, *np.cumsum(sizes[:-1]).tolist()])
        self._unrefined = (base, known)

    def smoothed(self, factor: float) -> Floats:
        """The values smoothed over all points; only what is new is computed."""
        self._take_new()
        if self._smoother is None or self._smoother.factor != factor:
            self._smoother = Smoother(factor)
            self._smoothed_size = 0
        if len(self._smoothed) < self._data.shape[1]:
            grown = np.empty(self._data.shape[1])
            grown[: self._smoothed_size] = self._smoothed[: self._smoothed_size]
            self._smoothed = grown
        reduced = len(self._reduced)
        if self._smoothed_size < reduced:
            old = self._smoother.extend_weighted(self._reduced.levels, self._reduced.weights)
            self._smoothed[:reduced] = np.where(np.isfinite(self.values[:reduced]), old, np.nan)
            self._smoothed_size = reduced
        new = self.values[self._smoothed_size :]
        if len(new):
            self._smoothed[self._smoothed_size : self._size] = self._smoother.extend(new)
            self._smoothed_size = self._size
        return self._smoothed[: self._size]

    def smoothed_apart(self, factor: float, begins: Sequence[int]) -> Floats:
        """The values smoothed over stretches that begin at these points, each on its own."""
        self._take_new()
        key = (self._size, factor, tuple(begins))
        if self._apart is None or self._apart[0] != key:
            ends = [*begins[1:], self._size]
            stretches = zip(begins, ends, strict=True)
            parts = [self._smoothed_between(factor, begin, end) for begin, end in stretches]
            self._apart = (key, np.concatenate(parts))
        return self._apart[1]

    def _smoothed_between(self, factor: float, begin: int, end: int) -> Floats:
        smoother, reduced = Smoother(factor), min(end, len(self._reduced))
        values = self.values[begin:end]
        if begin >= reduced:
            return smoother.extend(values)
        old = self._reduced.part(slice(begin, reduced))
        smooth = smoother.extend_weighted(old.levels, old.weights)
        smooth[~np.isfinite(values[: reduced - begin])] = np.nan
        return np.concatenate([smooth, smoother.extend(values[reduced - begin :])])

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

    def _replace_reduced(self, reduced: ReducedPoints, begins: Sequence[int]) -> None:
        """Replace the reduced points; those behind them stay."""
        raw = self._data[:, len(self._reduced) : self._size].copy()
        size = len(reduced) + raw.shape[1]
        self._reserve(size)
        self._data[:, : len(reduced)] = reduced.columns[:3]
        self._data[:, len(reduced) : size] = raw
        self._size = size
        self._reduced, self._begins, self._unrefined = reduced, list(begins), None
        self._is_rising = self._goes_on_rising(slice(0, size))
        self._smoother = self._apart = None

    def _thin(self) -> None:
        """Thin what is old. What is smooth already stays so: it is picked from, not smoothed again."""
        if self._unrefined is not None:
            self._replace_reduced(*self._unrefined)
        first = len(self._reduced)
        end = max(first, self._size - MOST_RAW // 4)
        fresh = slice(first, end)
        values = self.values[fresh].copy()
        raw = ReducedPoints(self.steps[fresh], self.t[fresh], values, values, np.ones(len(values)))
        fewer, picks = evened(concatenated([self._reduced, raw]), MOST_RAW // 2)
        kept = np.concatenate([picks, np.arange(end, self._size)])
        smooth = kept[: np.searchsorted(kept, self._smoothed_size)]
        self._smoothed_size = len(smooth)
        self._smoothed[: len(smooth)] = self._smoothed[smooth]
        self._data[:, : len(kept)] = self._data[:, kept]
        self._size = len(kept)
        self._reduced = fewer
        self._begins = np.unique(np.searchsorted(picks, self._begins)).tolist()
        self._apart = None


def _apart(points: ReducedPoints, begins: Sequence[int]) -> list[ReducedPoints]:
    """The points of each pass."""
    ends = [*begins[1:], len(points)]
    return [points.part(slice(*places)) for places in zip(begins, ends, strict=True)]


def _refined(base: ReducedPoints, finer: ReducedPoints) -> ReducedPoints:
    """One pass with a finer stretch in its place, if that is one of the same pass and there is one place for it."""
    if not len(finer) or not len(base) or (base.steps[1:] < base.steps[:-1]).any():
        return base
    if finer.t[-1] < base.t[0] or finer.t[0] > base.t[-1]:
        return base
    begin = int(np.searchsorted(base.steps, finer.steps[0], side="left"))
    end = int(np.searchsorted(base.steps, finer.steps[-1], side="right"))
    return concatenated([base.part(slice(begin)), finer, base.part(slice(end, None))])
