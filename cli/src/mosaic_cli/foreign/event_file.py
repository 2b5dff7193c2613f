"""Reads TensorBoard event files: framed records with checksums, in them scalars, texts and hyperparameters."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from mosaic_cli.foreign.errors import ForeignInvalid
from mosaic_cli.foreign.protobuf import BYTES, fields

EVENT_FILE = "tfevents"
"""Part of the name of every event file."""
_LENGTH, _CRC = struct.Struct("<Q"), struct.Struct("<I")
_HEAD_BYTES = 12
_MAX_RECORD_BYTES = 2**28
_MAX_CHECKED_BYTES = 2**16
"""Larger records are pictures, sounds and graphs, of which nothing is taken; Python's checksum is slow."""
_MASK = 0xA282EAD8
_POLYNOMIAL = 0x82F63B78
_FLOAT, _DOUBLE, _INT32, _STRING, _INT64 = 1, 2, 3, 7, 9
_FORMATS = {_FLOAT: "<f", _DOUBLE: "<d", _INT32: "<i", _INT64: "<q"}


@dataclass
class SummaryValue:
    """One value of an event: a scalar, a text, hyperparameters, or something else."""

    tag: str
    plugin: str = ""
    content: bytes = b""
    """What the plugin keeps with it."""
    scalar: float | None = None
    texts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FileEvent:
    """One record of an event file."""

    t: float
    """Wall clock, seconds since the epoch."""
    step: int
    values: list[SummaryValue]


def read_event_file(path: Path) -> Iterator[FileEvent]:
    """Read the events of a file up to the last whole one: a program that was killed leaves a part behind it.

    Raises:
        ForeignInvalid: it is no event file, or was damaged.
        OSError: it cannot be read.
    """
    plugins: dict[str, str] = {}
    with path.open("rb") as file:
        for at, record in _records(file):
            try:
                event = _event(record)
            except ForeignInvalid as error:
                raise ForeignInvalid(f"{path}, byte {at}: {error}") from error
            for value in event.values:
                # a writer may name the plugin with the first value of a tag only
                value.plugin = plugins.setdefault(value.tag, value.plugin)
            yield event


def is_event_file(path: Path) -> bool:
    """Whether a file begins with a record of an event file."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    return len(head) == _HEAD_BYTES and _masked(head[:8]) == _CRC.unpack(head[8:])[0]


def _records(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    at = 0
    while len(head := file.read(_HEAD_BYTES)) == _HEAD_BYTES:
        if _masked(head[:8]) != _CRC.unpack(head[8:])[0]:
            raise ForeignInvalid(f"{file.name}, byte {at}: the checksum of a length is wrong")
        (length,) = _LENGTH.unpack(head[:8])
        if length > _MAX_RECORD_BYTES:
            raise ForeignInvalid(f"{file.name}, byte {at}: a record claims {length:,} bytes")
        body = file.read(length + _CRC.size)
        if len(body) < length + _CRC.size:
            return
        record = body[:length]
        if length <= _MAX_CHECKED_BYTES and _masked(record) != _CRC.unpack(body[length:])[0]:
            raise ForeignInvalid(f"{file.name}, byte {at}: the checksum of a record is wrong")
        yield at, record
        at += _HEAD_BYTES + len(body)


def _event(record: bytes) -> FileEvent:
    t, step, values = 0.0, 0, []
    for each in fields(record):
        if each.number == 1:
            t = each.real
        elif each.number == 2:
            step = each.number64
        elif each.number == 5 and each.type == BYTES:
            values = [_value(one.data) for one in fields(each.data) if one.number == 1]
    return FileEvent(t, step, values)


def _value(message: bytes) -> SummaryValue:
    value = SummaryValue("")
    for each in fields(message):
        if each.number == 1:
            value.tag = each.text
        elif each.number == 2:
            value.scalar = each.real
        elif each.number == 8:
            _read_tensor(each.data, value)
        elif each.number == 9:
            _read_metadata(each.data, value)
    return value


def _read_metadata(message: bytes, value: SummaryValue) -> None:
    for each in fields(message):
        if each.number == 1:
            for part in fields(each.data):
                if part.number == 1:
                    value.plugin = part.text
                elif part.number == 2:
                    value.content = part.data


def _read_tensor(message: bytes, value: SummaryValue) -> None:
    """Take the single number of a scalar's tensor, or all texts of a tensor of strings."""
    dtype, numbers = 0, []
    for each in fields(message):
        if each.number == 1:
            dtype = each.varint
        elif each.number == 4 and dtype in _FORMATS:
            if len(each.data) == struct.calcsize(_FORMATS[dtype]):
                numbers.append(float(struct.unpack(_FORMATS[dtype], each.data)[0]))
        elif each.number in (5, 6) and each.type != BYTES:
            numbers.append(each.real)
        elif each.number in (5, 6):  # packed
            form = "<f" if each.number == 5 else "<d"
            numbers += [float(one) for (one,) in struct.iter_unpack(form, _whole(each.data, form))]
        elif each.number in (7, 10) and each.type == 0:
            numbers.append(float(each.number64))
        elif each.number == 8 and dtype == _STRING:
            value.texts.append(each.text)
    if len(numbers) == 1:
        value.scalar = numbers[0]


def _whole(data: bytes, form: str) -> bytes:
    return data[: len(data) - len(data) % struct.calcsize(form)]


def _table() -> list[int]:
    table = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = value >> 1 ^ (_POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def _masked(data: bytes) -> int:
    """CRC-32C as event files have it."""
    value = 0xFFFFFFFF
    for byte in data:
        value = _TABLE[(value ^ byte) & 0xFF] ^ value >> 8
    value ^= 0xFFFFFFFF
    return ((value >> 15 | value << 17) + _MASK) & 0xFFFFFFFF
