"""Reads what W&B keeps offline: `*.wandb`, the log format of LevelDB with protobuf records in it.

A file begins with a header of 7 bytes and is cut into blocks of 32 KiB. In them lie pieces of records, each with a
header of its own: CRC-32 (4 bytes), length (2), kind (1), little-endian. A piece never crosses a block; what is left at
a block's end and too short for a piece's header is filled with zeros. What a kill cut off is not there or not whole.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from wandb.proto import wandb_internal_pb2

MAGIC = b":W&B"
_FILE_HEADER = 7
_BLOCK = 32 * 1024
_PIECE_HEADER = 7
_Record: Any = wandb_internal_pb2.Record  # type: ignore[attr-defined] # its module is made by protobuf
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4


class WandbFileForeign(Exception):
    """Not a file of this format."""


def read_records(path: Path) -> Iterator[Any]:
    """Every whole record of a file, in its order.

    Raises:
        WandbFileForeign: the file is not W&B's, or a piece in it has an unknown kind.
    """
    begun: bytearray | None = None
    for kind, piece in _pieces(path):
        if kind == _FULL:
            yield _Record.FromString(piece)
        elif kind == _FIRST:
            begun = bytearray(piece)
        elif kind in (_MIDDLE, _LAST) and begun is not None:
            begun += piece
            if kind == _LAST:
                yield _Record.FromString(bytes(begun))
                begun = None
        else:
            raise WandbFileForeign(f"{path} has a piece of kind {kind} where none can be")


def _pieces(path: Path) -> Iterator[tuple[int, bytes]]:
    data = path.read_bytes()
    if data and not data.startswith(MAGIC):
        raise WandbFileForeign(f"{path} does not begin with {MAGIC!r}")
    place = _FILE_HEADER
    while place + _PIECE_HEADER <= len(data):
        left = _BLOCK - place % _BLOCK
        if left < _PIECE_HEADER:
            place += left
            continue
        length, kind = int.from_bytes(data[place + 4 : place + 6], "little"), data[place + 6]
        end = place + _PIECE_HEADER + length
        if end > len(data) or kind == 0:
            return  # cut by a kill
        yield kind, data[place + _PIECE_HEADER : end]
        place = end
