"""From a message's payload to a validated batch with its body as the store keeps it."""

import threading
from typing import NamedTuple

import zstandard

from mosaic_contracts.wire import (
    ENCODING_IDENTITY,
    ENCODING_ZSTD,
    MAX_BATCH_BYTES,
    Batch,
    BatchHead,
    BatchInvalid,
    Record,
    decode_batch,
    encode_record,
    join_batch,
)
from mosaic_store.batch_summary import BatchSummary, summarize

MAX_RAW_BYTES = 2 * MAX_BATCH_BYTES
"""No honest batch is larger; a frame that claims or yields more is not unpacked."""
_LEVEL = 1

# Contexts are costly to make and must not be shared between threads.
_local = threading.local()


class StoredBatch(NamedTuple):
    """A validated batch, its zstd frame, and what it means."""

    batch: Batch
    body: bytes
    raw_bytes: int
    summary: BatchSummary


def read_batch(payload: bytes, encoding: str) -> StoredBatch:
    """Validate one message's payload.

    Raises:
        BatchInvalid: anything that must not enter the store.
    """
    if encoding == ENCODING_ZSTD:
        raw, body = unpack(payload), payload
    elif encoding == ENCODING_IDENTITY:
        if len(payload) > MAX_RAW_BYTES:
            raise BatchInvalid(f"{len(payload)} bytes are more than a batch may have")
        raw, body = payload, pack(payload)
    else:
        raise BatchInvalid(f"encoding {encoding[:40]!r} is not known")
    try:
        batch = decode_batch(raw)
    except MemoryError as error:
        raise BatchInvalid(f"records are too large: {error}") from error
    return StoredBatch(batch, body, len(raw), summarize(batch, batch.records))


def cut_batch(stored: StoredBatch, first: int, last: int) -> StoredBatch:
    """The part of a batch with `first <= seq <= last`, encoded again."""
    batch = stored.batch
    records: list[Record] = batch.records[first - batch.seq0 : last - batch.seq0 + 1]
    part = Batch(batch.v, batch.run_id, batch.attempt, batch.source, first, batch.t0_us, records)
    head = BatchHead(batch.run_id, batch.attempt, batch.source, first, len(records))
    raw = join_batch(head, batch.t0_us, b"".join(encode_record(record) for record in records))
    return StoredBatch(part, pack(raw), len(raw), summarize(part, records))


def pack(raw: bytes) -> bytes:
    """Compress bytes into one zstd frame that names its size."""
    if not hasattr(_local, "compressor"):
        _local.compressor = zstandard.ZstdCompressor(level=_LEVEL)
    return bytes(_local.compressor.compress(raw))


def unpack(frame: bytes) -> bytes:
    """Decompress one zstd frame of at most MAX_RAW_BYTES.

    Raises:
        BatchInvalid: not one frame, or too large.
    """
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    try:
        size = zstandard.frame_content_size(frame)
        # A named size is allocated as it is, whatever limit is passed: look before unpacking.
        if size > MAX_RAW_BYTES:
            raise BatchInvalid(f"a frame of {size} bytes is more than a batch may have")
        return bytes(
            _local.decompressor.decompress(
                frame, max_output_size=MAX_RAW_BYTES, allow_extra_data=False
            )
        )
    except zstandard.ZstdError as error:
        raise BatchInvalid(f"not a zstd frame of at most {MAX_RAW_BYTES} bytes: {error}") from error
