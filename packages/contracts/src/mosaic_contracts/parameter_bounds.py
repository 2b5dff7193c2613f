"""Bounds of a parameter in JSON Schema: in words, and whether a value and the default are within them."""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]

_BOUNDS: dict[str, tuple[Callable[[Any, Any], bool], str]] = {
    "minimum": (lambda value, bound: value >= bound, "at least"),
    "exclusiveMinimum": (lambda value, bound: value > bound, "more than"),
    "maximum": (lambda value, bound: value <= bound, "at most"),
    "exclusiveMaximum": (lambda value, bound: value < bound, "less than"),
    "multipleOf": (lambda value, bound: math.fmod(value, bound) == 0, "a multiple of"),
}


def bounds_words(schema: Schema) -> str:
    """Return the bounds of a number in words, e.g. `0 to 1` or `more than 0`; empty: it has none."""
    found = {keyword: schema[keyword] for keyword in _BOUNDS if keyword in schema}
    words = []
    if "minimum" in found and "maximum" in found:
        words.append(f"{found.pop('minimum')} to {found.pop('maximum')}")
    words += [f"{_BOUNDS[keyword][1]} {bound}" for keyword, bound in found.items()]
    return ", ".join(words)


def range_fault(value: float, schema: Schema) -> str | None:
    """Return what is wrong with a number, as the end of a sentence; None: it is within the bounds."""
    for keyword, (holds, words) in _BOUNDS.items():
        if keyword in schema and not holds(value, schema[keyword]):
            return f"must be {words} {schema[keyword]}, not {value}"
    return None


def default_fault(schema: Schema) -> str | None:
    """Return what is wrong with the bounds of a parameter, or with its default by them; None: nothing.

    Types are not compared. A default of null is outside of no bound.

    Args:
        schema: of one parameter.
    """
    for keyword in _BOUNDS:
        if keyword in schema and not _is_number(schema[keyword]):
            return f"its {keyword} {schema[keyword]!r} is no number"
    if "default" not in schema:
        return None
    default = schema["default"]
    choices = schema.get("enum")
    if isinstance(choices, list) and default not in choices:
        return f"its default {default!r} is none of its choices"
    fault = range_fault(default, schema) if _is_number(default) else None
    return None if fault is None else f"its default {fault}"


def parameters_with_faults(algorithms: Iterable[tuple[str, Schema]]) -> list[str]:
    """Return what is wrong with defaults and bounds, each as a sentence without its end.

    Args:
        algorithms: id of each, and the JSON Schema (object) of its parameters.
    """
    faults = []
    for algorithm, parameters in algorithms:
        for name, schema in parameters.get("properties", {}).items():
            if (fault := default_fault(schema)) is not None:
                faults.append(f"{algorithm}: {name}: {fault}")
    return faults


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
