"""Plain values from what numeric libraries hand out. Duck-typed where a value need not be numpy's."""

import sys
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


def is_array(value: Any) -> bool:
    """Say whether a value is a NumPy array."""
    return isinstance(value, loaded_type("ndarray"))


def is_scalar(value: Any) -> bool:
    """Say whether a value is a NumPy scalar."""
    return isinstance(value, loaded_type("generic"))


def loaded_type(name: str) -> Any:
    """Return a type of NumPy, or an empty tuple in a process that has not imported NumPy, where no value is of it.

    NumPy is not imported here: it would be a third of the start of a worker that does without.
    """
    return getattr(sys.modules.get("numpy"), name, ())


def raw_bytes(array: "np.ndarray[Any, Any]") -> bytes:
    """Return the bytes of an array: little-endian, C order."""
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("<"))
    return array.tobytes()


def plain_hook(value: Any) -> Any:
    """Convert a value that the encoder does not know to a plain one.

    Raises:
        TypeError: there is no plain form.
    """
    if is_scalar(value):
        return value.item()
    if is_array(value):
        return value.tolist()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (float, int, str)):
        # A subclass; the base's value is what it means.
        return next(kind(value) for kind in (int, float, str) if isinstance(value, kind))
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if callable(getattr(value, "item", None)) and getattr(value, "numel", lambda: 0)() == 1:
        return value.item()  # a one-element tensor
    raise TypeError(f"a {type(value).__module__}.{type(value).__qualname__} has no plain form")


def act_value(value: Any) -> Any:
    """Return an action or observation in its wire form: scalar, list, map by sorted key, or raw bytes."""
    if is_array(value):
        return raw_bytes(value) if value.ndim else value.item()
    if is_scalar(value):
        return value.item()
    if isinstance(value, dict):
        return {str(key): act_value(value[key]) for key in sorted(value)}
    return value  # a list's parts are the encoder's business
