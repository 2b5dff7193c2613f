"""Passes of a series whose steps go back, e.g. after a restart from a checkpoint.

Each pass is drawn at its own steps. A worker that reports a point late makes no pass of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.intp]

LEAST = 3
"""Points in a row below the highest step that begin a pass; fewer are points that came late."""


@dataclass(frozen=True)
class SeriesPass:
    """Points of a series that form one line."""

    x: Floats
    """Ascending."""
    places: slice | Places
    """Their indices in the series, in this order."""


def find_passes(steps: Floats, known: Sequence[int] = (0,)) -> list[int]:
    """Where each pass begins. `steps` are finite, in the order in which they were reported.

    `known`: where passes begin that the stack has found; coarse steps do not show each of them.
    """
    ends = [*known[1:], len(steps)]
    return [
        known_begin + begin
        for known_begin, end in zip(known, ends, strict=True)
        for begin in _find_passes(steps[known_begin:end])
    ]


def _find_passes(steps: Floats) -> list[int]:
    begins, high, looked_at = [0], -np.inf, 0
    falls = np.flatnonzero(steps[1:] < steps[:-1]) + 1
    for fall in falls.tolist():
        high = max(high, float(steps[looked_at:fall].max()))
        looked_at = fall
        if fall + LEAST <= len(steps) and (steps[fall : fall + LEAST] <= high).all():
            begins.append(fall)
            high = -np.inf
    return begins


def split(steps: Floats, known: Sequence[int] = (0,)) -> list[SeriesPass]:
    """The passes of a series, the newest last; within one, points are in the order of their steps."""
    begins = find_passes(steps, known)
    return [
        _part(steps, begin, end)
        for begin, end in zip(begins, [*begins[1:], len(steps)], strict=True)
    ]


def superseded(parts: list[SeriesPass]) -> list[SeriesPass]:
    """The passes as one history: each is cut at the step at which a later one begins."""
    kept: list[SeriesPass] = []
    least = np.inf
    for part in reversed(parts):
        end = int(np.searchsorted(part.x, least, side="left"))
        places = part.places
        if isinstance(places, slice):
            places = np.arange(places.start, places.stop)
        if end:
            kept.append(SeriesPass(part.x[:end], places[:end]))
            least = min(least, float(part.x[0]))
    return kept[::-1]


def _part(steps: Floats, begin: int, end: int) -> SeriesPass:
    own = steps[begin:end]
    if (own[1:] >= own[:-1]).all():
        return SeriesPass(own, slice(begin, end))
    order = np.argsort(own, kind="stable")
    return SeriesPass(own[order], begin + order)
