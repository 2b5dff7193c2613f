"""A curve in one line of text."""

import math
from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"
_LOST = "×"
"""Where the value is not a number: visible, not left out."""


def sparkline(values: Sequence[float | None]) -> str:
    """One character a value, scaled between the least and the greatest finite one."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    if not finite:
        return _LOST * len(values)
    low, high = min(finite), max(finite)
    return "".join(_mark(value, low, high) for value in values)


def _mark(value: float | None, low: float, high: float) -> str:
    if value is None or math.isnan(value):
        return _LOST
    if math.isinf(value):
        return _BARS[-1] if value > 0 else _BARS[0]
    # halves first: the difference of two large finite numbers may be infinite
    span = high / 2 - low / 2
    if span == 0:
        return _BARS[3]
    return _BARS[round((value / 2 - low / 2) / span * (len(_BARS) - 1))]
