"""What pydantic finds wrong with a value, in the words of somebody who wants to put it right."""

from collections.abc import Mapping
from typing import Any

_WORDS = {
    "missing": "is missing",
    "extra_forbidden": "there is no such field",
    "int_parsing": "must be a whole number",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "string_type": "must be text",
    "list_type": "must be a list",
    "dict_type": "must be a mapping of names to values",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "must have at most {max_length} characters",
    "string_pattern_mismatch": "must match the pattern {pattern}",
    "too_short": "must have at least {min_length} entries",
    "too_long": "must have at most {max_length} entries",
    "enum": "must be one of {expected}",
    "literal_error": "must be one of {expected}",
    "model_type": "must be a mapping of names to values",
    "model_attributes_type": "must be a mapping of names to values",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}",
    "union_tag_not_found": "{discriminator} is missing",
}
"""By pydantic's error type; fields in braces are its context. Other types keep pydantic's own words."""

_DIMENSIONS = frozenset({"float", "int", "categorical"})
"""Types of a sweep's parameters: pydantic puts them into the path, after the name of the parameter."""


def fault_text(fault: Mapping[str, Any]) -> str:
    """Describe a validation error in words, without the value, which may be a secret.

    Args:
        fault: one of pydantic's `ValidationError.errors()`.

    Returns:
        One sentence.
    """
    words = _WORDS.get(fault["type"])
    if words is None:
        return str(fault["msg"]).removeprefix("Value error, ")
    return words.format_map(fault.get("ctx", {}))


def fault_place(fault: Mapping[str, Any]) -> str:
    """Name the field of a validation error.

    Args:
        fault: one of pydantic's `ValidationError.errors()`.

    Returns:
        Its path with dots, e.g. `parameters.gamma`; empty for the whole value.
    """
    parts = [str(part) for part in fault["loc"]]
    shown = [
        part
        for place, part in enumerate(parts)
        if place < 2 or parts[place - 2] != "parameters" or part not in _DIMENSIONS
    ]
    return ".".join(shown)
