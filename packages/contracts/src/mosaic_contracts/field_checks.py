"""Checks of single values that several models share."""

import math
from typing import TypeVar

from pydantic_core import PydanticKnownError

ValueT = TypeVar("ValueT")


def not_a_bool(value: ValueT) -> ValueT:
    """Refuse a truth value where a number is expected: Python takes True as 1.

    Args:
        value: what a number field was given.

    Returns:
        The same value.

    Raises:
        PydanticKnownError: it is True or False.
    """
    if isinstance(value, bool):
        raise PydanticKnownError("float_type")
    return value


def plain_parameter(value: ValueT) -> ValueT:
    """Refuse a parameter that no worker can be given.

    Args:
        value: the parameter's value.

    Returns:
        The same value.

    Raises:
        ValueError: it contains a NUL character, or is NaN or infinite; JSON would carry that as a text.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("must be a finite number, true, false, null or text")
    return without_nul(value)


def without_nul(value: ValueT) -> ValueT:
    """Refuse a text with a NUL character.

    Args:
        value: what a field was given.

    Returns:
        The same value.

    Raises:
        ValueError: it is a text that neither a command line nor an environment variable can hold.
    """
    if isinstance(value, str) and "\0" in value:
        raise ValueError("must not contain a NUL character")
    return value
