"""One given value against its property: the value to use, or why not."""

import math
from typing import Any

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
ParameterValue = bool | int | float | str | None


class ValueRefused(ValueError):
    """The value is not one that the argument can have."""


def accepted_value(value: ParameterValue, prop: dict[str, Any]) -> ParameterValue:
    """Return `value` in the property's type.

    A whole float is an integer (1e5), an integer is a number; nothing else is converted: "false" for a switch
    is a mistake that must be reported and not guessed at.

    Raises:
        ValueRefused: wrong type or out of range.
    """
    kinds = prop["type"] if isinstance(prop["type"], list) else [prop["type"]]
    if value is None:
        if "null" in kinds:
            return None
        raise ValueRefused(f"needs a value of type {kinds[0]}")
    result = _typed(value, kinds[0])
    if "const" in prop and result != prop["const"]:
        raise ValueRefused(f"must be {prop['const']!r}: the script asserts it")
    if "enum" in prop and result not in prop["enum"]:
        raise ValueRefused(f"must be one of {', '.join(map(str, prop['enum']))}")
    _check_range(result, prop)
    return result


def _typed(value: bool | int | float | str, kind: str) -> bool | int | float | str:
    if kind == "string" and isinstance(value, str):
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind in ("integer", "number") and not isinstance(value, bool | str):
        if isinstance(value, int) and not _INT_MIN <= value <= _INT_MAX:
            raise ValueRefused("must fit into 64 bits")
        if not math.isfinite(value):
            raise ValueRefused(f"must be a finite number, not {value}")
        if kind == "number":
            return float(value)
        if float(value).is_integer() and abs(value) <= _INT_MAX:
            return int(value)
    hint = " (true or false, without quotes)" if kind == "boolean" else ""
    raise ValueRefused(f"must be of type {kind}{hint}, not {value!r}")


def _check_range(value: bool | int | float | str, prop: dict[str, Any]) -> None:
    if isinstance(value, bool | str):
        return
    if "minimum" in prop and value < prop["minimum"]:
        raise ValueRefused(f"must be at least {prop['minimum']}, not {value}")
    if "exclusiveMinimum" in prop and value <= prop["exclusiveMinimum"]:
        raise ValueRefused(f"must be more than {prop['exclusiveMinimum']}, not {value}")
    if "maximum" in prop and value > prop["maximum"]:
        raise ValueRefused(f"must be at most {prop['maximum']}, not {value}")
