"""Axes of a chart: where ticks are, and how they are written."""

import math
from collections.abc import Sequence
from typing import NamedTuple

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_PAD = 0.04
"""Part of the height that is left free above and below the curves."""


class Span(NamedTuple):
    """Range of an axis."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """Its extent; never 0."""
        return self.high - self.low

    def share(self, value: float) -> float:
        """Where a value is, 0 to 1."""
        return (value - self.low) / self.width


def span_of(values: Sequence[float], *, padded: bool = False) -> Span:
    """Range of finite values, never empty.

    Args:
        values: the values.
        padded: whether some room is left at both ends.
    """
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high <= low:
        half = abs(low) / 2 or 0.5
        low, high = low - half, high + half
    room = (high - low) * _PAD if padded else 0.0
    return Span(low - room, high + room)


def ticks(span: Span, most: int) -> list[float]:
    """Round numbers in a range.

    Args:
        span: the range.
        most: how many there may be.
    """
    rough = span.width / most
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in _ROUND if size * factor >= rough * (1 - 1e-9))
    first = math.ceil(span.low / step - 1e-9)
    last = math.floor(span.high / step + 1e-9)
    return [n * step for n in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A number next to an axis: `1.5k`, `0.02`, `1e-05`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.4g}{unit}"
    return f"{value:.4g}"
