"""Merges the batches of a run's sources by time, without looking at every record."""

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from mosaic_contracts.wire import Batch, Record

SourceKey = tuple[int, str]
"""Attempt and source of events."""


def records_between(records: list[Record], first: int, last: int) -> list[Record]:
    """Cut the records of a batch by their seqs, of which some may be missing.

    Args:
        records: records in order of seq.
        first: lowest seq to keep.
        last: highest seq to keep.

    Returns:
        The records in between, in order; maybe none.
    """
    begin = bisect_left(records, first, key=_seq)
    end = bisect_left(records, last + 1, lo=begin, key=_seq)
    return records[begin:end]


def _seq(record: Record) -> int:
    return record.seq


class BatchSlice(NamedTuple):
    """Consecutive records of one batch, at least one."""

    batch: Batch
    records: list[Record]

    @property
    def key(self) -> SourceKey:
        """The source that wrote the records."""
        return self.batch.attempt, self.batch.source

    @property
    def first_us(self) -> int:
        """Time of the first record, microseconds since the epoch."""
        return self.batch.t0_us + self.records[0].dt

    @property
    def last_us(self) -> int:
        """Time of the last record."""
        return self.batch.t0_us + self.records[-1].dt


def merge_in_time(parts: Iterable[BatchSlice]) -> Iterator[BatchSlice]:
    """Cut and order slices of batches so that their records follow each other in time; each source keeps its order.

    Args:
        parts: slices in the order of their first records' times, each source's in order of seq. They are read one by
            one, and of each source only those are held that another source has not caught up with.

    Yields:
        Slices in order of time.
    """
    held: dict[SourceKey, deque[BatchSlice]] = {}
    for part in parts:
        yield from _take_until(held, part.first_us)
        held.setdefault(part.key, deque()).append(part)
    yield from _take_until(held, None)


def _take_until(
    held: dict[SourceKey, deque[BatchSlice]], end_us: int | None
) -> Iterator[BatchSlice]:
    """Take out of `held` what lies before `end_us` (None: everything), in order of time."""
    while held:
        key = min(held, key=lambda key: held[key][0].first_us)
        queue = held[key]
        if end_us is not None and queue[0].first_us >= end_us:
            return
        others = (other[0].first_us for name, other in held.items() if name != key)
        bound = min(others, default=None)
        if end_us is not None:
            bound = end_us if bound is None else min(bound, end_us)
        part = queue.popleft()
        taken, rest = _cut(part, bound)
        if rest is not None:
            queue.appendleft(rest)
        if not queue:
            del held[key]
        yield taken


def _cut(part: BatchSlice, bound: int | None) -> tuple[BatchSlice, BatchSlice | None]:
    """Records up to and including `bound`, at least one, and those behind it."""
    if bound is None or part.last_us <= bound:
        return part, None
    batch, records = part
    dt = bound - batch.t0_us
    count = 1
    while count < len(records) and records[count].dt <= dt:
        count += 1
    if count == len(records):
        return part, None
    return BatchSlice(batch, records[:count]), BatchSlice(batch, records[count:])
