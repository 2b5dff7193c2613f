"""Events as plain JSON values: raw bytes of actions and observations become lists by the run's spaces."""

import base64
import datetime
import math
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

MAX_LEVELS = 128
"""Levels of maps and lists in a value that is shown; readers of JSON stop at 200 and writers at 255."""
TOO_DEEP = "[nested too deeply]"
"""Replaces what lies below `MAX_LEVELS`; the store keeps the value itself."""
_SPACED = {"action": "action", "observation": "observation"}
"""Field of an event -> space of the config."""

Space = Mapping[str, Any]


def plain_event(event: Mapping[str, Any], spaces: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of `event` without bytes. What no space explains becomes `base64:...` text."""
    plain: dict[str, Any] = {}
    for name, value in event.items():
        if name in _SPACED:
            space = (spaces or {}).get(_SPACED[name])
            plain[name] = plain_value(value, space if isinstance(space, Mapping) else None)
        elif isinstance(value, str | int | float):
            plain[name] = value
        else:
            plain[name] = plain_value(value, None)
    return plain


def plain_value(value: Any, space: Space | None, levels: int = MAX_LEVELS) -> Any:
    """A value of msgpack as JSON knows it, down to `levels` levels of maps and lists."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, bytes):
        known = _by_space(value, space) if space else None
        return _base64(value) if known is None else known
    if isinstance(value, Mapping | list | tuple) and levels == 0:
        return TOO_DEEP
    if isinstance(value, Mapping):
        inner = _inner_spaces(space)
        return {
            _key(key): plain_value(item, inner.get(key), levels - 1) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain_value(item, None, levels - 1) for item in value]
    if isinstance(value, msgspec.msgpack.Ext):
        return _base64(bytes(value.data))
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a value of msgpack")


def _by_space(raw: bytes, space: Space) -> Any:
    """The value that raw bytes stand for, or None when the space does not explain them."""
    match space.get("kind"):
        case "box":
            return _array(raw, space.get("dtype"), space.get("shape"))
        case "discrete":
            return int.from_bytes(raw, "little", signed=True) if 1 <= len(raw) <= 8 else None
        case "multi_discrete":
            return _integers(raw, space.get("nvec"))
        case "dict":
            return _members(raw, _inner_spaces(space))
        case _:
            return None


def _array(raw: bytes, dtype: Any, shape: Any) -> Any:
    try:
        kind = np.dtype(str(dtype))
        sides = [int(side) for side in shape]
    except (TypeError, ValueError):
        return None
    if kind.hasobject or any(side < 0 for side in sides):
        return None
    if kind.itemsize * math.prod(sides) != len(raw):
        return None
    return np.frombuffer(raw, kind).reshape(sides).tolist()


def _integers(raw: bytes, nvec: Any) -> Any:
    count = np.size(nvec) if isinstance(nvec, list) else 0
    if count == 0 or len(raw) % count or len(raw) // count not in (1, 2, 4, 8):
        return None
    return _array(raw, f"<i{len(raw) // count}", np.shape(nvec))


def _members(raw: bytes, spaces: Mapping[Any, Space]) -> Any:
    """A dict observation: the raw bytes of its members, by sorted key."""
    plain: dict[str, Any] = {}
    for key in sorted(spaces):
        size = _size(spaces[key])
        value = None if size is None else _by_space(raw[:size], spaces[key])
        if value is None:
            return None
        plain[key], raw = value, raw[size:]
    return plain if plain and not raw else None


def _size(space: Space) -> int | None:
    match space.get("kind"):
        case "box":
            try:
                kind = np.dtype(str(space.get("dtype")))
                return kind.itemsize * math.prod(int(side) for side in space.get("shape", ()))
            except (TypeError, ValueError):
                return None
        case "discrete":
            return 8
        case "multi_discrete":
            return 8 * int(np.size(space.get("nvec", [])))
        case "dict":
            sizes = [_size(inner) for inner in _inner_spaces(space).values()]
            return None if None in sizes else sum(size for size in sizes if size is not None)
        case _:
            return None


def _inner_spaces(space: Space | None) -> dict[Any, Space]:
    inner = (space or {}).get("spaces")
    if not isinstance(inner, Mapping):
        return {}
    return {key: value for key, value in inner.items() if isinstance(value, Mapping)}


def _base64(raw: bytes) -> str:
    return "base64:" + base64.b64encode(raw).decode()


def _key(key: Any) -> str:
    if isinstance(key, bytes):
        return _base64(key)
    return key if isinstance(key, str) else str(key)
