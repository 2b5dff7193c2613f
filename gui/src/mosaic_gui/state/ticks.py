"""Places and texts of the marks on an axis of a figure."""

import math
import time
from collections.abc import Sequence

from mosaic_gui.state.settings import XAxis
from mosaic_gui.state.wording import short_count

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_SECONDS = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400)
"""Distances between marks of a clock."""
Tick = tuple[float, str]


def value_ticks(low: float, high: float, most: int, *, log_scale: bool) -> list[Tick]:
    """Marks of values.

    Args:
        low, high: Ends of the axis; exponents of ten on a logarithmic scale.
        most: Marks that fit.
        log_scale: Whether the scale is logarithmic.
    """
    if not log_scale:
        places, step = _places(low, high, most)
        return [(place, _value_text(place, step)) for place in places]
    first, last = math.ceil(low - 1e-9), math.floor(high + 1e-9)
    if last - first < 1:
        return [(place, f"{10**place:.3g}") for place in _places(low, high, most)[0]]
    every = max(1, -(-(last - first + 1) // most))
    return [(float(n), f"{10.0**n:g}") for n in range(first, last + 1, every)]


def place_ticks(axis: XAxis, low: float, high: float, most: int) -> list[Tick]:
    """Marks of a horizontal axis."""
    if axis is XAxis.WALL:
        return _clock_ticks(low, high, most)
    places, step = _places(low, high, most)
    if step < 1:
        return [(place, f"{place:g}") for place in places]
    return [(place, short_count(round(place))) for place in places]


def _places(low: float, high: float, most: int) -> tuple[Sequence[float], float]:
    """Round numbers between two ends, and their distance."""
    least = (high - low) / max(1, most)
    size = 10.0 ** math.floor(math.log10(least)) if least > 0 else 1.0
    step = next(size * one for one in _STEPS if size * one >= least * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [n * step for n in range(first, last + 1)], step


def _value_text(value: float, step: float) -> str:
    if abs(value) < step * 1e-6:
        return "0"
    if step >= 1_000:
        return short_count(round(value))
    if step < 1e-3:
        return f"{value:.2g}"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    return f"{value:.{digits + (1 if f'{step:.1e}'.startswith('2.5') else 0)}f}"


def _clock_ticks(low: float, high: float, most: int) -> list[Tick]:
    least = (high - low) / max(1, most)
    step = next((one for one in _SECONDS if one >= least), _SECONDS[-1] * math.ceil(least / 86_400))
    words = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86_400 else "%Y-%m-%d"
    shift = time.localtime(low).tm_gmtoff  # marks are round in the user's own time
    first, last = math.ceil((low + shift) / step), math.floor((high + shift) / step)
    places = [n * step - shift for n in range(first, last + 1)]
    return [(float(place), time.strftime(words, time.localtime(place))) for place in places]
