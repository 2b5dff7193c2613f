"""Decodes pages of stored batches into events in order."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import zstandard

from mosaic_client.errors import AnswerInvalid
from mosaic_contracts.cursor import parse_cursor
from mosaic_contracts.merge import BatchSlice, merge_in_time, records_between
from mosaic_contracts.stored import BatchPage
from mosaic_contracts.wanted import WantedTypes
from mosaic_contracts.wire import MAX_BATCH_BYTES, BatchInvalid, Record, decode_batch

_MAX_RAW_BYTES = 2 * MAX_BATCH_BYTES
"""No batch that a store accepts is larger."""
Spaces = dict[str, Any]


class StoredPart(NamedTuple):
    """Consecutive records of one batch, and the spaces that explain their raw bytes."""

    part: BatchSlice
    records: list[Record]
    """Records of the wanted types."""
    spaces: Spaces | None


def stored_parts(
    pages: Iterable[BatchPage], types: Sequence[str] | None = None
) -> Iterator[StoredPart]:
    """Yield the records of all pages, sources merged by time, each source in order of seq.

    Args:
        pages: consecutive pages from the beginning of the run; read one by one.
        types: event types to keep; None: all.

    Raises:
        AnswerInvalid: a frame is not a batch of this version.
    """
    wanted = WantedTypes(types)
    spaces: dict[int, Spaces] = {}
    for part in merge_in_time(_read(pages, spaces)):
        if records := wanted.pick(part.records):
            yield StoredPart(part, records, spaces.get(part.batch.attempt))


def _read(pages: Iterable[BatchPage], spaces: dict[int, Spaces]) -> Iterator[BatchSlice]:
    """Decode the frames and learn the spaces, cutting what is not part of a page."""
    unpack = zstandard.ZstdDecompressor().decompress
    position: dict[tuple[int, str], int] = {}
    for page in pages:
        spaces.update(page.spaces)
        ends = parse_cursor(page.cursor)
        for frame in page.frames:
            try:
                raw = unpack(frame, max_output_size=_MAX_RAW_BYTES)
                batch = decode_batch(raw, thinned=True)
            except (zstandard.ZstdError, BatchInvalid) as error:
                raise AnswerInvalid(
                    "The stack sent a batch of events that this version cannot read "
                    f"({error}). Check that it has the same version (`./mosaic doctor`)."
                ) from error
            key = (batch.attempt, batch.source)
            first, last = position.get(key, 0) + 1, ends.get(key, 0)
            if records := records_between(batch.records, first, last):
                position[key] = records[-1].seq
                yield BatchSlice(batch, records)
