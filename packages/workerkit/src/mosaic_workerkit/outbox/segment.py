"""Form of an outbox on disk: folder `outbox/<attempt>/<source>/`, segments named by their first seq.

A segment is a head of `HEAD_BYTES` and then records back to back: msgpack values, which end where they end. It is
allocated whole, and what counts is said by one 64-bit word in the head, `next seq << SHIFT | end`, stored after the
record that it publishes; so a writer killed anywhere leaves nothing half that a reader would take. At least every
`CUT_EVENTS` records or `CUT_BYTES` bytes the writer notes a cut in the head's table, such a word with the CRC32 of
the bytes since the cut before: there a reader may divide, and what is at rest can be checked. All little-endian.
"""

import struct
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from mosaic_contracts.launch import OUTBOX_DIR
from mosaic_contracts.wire import SOURCE_WORKER, SOURCES
from mosaic_workerkit.errors import OutboxCorrupted

MAGIC = b"MSCOUTBX"
FORMAT_VERSION = 2
SUFFIX = ".seg"
WRITER_LOCK = "writer.lock"
SHIPPER_LOCK = "shipper.lock"
COMMITTED_FILE = "committed"
WAITING_FILE = "waiting"
"""File that exists while the trainer waits because the outbox is full."""
FREED_PIPE = "freed"
"""A FIFO: the shipper writes a byte when it has freed a segment and somebody waits."""

HEAD_BYTES = 64 * 1024
WORD_AT = 128
TABLE_AT = 192
CUT = struct.Struct("<QQ")
"""A cut: its position, and the CRC32 of the bytes since the cut before."""
CUTS = (HEAD_BYTES - TABLE_AT) // CUT.size
CUT_EVENTS = 1000
"""A batch's most (`wire.MAX_BATCH_EVENTS`)."""
CUT_BYTES = 2 * 2**20
"""Holds the largest event, and is well below a batch's most."""
SHIFT = 26
"""Offsets below 64 MiB; leaves 38 bits for the seq."""
OFFSETS = (1 << SHIFT) - 1

_HEADER = struct.Struct("<8sHHI16s26s6xQQI")
_CRC = struct.Struct("<I")


class SegmentHeader(NamedTuple):
    """Content of the first bytes of a segment."""

    run_id: str
    attempt: int
    source: str
    seq0: int
    t0_us: int
    """Wall clock at the writer's start, microseconds since the epoch; the same in all its segments."""

    def to_bytes(self) -> bytes:
        """Encode, with a CRC over the rest."""
        fields = (
            MAGIC,
            FORMAT_VERSION,
            WORD_AT,
            self.attempt,
            self.source.encode(),
            self.run_id.encode(),
            self.seq0,
            self.t0_us,
        )
        body = _HEADER.pack(*fields, 0)
        return (_HEADER.pack(*fields, crc32(body))).ljust(WORD_AT, b"\0")


def read_header(data: bytes, path: Path) -> SegmentHeader:
    """Decode a header.

    Raises:
        OutboxCorrupted: not a segment of this version.
    """
    if len(data) < WORD_AT:
        raise OutboxCorrupted(
            f"{path} is shorter than a segment's header; move it out of the folder"
        )
    magic, version, size, attempt, source, run_id, seq0, t0_us, crc = _HEADER.unpack_from(data)
    bare = data[: _HEADER.size - _CRC.size] + b"\0" * _CRC.size
    if magic != MAGIC or version != FORMAT_VERSION or size != WORD_AT or crc32(bare) != crc:
        raise OutboxCorrupted(
            f"{path} is not a segment of version {FORMAT_VERSION}; move it out of the folder"
        )
    name = source.rstrip(b"\0").decode()
    return SegmentHeader(run_id.decode(), attempt, name, seq0, t0_us)


def outbox_dir(run_dir: Path, attempt: int, source: str = SOURCE_WORKER) -> Path:
    """Folder of one source's outbox.

    Raises:
        ValueError: an attempt or a source that cannot be.
    """
    if attempt < 1 or source not in SOURCES:
        raise ValueError(f"no outbox for attempt {attempt} of source {source!r}")
    return run_dir / OUTBOX_DIR / str(attempt) / source


def segment_name(seq0: int) -> str:
    """File name of the segment that begins with `seq0`; names sort by seq."""
    return f"{seq0:016d}{SUFFIX}"


def segment_seqs(folder: Path) -> list[int]:
    """Return the first seq of each segment, ascending."""
    try:
        names = [entry.name for entry in folder.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name.removesuffix(SUFFIX)) for name in names if name.endswith(SUFFIX))
