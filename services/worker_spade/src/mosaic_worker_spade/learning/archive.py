"""An npz file in memory that carries a checksum of itself, read without running code.

The checksum is in the comment that a zip archive may end with, so numpy reads the file as any other npz.
"""

import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import numpy as np

from mosaic_worker_spade.errors import CheckpointUnusable

Array = np.ndarray[Any, Any]

MAX_BYTES = 256 * 2**20
"""Largest size of the file, and of its content once it is unpacked."""
_MARK = b"sha256:"
_DIGEST_CHARS = 64
_SUFFIX = ".npy"
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    RuntimeError,  # also NotImplementedError: encryption and methods that zipfile has no code for
    EOFError,
    OSError,
    ValueError,
    KeyError,
    OverflowError,
)
"""What zipfile raises for bytes that are no archive."""


def pack(arrays: Mapping[str, Array], facts: Mapping[str, Any]) -> bytes:
    """Make the file: arrays, and each fact as JSON text."""
    buffer = io.BytesIO()
    texts = {name: np.asarray(json.dumps(value)) for name, value in facts.items()}
    np.savez_compressed(buffer, allow_pickle=False, **arrays, **texts)
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = _MARK + b"0" * _DIGEST_CHARS
    body = buffer.getvalue()[:-_DIGEST_CHARS]
    return body + sha256(body).hexdigest().encode()


def has_checksum(data: bytes) -> bool:
    """Whether a file carries a checksum.

    Raises:
        CheckpointUnusable: it does, and its content is another.
    """
    body = data[:-_DIGEST_CHARS]
    if not body.endswith(_MARK):
        return False
    if sha256(body).hexdigest().encode() != data[-_DIGEST_CHARS:]:
        raise CheckpointUnusable("it is damaged: its content does not match its checksum")
    return True


def unpack(data: bytes) -> dict[str, Array]:
    """Read all members.

    Raises:
        CheckpointUnusable: not an npz file, or one of objects.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            if sum(info.file_size for info in archive.infolist()) > MAX_BYTES:
                raise CheckpointUnusable(f"it holds more than {MAX_BYTES // 2**20} MiB")
            return {
                info.filename.removesuffix(_SUFFIX): _array(_member(archive, info))
                for info in archive.infolist()
            }
    except _UNREADABLE as error:
        if isinstance(error, CheckpointUnusable):
            raise
        raise CheckpointUnusable(f"it is no npz file ({error})") from error


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise CheckpointUnusable(f"{info.filename} is compressed in a way that numpy never uses")
    return archive.read(info)


def _array(data: bytes) -> Array:
    """Numbers and text only. The size is compared before memory is taken."""
    stream = io.BytesIO(data)
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("an array of another version")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    rest = data[stream.tell() :]
    if dtype.kind == "O":
        raise CheckpointUnusable(
            "it holds a pickle of Python objects, which could run code when it is loaded, so it is not loaded"
        )
    if dtype.kind not in "iufbU" or math.prod(shape) * dtype.itemsize != len(rest):
        raise ValueError("an array of another size than it says")
    flat = np.frombuffer(rest, dtype=dtype)
    return flat.reshape(shape, order="F" if is_fortran else "C")
