"""Reads protocol buffers by field number: the few messages of event files and of wandb's log need no more."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from mosaic_cli.foreign.errors import ForeignInvalid

VARINT, DOUBLE, BYTES, FLOAT = 0, 1, 2, 5
_SIZES = {DOUBLE: 8, FLOAT: 4}
_MAX_SHIFT = 63


class ProtoField(NamedTuple):
    """One field of a message."""

    number: int
    type: int
    """Wire type."""
    data: bytes
    """The bytes of a fixed or length-delimited field; empty for a varint."""
    varint: int
    """Value of a varint, unsigned."""

    @property
    def text(self) -> str:
        """As a string."""
        return self.data.decode("utf-8", "replace")

    @property
    def number64(self) -> int:
        """As an int64."""
        return self.varint - (1 << 64) if self.varint >> 63 else self.varint

    @property
    def real(self) -> float:
        """As a double or a float.

        Raises:
            ForeignInvalid: it is neither.
        """
        if self.type == DOUBLE:
            return float(struct.unpack("<d", self.data)[0])
        if self.type == FLOAT:
            return float(struct.unpack("<f", self.data)[0])
        raise ForeignInvalid("a number has another type than it should")


def fields(message: bytes) -> Iterator[ProtoField]:
    """Read the fields of a message, in their order.

    Raises:
        ForeignInvalid: these bytes are no message.
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(message, at)
            yield ProtoField(number, kind, b"", value)
            continue
        if kind == BYTES:
            size, at = _varint(message, at)
        elif kind in _SIZES:
            size = _SIZES[kind]
        else:
            raise ForeignInvalid(f"a field has the unknown wire type {kind}")
        if size > len(message) - at:
            raise ForeignInvalid("a field is longer than its message")
        yield ProtoField(number, kind, message[at : at + size], 0)
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(message) and shift <= _MAX_SHIFT:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value & (2**64 - 1), at
    raise ForeignInvalid("a number does not end")
