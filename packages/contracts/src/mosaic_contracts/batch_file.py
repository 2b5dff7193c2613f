"""A file of stored batches, undecoded: each as a zstd frame with its header, in the order in which they may be sent."""

import struct
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from mosaic_contracts.wire import MAX_BATCH_BYTES, BatchHead, BatchInvalid, parse_batch_header

BATCH_FILE_BEGINNING = b"MOSAIC-BATCHES-1\n"
MAX_FRAME_BYTES = 2 * MAX_BATCH_BYTES
"""Maximum size of one frame, and of what it unpacks to, in bytes: no store takes a larger batch."""
_LENGTHS = struct.Struct("<HI")
_MAX_HEAD_BYTES = 200


class FramedBatch(NamedTuple):
    """One batch."""

    head: BatchHead
    frame: bytes
    """A zstd frame of a wire batch (`mosaic_contracts.wire`)."""


def pack_batch(head: BatchHead, frame: bytes) -> bytes:
    """Encode one batch: length of the header (2 bytes) and of the frame (4 bytes, little-endian), header, frame.

    Args:
        head: what it holds.
        frame: zstd frame of the batch.
    """
    text = head.header().encode()
    return _LENGTHS.pack(len(text), len(frame)) + text + frame


def read_batches(file: BinaryIO) -> Iterator[FramedBatch]:
    """Read the batches of a file one by one.

    Args:
        file: open at its beginning; `read(n)` returns `n` bytes unless the file ends.

    Raises:
        BatchInvalid: it is no such file, or truncated.
    """
    if file.read(len(BATCH_FILE_BEGINNING)) != BATCH_FILE_BEGINNING:
        raise BatchInvalid("this is no file of batches")
    while lengths := file.read(_LENGTHS.size):
        if len(lengths) < _LENGTHS.size:
            raise BatchInvalid("the file of batches is truncated")
        head_bytes, frame_bytes = _LENGTHS.unpack(lengths)
        if head_bytes > _MAX_HEAD_BYTES or frame_bytes > MAX_FRAME_BYTES:
            raise BatchInvalid("a batch of the file is larger than any store takes")
        text, frame = file.read(head_bytes), file.read(frame_bytes)
        if len(text) < head_bytes or len(frame) < frame_bytes:
            raise BatchInvalid("the file of batches is truncated")
        try:
            head = parse_batch_header(text.decode("ascii"))
        except UnicodeDecodeError as error:
            raise BatchInvalid("the header of a batch is no text") from error
        yield FramedBatch(head, frame)
