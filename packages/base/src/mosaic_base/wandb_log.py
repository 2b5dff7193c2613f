"""Reads and writes wandb's `.wandb` files: LevelDB's log format behind seven bytes of wandb's own."""

import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_HEADER = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
_BLOCK_BYTES = 32 * 2**10
_RECORD = struct.Struct("<IHB")
"""Before each piece of a record: checksum, length, and which piece it is."""
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class LogUnreadable(ValueError):
    """The file is no `.wandb` file of a known version."""


def read_records(path: Path) -> Iterator[bytes]:
    """Yield the records of a file up to the last whole one; a killed run leaves a part behind it.

    Raises:
        LogUnreadable: it is no such file.
        OSError: it cannot be read.
    """
    record = b""
    with path.open("rb") as file:
        if file.read(len(_HEADER)) != _HEADER:
            raise LogUnreadable(
                f"{path.name} is no file of wandb, or of a version that is not known here"
            )
        at = len(_HEADER)
        while True:
            left = _BLOCK_BYTES - at % _BLOCK_BYTES
            if left < _RECORD.size:
                file.read(left)
                at += left
            head = file.read(_RECORD.size)
            if len(head) < _RECORD.size:
                return
            checksum, length, kind = _RECORD.unpack(head)
            data = file.read(length)
            if len(data) < length or _checksum(kind, data) != checksum:
                return
            at += _RECORD.size + length
            record = data if kind in (_FULL, _FIRST) else record + data
            if kind in (_FULL, _LAST):
                yield record


def write_records(path: Path, records: Iterable[bytes]) -> None:
    """Write a file with these records.

    Raises:
        OSError: the disk refused.
    """
    with path.open("wb") as file:
        file.write(_HEADER)
        at = len(_HEADER)
        for record in records:
            rest, kind = record, 0
            while kind not in (_FULL, _LAST):
                left = _BLOCK_BYTES - at % _BLOCK_BYTES
                if left < _RECORD.size:
                    at += file.write(bytes(left))
                    left = _BLOCK_BYTES
                data, rest = rest[: left - _RECORD.size], rest[left - _RECORD.size :]
                kind = _next_kind(is_first=kind == 0, is_last=not rest)
                head = _RECORD.pack(_checksum(kind, data), len(data), kind)
                at += file.write(head + data)


def _next_kind(*, is_first: bool, is_last: bool) -> int:
    if is_first:
        return _FULL if is_last else _FIRST
    return _LAST if is_last else _MIDDLE


def _checksum(kind: int, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(bytes([kind])))
