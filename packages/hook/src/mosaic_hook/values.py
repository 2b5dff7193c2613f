"""Numbers and plain forms of what numeric libraries hand out. No library is imported."""

from __future__ import annotations

import math
from typing import Any


def number_of(value: Any) -> float | None:
    """Return a value as a float; None when it is no single number.

    Args:
        value: a number of Python, or a one-element array or tensor.
    """
    if isinstance(value, (str, bytes)):
        return None
    try:
        # A tensor with a gradient warns when it becomes a number.
        detach = getattr(value, "detach", None)
        return float(value if detach is None else detach())
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None  # it has several elements


def step_of(value: Any) -> int | None:
    """Return a step as a whole number from 0; None when it is none."""
    number = number_of(value)
    if number is None or not math.isfinite(number) or number < 0:
        return None
    return int(number)


def json_number(value: float) -> str:
    """Return a float as JSON text; NaN and infinities as the words that the reader takes."""
    if value != value:
        return "NaN"
    if value in (math.inf, -math.inf):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value)


def plain(value: Any) -> Any:
    """Return an action or observation as JSON has it: lists for arrays, numbers for scalars, maps as they are.

    Raises:
        TypeError: it has no such form.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in value}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    to_list = getattr(value, "tolist", None)  # arrays, scalars, tensors
    if to_list is not None:
        return to_list()
    raise TypeError(f"a {type(value).__name__} has no plain form")
