"""Events of one run in an archive as the store has them. Each batch is decoded to see that it is whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import zstandard

from mosaic_base.sealed_zip import ZipEntryWriter
from mosaic_client.errors import AnswerInvalid
from mosaic_client.export.stored import Spaces
from mosaic_client.export.writing import ReadPage, read_pages
from mosaic_contracts.batch_file import (
    BATCH_FILE_BEGINNING,
    MAX_FRAME_BYTES,
    pack_batch,
    read_batches,
)
from mosaic_contracts.cursor import Cursor, format_cursor
from mosaic_contracts.run_archives import ArchivedSource
from mosaic_contracts.stored import BatchPage
from mosaic_contracts.wire import (
    Batch,
    BatchHead,
    BatchInvalid,
    Config,
    decode_batch,
    encode_record,
    join_batch,
)

_PAGE_FRAMES = 64
_PACK_LEVEL = 1


@dataclass
class StoredEvents:
    """What was read of a run's events."""

    sources: dict[tuple[int, str], ArchivedSource] = field(default_factory=dict)
    spaces: dict[int, Spaces] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)
    """Versions of packages, of the last config event that names some."""

    @property
    def count(self) -> int:
        """Number of events."""
        return sum(source.events for source in self.sources.values())

    def add(self, batch: Batch) -> int:
        """Count a batch. Return how many of its last events were not there yet."""
        key = (batch.attempt, batch.source)
        known = self.sources.get(key)
        last = batch.seq0 + len(batch.records) - 1
        before = 0 if known is None else known.last_seq
        fresh = max(0, last - max(before, batch.seq0 - 1))
        if not fresh:
            return 0
        if known is None:
            self.sources[key] = ArchivedSource(
                attempt=batch.attempt, source=batch.source, events=fresh, last_seq=last
            )
        else:
            known.events += fresh
            known.last_seq = last
        for record in batch.records:
            if isinstance(record, Config):
                self._note_packages(record.data)
        return fresh

    def _note_packages(self, config: Any) -> None:
        packages = config.get("packages") if isinstance(config, dict) else None
        if isinstance(packages, dict):
            self.packages = {str(name): str(version) for name, version in packages.items()}


def write_events(file: ZipEntryWriter, read_page: ReadPage) -> Iterator[StoredEvents]:
    """Write all stored batches of a run to the entry for them.

    Args:
        file: the entry.
        read_page: reads the page after a cursor.

    Yields:
        What was read so far, after each page; always the same object.

    Raises:
        AnswerInvalid: the stack sent what is no batch of this version.
        OSError: the disk refused.
    """
    found = StoredEvents()
    unpack = zstandard.ZstdDecompressor().decompress
    file.write(BATCH_FILE_BEGINNING)
    for page in read_pages(read_page):
        found.spaces.update(page.spaces)
        for frame in page.frames:
            batch = _decoded(unpack, frame)
            for part in contiguous_parts(batch):
                fresh = found.add(part)
                if part is batch and fresh == len(batch.records):
                    file.write(pack_batch(_head(batch), frame))
                elif fresh:
                    file.write(_packed_end(part, fresh))
        yield found


def archived_pages(source: BinaryIO, spaces: dict[int, Spaces]) -> Iterator[BatchPage]:
    """Read what `write_events` wrote, as pages of a stack.

    Args:
        source: open at the beginning of the batches.
        spaces: spaces of each attempt.
    """
    position: Cursor = {}
    frames: list[bytes] = []
    for head, frame in read_batches(source):
        frames.append(frame)
        position[(head.attempt, head.source)] = head.seq0 + head.n - 1
        if len(frames) == _PAGE_FRAMES:
            yield BatchPage(spaces, frames, format_cursor(position), has_more=True)
            frames = []
    yield BatchPage(spaces, frames, format_cursor(position), has_more=False)


def _decoded(unpack: Callable[..., bytes], frame: bytes) -> Batch:
    try:
        return decode_batch(unpack(frame, max_output_size=MAX_FRAME_BYTES), thinned=True)
    except (zstandard.ZstdError, BatchInvalid) as error:
        raise AnswerInvalid(
            f"The stack sent a batch of events that this version cannot read ({error}). Check that it has the same "
            "version (`./mosaic doctor`)."
        ) from error


def contiguous_parts(batch: Batch) -> list[Batch]:
    """Cut a batch from which steps were removed, so that each part may be stored again.

    Args:
        batch: a batch as a store has it.

    Returns:
        Batches whose records follow each other; the batch itself where nothing is missing.
    """
    records = batch.records
    if records[-1].seq - batch.seq0 + 1 == len(records):
        return [batch]
    begins = [n for n in range(len(records)) if n == 0 or records[n].seq != records[n - 1].seq + 1]
    cuts = zip(begins, [*begins[1:], len(records)], strict=True)
    return [
        Batch(
            batch.v,
            batch.run_id,
            batch.attempt,
            batch.source,
            records[begin].seq,
            batch.t0_us,
            records[begin:end],
        )
        for begin, end in cuts
    ]


def _packed_end(batch: Batch, count: int) -> bytes:
    """The last records of a batch as one of their own: the page before had the others."""
    records = batch.records[-count:]
    head = BatchHead(batch.run_id, batch.attempt, batch.source, records[0].seq, count)
    raw = join_batch(head, batch.t0_us, b"".join(map(encode_record, records)))
    return pack_batch(head, zstandard.ZstdCompressor(level=_PACK_LEVEL).compress(raw))


def _head(batch: Batch) -> BatchHead:
    return BatchHead(batch.run_id, batch.attempt, batch.source, batch.seq0, len(batch.records))
