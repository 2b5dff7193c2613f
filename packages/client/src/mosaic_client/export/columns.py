"""Arrow columns of actions and observations, made from raw bytes without a Python object for each number."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pydantic_core import to_json

from mosaic_client.export.json_values import json_bytes
from mosaic_contracts.builtin_values import Space, to_builtin
from mosaic_contracts.wire import MAX_EVENT_BYTES

_TRUE = pa.scalar(True)


class ValueMisfit(Exception):
    """A value does not fit the type of its column, which the run's space gives.

    Attributes:
        column: name of the column.
    """

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


class SpaceColumn:
    """Column of actions or observations, whose type follows the run's space.

    The space gives the type: `discrete` int64, `multi_discrete` a list of int64, `box` a fixed-size list of the box's
    dtype, flattened in C order, with the shape in the field's metadata. Everything else is JSON text.
    """

    def __init__(self, name: str, space: Space | None, as_text: bool = False) -> None:
        """`as_text`: JSON text whatever the space, because a value did not fit its type."""
        self._name = name
        self._space = space
        self._type, shape = (pa.string(), None) if as_text else _type_of(space)
        metadata = {b"shape": to_json(shape)} if shape is not None else None
        self.field = pa.field(name, self._type, metadata=metadata)

    def array(self, values: Sequence[Any], space: Space | None) -> pa.Array:
        """Return a column of these values, which `space` explains.

        Raises:
            ValueMisfit: a value is not of the column's type, or the space is not the column's.
        """
        kind = self._type
        if pa.types.is_string(kind):
            known = space if isinstance(space, Mapping) else None
            return pa.array([_text(value, known) for value in values], kind)
        if space != self._space:
            raise ValueMisfit(self._name)
        if pa.types.is_fixed_size_list(kind):
            packed = _packed(values, kind)
            if packed is not None:
                return packed
        simple = set(map(type, values)) <= {int, type(None)}
        plain = values if simple else [self._flat(value) for value in values]
        try:
            return pa.array(plain, kind)
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise ValueMisfit(self._name) from error

    def _flat(self, value: Any) -> Any:
        plain = to_builtin(value, self._space)
        if not pa.types.is_fixed_size_list(self._type) or plain is None:
            return plain
        flat = plain if isinstance(plain, list) else [plain]
        while flat and isinstance(flat[0], list):
            flat = [item for inner in flat for item in inner]
        if len(flat) != self._type.list_size:
            raise ValueMisfit(self._name)
        return flat


def _type_of(space: Space | None) -> tuple[pa.DataType, list[int] | None]:
    """Arrow type of a space's values, and the shape of a box."""
    match space.get("kind") if isinstance(space, Mapping) else None:
        case "discrete":
            return pa.int64(), None
        case "multi_discrete":
            return pa.list_(pa.int64()), None
        case "box":
            shape = space.get("shape") if space else None
            value = _value_type(space.get("dtype") if space else None)
            if value is not None and isinstance(shape, list | tuple) and all(map(_is_side, shape)):
                count = math.prod(shape)
                if count * value.bit_width // 8 <= MAX_EVENT_BYTES:  # a larger one is in no event
                    return pa.list_(value, count), list(shape)
    return pa.string(), None


def _is_side(side: Any) -> bool:
    return type(side) is int and side > 0


def _value_type(dtype: Any) -> pa.DataType | None:
    """Arrow type of a little-endian NumPy dtype; booleans are packed as bits in Arrow and stay text."""
    code = str(dtype)
    if code[:1] == ">" or code in ("|b1", "bool"):
        return None
    names = {"i": "int", "u": "uint", "f": "float"}
    if code[:1] in "<|=" and code[1:2] in names and code[2:].isdigit():
        code = f"{names[code[1]]}{8 * int(code[2:])}"
    try:
        kind = pa.type_for_alias(code)
    except ValueError:
        return None
    return kind if pa.types.is_integer(kind) or pa.types.is_floating(kind) else None


def _packed(values: Sequence[Any], kind: pa.FixedSizeListType) -> pa.Array | None:
    """The column of raw bytes and None, or None where something else is among them."""
    width = kind.list_size * kind.value_type.bit_width // 8
    kinds = set(map(type, values))
    mask = None
    if kinds == {type(None)}:
        body = bytes(width * len(values))  # untouched pages of zeros cost nothing
        mask = pa.repeat(_TRUE, len(values))
    elif kinds <= {bytes, type(None)} and {len(v) for v in values if v is not None} == {width}:
        empty = bytes(width)
        body = b"".join(empty if value is None else value for value in values)
        if type(None) in kinds:
            mask = pa.array([v is None for v in values], pa.bool_())
    else:
        return None
    flat = pa.Array.from_buffers(
        kind.value_type, len(values) * kind.list_size, [None, pa.py_buffer(body)]
    )
    return pa.FixedSizeListArray.from_arrays(flat, type=kind, mask=mask)


def json_text(value: Any, space: Space | None) -> str:
    """A value as JSON, numbers that are not finite as words."""
    return json_bytes(to_builtin(value, space)).decode()


def _text(value: Any, space: Space | None) -> str | None:
    return None if value is None else json_text(value, space)
