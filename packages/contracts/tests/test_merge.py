"""Batches of several sources are merged by time."""

from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts.merge import BatchSlice, merge_in_time
from mosaic_contracts.wire import Batch, Log, Record

RUN = "01K5ZZZZZZZZZZZZZZZZZZZZZZ"
SOURCES = ("worker", "supervisor")
Gaps = list[list[list[int]]]


def parts_of(source: str, batches: list[list[int]]) -> list[BatchSlice]:
    """Batches of one source whose records lie so many microseconds behind each other."""
    parts, seq, at_us = [], 0, 0
    for gaps in batches:
        records: list[Record] = []
        t0_us = at_us
        for gap in gaps:
            seq += 1
            at_us += gap
            records.append(Log(seq, at_us - t0_us, "info", source))
        parts.append(BatchSlice(Batch(1, RUN, 1, source, records[0].seq, t0_us, records), records))
    return parts


def spread(parts: list[BatchSlice]) -> list[tuple[int, str, int]]:
    """Time, source and seq of each record."""
    return [(p.batch.t0_us + r.dt, p.batch.source, r.seq) for p in parts for r in p.records]


some_batches = st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=8), max_size=6)


@given(st.tuples(some_batches, some_batches))
def test_records_follow_each_other_in_time_and_none_is_lost(sources: Gaps) -> None:
    """Time never steps back, each source keeps its order, and every record comes once."""
    parts = [
        p for name, batches in zip(SOURCES, sources, strict=True) for p in parts_of(name, batches)
    ]
    merged = spread(list(merge_in_time(sorted(parts, key=lambda part: part.first_us))))
    assert sorted(merged) == sorted(spread(parts))
    assert [row[0] for row in merged] == sorted(row[0] for row in merged)
    for name in SOURCES:
        seqs = [seq for _, source, seq in merged if source == name]
        assert seqs == sorted(seqs)


def test_a_source_whose_clock_steps_back_keeps_its_order() -> None:
    """Seq counts, not the clock: a batch with an earlier time stays behind the one before it."""
    late, early, other = (
        parts_of("worker", [[100, 5]]),
        parts_of("worker", [[7]]),
        parts_of("supervisor", [[50]]),
    )
    early[0].records[0].seq = 3
    merged = spread(list(merge_in_time([*other, *late, *early])))
    assert [seq for _, source, seq in merged if source == "worker"] == [1, 2, 3]
    assert len(merged) == 4


def test_a_lone_source_is_passed_through_uncut() -> None:
    """One source costs no look at single records: its batches come out as they went in."""
    parts = parts_of("worker", [[1, 2, 3], [4, 5]])
    assert all(a is b for a, b in zip(merge_in_time(parts), parts, strict=True))
