"""JSON that every parser reads the same way: strict going out, strict coming in.

Going out, non-finite floats are the words "NaN", "Infinity" and "-Infinity". Coming in, what standard JSON does not
know, or what two parsers would read differently, is refused.
"""

import json
import math
from typing import Any

from pydantic_core import to_json

MAX_BODY_BYTES = 2**20
"""A spec is a few kilobytes; a megabyte is room for very long parameter lists."""
MAX_NESTING = 64
"""Levels of objects and arrays in a request. A spec has five; the parsers and encoders behind this one stop at 200."""
NESTED_TOO_DEEPLY = f"it is nested deeper than {MAX_NESTING} levels"


class JsonInvalid(ValueError):
    """A body is not strict JSON; the message says where."""


def write_json(value: Any) -> bytes:
    """Encode models, dicts and lists; bytes become base64, non-finite floats words."""
    return to_json(
        value, by_alias=True, inf_nan_mode="strings", bytes_mode="base64", serialize_unknown=False
    )


def check_nesting(value: Any) -> None:
    """Refuse what is nested deeper than any request needs to be.

    Raises:
        JsonInvalid: there are more than `MAX_NESTING` levels.
    """
    if _is_deeper(value, MAX_NESTING):
        raise JsonInvalid(NESTED_TOO_DEEPLY)


def _is_deeper(value: Any, levels: int) -> bool:
    """Whether objects and arrays are nested deeper than that; without recursion, level by level."""
    containers = [value] if isinstance(value, (dict, list, tuple)) else []
    for _ in range(levels):
        parts = (part for one in containers for part in _parts(one))
        containers = [part for part in parts if isinstance(part, (dict, list, tuple))]
    return bool(containers)


def _parts(container: Any) -> Any:
    return container.values() if isinstance(container, dict) else container


def _refuse_constant(word: str) -> Any:
    raise JsonInvalid(f'{word} is not JSON; send the text "{word}" where a field takes it')


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonInvalid(f"the number {text[:40]} does not fit a 64-bit float")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise JsonInvalid(f"the key {key[:80]!r} occurs twice in one object")
        result[key] = value
    return result


_decoder = json.JSONDecoder(
    parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)


def read_json(body: bytes) -> Any:
    """Decode a request body.

    Raises:
        JsonInvalid: too long, not UTF-8, not JSON, NaN or Infinity literals, numbers beyond float, a key twice in an
            object, lone surrogates, or more than `MAX_NESTING` levels.
    """
    if len(body) > MAX_BODY_BYTES:
        raise JsonInvalid(f"the body is longer than {MAX_BODY_BYTES} bytes")
    try:
        value = _decoder.decode(body.decode("utf-8"))
        check_nesting(value)
        # A lone surrogate escape parses, but can never be written again.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except JsonInvalid:
        raise
    except RecursionError as error:
        raise JsonInvalid(NESTED_TOO_DEEPLY) from error
    except ValueError as error:
        raise JsonInvalid(str(error)[:200]) from error
    return value
