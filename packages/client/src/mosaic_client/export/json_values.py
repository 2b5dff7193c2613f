"""Values as strict JSON: numbers that are not finite are the words NaN, Infinity and -Infinity."""

from typing import Any

import msgspec
from pydantic_core import to_json

_encode = msgspec.json.Encoder().encode


def json_bytes(plain: Any) -> bytes:
    """Encode a value of JSON, in which numbers may be not finite."""
    text = _encode(plain)
    # it writes null for a number that is not finite
    return text if b"null" not in text else to_json(plain, inf_nan_mode="strings")


def json_number(value: float) -> float | str:
    """A number, or the word for one that is not finite."""
    if value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
