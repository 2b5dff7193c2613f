"""Events as plain JSON values: raw bytes of actions and observations become lists by the run's spaces."""

import base64
import datetime
import math
import struct
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

MAX_LEVELS = 128
"""Maximum depth of maps and lists in a value that is shown. JSON readers stop at 200 levels, writers at 255."""
TOO_DEEP = "[nested too deeply]"
"""Text shown in place of what lies below `MAX_LEVELS`. The store keeps the value itself."""
_FORMATS = {
    "b1": "?",
    "i1": "b",
    "u1": "B",
    "i2": "h",
    "u2": "H",
    "i4": "i",
    "u4": "I",
    "i8": "q",
    "u8": "Q",
    "f2": "e",
    "f4": "f",
    "f8": "d",
}
"""Kind and item size of a NumPy dtype string -> format character of the `struct` module."""
_DTYPE_NAMES = {
    "bool": "|b1",
    **{f"{sign}int{8 * n}": f"={sign[:1] or 'i'}{n}" for sign in ("", "u") for n in (1, 2, 4, 8)},
    **{f"float{8 * n}": f"=f{n}" for n in (2, 4, 8)},
}
"""Names of NumPy dtypes -> dtype strings."""
_NATIVE_ORDER = "<" if sys.byteorder == "little" else ">"
_SPACED = {"action": "action", "observation": "observation"}
"""Field of an event -> space of the config."""
_SCALARS = frozenset({int, float, bool, type(None)})
_LEAVES = _SCALARS | {str}
_TEXT = frozenset({str})

Space = Mapping[str, Any]


def event_to_builtin(event: Mapping[str, Any], spaces: Mapping[str, Any] | None) -> dict[str, Any]:
    """Copy an event without bytes.

    Args:
        event: an event as `wire.to_event` gives it.
        spaces: action and observation spaces of the run's config event; None: unknown.

    Returns:
        The event with lists in place of raw arrays. What no space explains becomes `base64:...` text.
    """
    plain: dict[str, Any] = {}
    for name, value in event.items():
        if name in _SPACED:
            space = (spaces or {}).get(_SPACED[name])
            plain[name] = to_builtin(value, space if isinstance(space, Mapping) else None)
        elif isinstance(value, str | int | float):
            plain[name] = value
        else:
            plain[name] = to_builtin(value, None)
    return plain


def events_to_builtin(events: list[dict[str, Any]], spaces: Mapping[str, Any] | None) -> None:
    """Replace bytes in events in place, as `event_to_builtin` does in a copy.

    Args:
        events: events of one attempt that nobody else holds.
        spaces: spaces of that attempt's config event; None: unknown.
    """
    for event in events:
        kind = event["type"]
        if kind == "step":
            if type(event["action"]) not in _SCALARS or type(event["observation"]) not in _SCALARS:
                event.update(event_to_builtin(event, spaces))
        elif kind != "metric":
            event.update(event_to_builtin(event, spaces))


def to_builtin(value: Any, space: Space | None, levels: int = MAX_LEVELS) -> Any:
    """Convert a value of msgpack to one that JSON has.

    Args:
        value: the value.
        space: the space that explains raw bytes; None: bytes become `base64:...` text.
        levels: levels of maps and lists to keep; what lies deeper becomes `TOO_DEEP`.

    Returns:
        Numbers, text, lists and dictionaries with text keys; floats may be non-finite.

    Raises:
        TypeError: the value is none of msgpack.
    """
    kind = type(value)
    if kind in _LEAVES:
        return value
    if kind is dict and levels and _is_plain(value):
        return dict(value)
    if isinstance(value, str | int | float):
        return value
    if isinstance(value, bytes):
        known = _by_space(value, space) if space else None
        return _base64(value) if known is None else known
    if levels == 0 and isinstance(value, Mapping | list | tuple):
        return TOO_DEEP
    if isinstance(value, Mapping):
        inner = _inner_spaces(space)
        return {
            _key(key): item
            if type(item) in _LEAVES
            else to_builtin(item, inner.get(key), levels - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [
            item if type(item) in _LEAVES else to_builtin(item, None, levels - 1) for item in value
        ]
    if isinstance(value, msgspec.msgpack.Ext):
        return _base64(bytes(value.data))
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a value of msgpack")


def _is_plain(value: dict[Any, Any]) -> bool:
    """Whether a dictionary has text keys, and values that JSON has, none of them nested."""
    return _TEXT.issuperset(map(type, value)) and _LEAVES.issuperset(map(type, value.values()))


def _by_space(raw: bytes, space: Space) -> Any:
    """The value that raw bytes encode, or None when the space does not explain them."""
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
    """Nested lists of `raw` in C order, or None when dtype and shape do not explain it."""
    layout = _layout(dtype)
    sides = _sides(shape)
    if layout is None or sides is None:
        return None
    order, code = layout
    if struct.calcsize(order + code) * math.prod(sides) != len(raw):
        return None
    if order == _NATIVE_ORDER and code != "e" and 0 not in sides:
        return memoryview(raw).cast("B").cast(code, sides).tolist()  # type: ignore[call-overload]
    # memoryview knows neither half precision nor the other byte order nor a side of length 0
    values = struct.unpack(f"{order}{math.prod(sides)}{code}", raw)
    return _nested(iter(values), sides)


def _layout(dtype: Any) -> tuple[str, str] | None:
    """Byte order and format character of a NumPy dtype string such as `<f4`, `|u1` or `float32`."""
    text = _DTYPE_NAMES.get(str(dtype), str(dtype))
    order, code = text[:1], _FORMATS.get(text[1:])
    if code is None or order not in "<>|=":
        return None
    return (order if order in "<>" else _NATIVE_ORDER), code


def _sides(shape: Any) -> list[int] | None:
    try:
        sides = [int(side) for side in shape]
    except (TypeError, ValueError):
        return None
    return None if any(side < 0 for side in sides) else sides


def _nested(values: Iterator[Any], sides: Sequence[int]) -> Any:
    if not sides:
        return next(values)
    return [_nested(values, sides[1:]) for _ in range(sides[0])]


def _integers(raw: bytes, nvec: Any) -> Any:
    sides = _shape_of(nvec)
    count = math.prod(sides) if sides else 0
    if count == 0 or len(raw) % count or len(raw) // count not in (1, 2, 4, 8):
        return None
    return _array(raw, f"<i{len(raw) // count}", sides)


def _shape_of(value: Any) -> list[int]:
    """Sides of a nested list; none for a number and for lists of unequal length."""
    if not isinstance(value, list | tuple):
        return []
    inner = [_shape_of(item) for item in value]
    if any(sides != inner[0] for sides in inner):
        return []
    return [len(value), *(inner[0] if inner else [])]


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
            layout, sides = _layout(space.get("dtype")), _sides(space.get("shape", ()))
            if layout is None or sides is None:
                return None
            return struct.calcsize("".join(layout)) * math.prod(sides)
        case "discrete":
            return 8
        case "multi_discrete":
            return 8 * math.prod(_shape_of(space.get("nvec", [])))
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
