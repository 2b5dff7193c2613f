"""Ranges that are offered for a parameter when it is first varied, from its default and bounds."""

import math

from mosaic_gui.state.form_field import FieldKind, FormField

RANGE, VALUES = "range", "values"
"""A parameter is varied over a range of numbers, or over a list of values."""
SMALL = 0.05
"""Defaults up to which a number is varied on a logarithmic scale."""
_OF_THE_SCRIPT = frozenset({"run", "outputs"})
"""Groups of parameters that do not change how an agent learns."""
LARGE_WHOLE = 64
"""Whole defaults from which a number is varied on a logarithmic scale."""


def can_range(field: FormField) -> bool:
    """Whether a parameter has numbers."""
    return field.kind in (FieldKind.INTEGER, FieldKind.NUMBER)


def is_rare(field: FormField) -> bool:
    """Whether a parameter is seldom varied: it is of the script, and not of the algorithm."""
    return field.group in _OF_THE_SCRIPT


def can_vary(field: FormField) -> bool:
    """Whether a parameter can be varied."""
    return not field.fixed and field.kind is not FieldKind.CHECKPOINT and not field.role


def first_texts(field: FormField) -> dict[str, str]:
    """Texts of a parameter's fields when it is first varied."""
    if not can_range(field):
        return {"kind": VALUES, "choices": first_choices(field)}
    low, high, is_log = first_range(field)
    return {
        "kind": RANGE,
        "low": _text(field, low),
        "high": _text(field, high),
        "log": str(is_log),
        "choices": first_choices(field),
    }


def first_choices(field: FormField) -> str:
    """Values that are offered as a list, separated by commas."""
    if field.kind is FieldKind.BOOLEAN:
        return ", ".join(str(choice) for choice in (True, False))
    if field.choices:
        return ", ".join(field.text(choice) or "none" for choice in field.choices)
    if not can_range(field):
        return field.text(field.default)
    low, high, is_log = first_range(field)
    middle = math.sqrt(low * high) if is_log else (low + high) / 2
    texts = [_text(field, value) for value in (low, middle, high)]
    return ", ".join(dict.fromkeys(texts))


def first_range(field: FormField) -> tuple[float, float, bool]:
    """Low, high, and whether the scale is logarithmic."""
    default = field.default
    value = float(default) if isinstance(default, int | float) else None
    low, high, is_log = _around(field, value)
    least = field.minimum if field.minimum is not None else field.above
    most = field.maximum if field.maximum is not None else field.below
    if least is not None:
        low = max(low, least if field.minimum is not None else least + _margin(field, high))
    if most is not None:
        high = min(high, most if field.maximum is not None else most - _margin(field, most))
    if is_log and low <= 0:
        low = high / 1_000 if field.kind is FieldKind.NUMBER else 1
    return (low, max(low, high), is_log)


def _around(field: FormField, value: float | None) -> tuple[float, float, bool]:
    most = field.maximum if field.maximum is not None else field.below
    if value is None or value == 0:
        return (0.0, most if most is not None else 10.0 if _is_whole(field) else 1.0, False)
    if value < 0:
        return 2 * value, value / 2, False
    if _is_whole(field):
        is_log = value >= LARGE_WHOLE
        return (value / 4, value * 4, True) if is_log else (max(1.0, value / 2), value * 2, False)
    if value <= SMALL:
        return value / 10, value * 10, True
    if most is not None and value > most / 2:
        rest = most - value
        return value - 9 * rest, value + 0.9 * rest, False
    return value / 2, value * 2, False


def _margin(field: FormField, scale: float) -> float:
    return 1.0 if _is_whole(field) else abs(scale or 1.0) / 1_000


def _is_whole(field: FormField) -> bool:
    return field.kind is FieldKind.INTEGER


def _text(field: FormField, value: float) -> str:
    if _is_whole(field):
        return str(round(value))
    return field.text(float(f"{value:.3g}"))
