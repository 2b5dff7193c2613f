"""Figures of comparisons as text."""

import math

from mosaic_contracts.comparisons import Estimate

_MOST_DECIMALS = 4


def number_text(value: float | None, decimals: int | None = None) -> str:
    """Return a number with as many decimals as it needs; None is a dash."""
    if value is None:
        return "–"
    if decimals is None:
        decimals = 0 if float(value).is_integer() else _decimals(abs(value))
    return f"{value:,.{decimals}f}"


def estimate_text(found: Estimate | None, decimals: int | None = None) -> str:
    """Return `value [low, high]`, with the decimals that the width of the interval deserves.

    Args:
        found: without an interval only the value is returned; None is a dash.
        decimals: None: two digits of the interval's width.
    """
    if found is None:
        return number_text(None)
    ends = (found.low, found.high)
    if decimals is None:
        decimals = _decimals_of(found)
    if ends == (None, None):
        return number_text(found.value, decimals)
    low, high = (number_text(end, decimals) for end in ends)
    return f"{number_text(found.value, decimals)} [{low}, {high}]"


def _decimals_of(found: Estimate) -> int:
    if found.low is not None and found.high is not None and found.high > found.low:
        return _decimals(found.high - found.low)
    value = found.value
    return 0 if value is None or float(value).is_integer() else _decimals(abs(value))


def _decimals(size: float) -> int:
    """Decimals that show two digits of a number of this size."""
    if not size:
        return 0
    return min(_MOST_DECIMALS, max(0, 1 - math.floor(math.log10(size))))
