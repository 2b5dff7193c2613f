"""Checks an algorithm's parameters against the JSON Schema that its worker describes.

Only what a person gets wrong is judged here (name, type, range, choice); the worker's own start has the last word.
So a keyword that is not known here is left to the worker.
"""

from collections.abc import Callable
from typing import Any

from mosaic_base.nearest import nearest_names
from mosaic_contracts.problems import ProblemCode
from mosaic_contracts.worker import Algorithm
from mosaic_scheduler.admission.check import MAX_FINDINGS, Check, wrong

_TYPES: dict[str, Callable[[Any], bool]] = {
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: _is_number(v) and (isinstance(v, int) or v.is_integer()),
    "number": lambda v: _is_number(v),
    "string": lambda v: isinstance(v, str),
    "null": lambda v: v is None,
}
_LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "minimum": ("at least", lambda v, limit: v >= limit),
    "maximum": ("at most", lambda v, limit: v <= limit),
    "exclusiveMinimum": ("greater than", lambda v, limit: v > limit),
    "exclusiveMaximum": ("less than", lambda v, limit: v < limit),
}
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def check_parameters(
    algorithm: Algorithm, parameters: dict[str, Any], steps_given: bool
) -> list[Check]:
    """Findings on `parameters`; empty when nothing is wrong."""
    known: dict[str, Any] = algorithm.parameters.get("properties", {})
    findings: list[Check] = []
    for name, value in parameters.items():
        if len(findings) >= MAX_FINDINGS:
            break
        where = f"parameters.{name}"
        if name not in known:
            findings.append(_unknown(algorithm, name, list(known)))
            continue
        owner = _owner(algorithm, name, steps_given)
        fault = owner or _mismatch(known[name], value)
        if fault is not None:
            findings.append(wrong(where, fault, ProblemCode.PARAMETER_INVALID))
    return findings


def _unknown(algorithm: Algorithm, name: str, known: list[str]) -> Check:
    nearest = nearest_names(name.replace("-", "_"), known)
    hint = f"did you mean {nearest[0]!r}?" if nearest else "`./mosaic describe` lists them."
    message = f"{algorithm.id} has no parameter {name!r}; {hint}"
    return wrong(f"parameters.{name}", message, ProblemCode.PARAMETER_UNKNOWN, nearest)


def _owner(algorithm: Algorithm, name: str, steps_given: bool) -> str | None:
    """Parameters that a field of the spec sets may not be given twice."""
    if name == algorithm.steps_parameter and steps_given:
        return "is set by `steps` already; give one of the two"
    if name == algorithm.seed_parameter:
        return "is set by `seed` of the run"
    if name == algorithm.environment_parameter:
        return "is set by `environment` of the run"
    return None


def _mismatch(schema: dict[str, Any], value: Any) -> str | None:
    """What is wrong with `value`, in words."""
    if isinstance(value, int) and not _INT_MIN <= value <= _INT_MAX:
        # The run's config event could not hold it, nor could any trainer.
        return "must fit 64 bits"
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        faults = [_mismatch(choice, value) for choice in choices]
        return None if None in faults else " or ".join(f for f in faults if f is not None)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(_TYPES.get(name, lambda _: True)(value) for name in types):
        return f"must be {' or '.join(types)}, not {value!r}"
    if "enum" in schema and not any(_is_same(value, choice) for choice in schema["enum"]):
        return f"must be one of {', '.join(map(repr, schema['enum']))}, not {value!r}"
    if _is_number(value):
        for keyword, (words, holds) in _LIMITS.items():
            if keyword in schema and not holds(value, schema[keyword]):
                return f"must be {words} {schema[keyword]}, not {value!r}"
    return None


def _is_same(value: Any, choice: Any) -> bool:
    """Whether they are equal; True is not 1."""
    return bool(value == choice) and isinstance(value, bool) == isinstance(choice, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
