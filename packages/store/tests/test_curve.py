"""Curves: exact numbers, whatever the values, the steps and the length."""

import json
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_contracts.runs import Curve
from mosaic_contracts.wire import (
    ENCODING_IDENTITY,
    BatchHead,
    Metric,
    encode_record,
    join_batch,
)
from mosaic_store import MetricNotStored, Reader, StreamCursor, Writer, read_batch
from mosaic_store.points import reduce_values
from mosaic_store.testing import RUN_ID

NAME = "charts/épisode 🙂"
Point = tuple[int | None, float]


def put(writer: Writer, points: Sequence[Point], size: int = 1000) -> None:
    """Store points of one metric, `size` a transaction."""
    for first in range(0, len(points), size):
        part = points[first : first + size]
        records = [Metric(first + i + 1, i, NAME, *point) for i, point in enumerate(part)]
        head = BatchHead(RUN_ID, 1, "worker", first + 1, len(part))
        raw = join_batch(head, 10**15, b"".join(encode_record(record) for record in records))
        writer.apply([read_batch(raw, ENCODING_IDENTITY)], StreamCursor("one", first + 1))


def spread(curve: Curve) -> dict[str, float]:
    """What all buckets say together."""
    buckets = curve.buckets
    return {
        "n": sum(b.n for b in buckets),
        "nan": sum(b.nan for b in buckets),
        "inf": sum(b.inf for b in buckets),
        "min": min(b.min for b in buckets if b.min is not None),
        "max": max(b.max for b in buckets if b.max is not None),
    }


def test_spikes_and_non_finite_values_survive_any_reduction(writer: Writer, reader: Reader) -> None:
    """One spike, one NaN and one infinity among 200,000 points show in every number of buckets."""
    points: list[Point] = [(step, 1.0) for step in range(200_000)]
    points[77_777] = (77_777, 1e308)
    points[88_888] = (88_888, math.nan)
    points[99_999] = (99_999, -math.inf)
    put(writer, points, size=10_000)
    for buckets in (1, 10, 2000):
        curve = reader.curve(RUN_ID, NAME, buckets=buckets)
        assert len(curve.buckets) <= buckets
        assert curve.points == 200_000
        assert spread(curve) == {"n": 200_000, "nan": 1, "inf": 1, "min": 1.0, "max": 1e308}
        (spiked,) = [b for b in curve.buckets if b.max == 1e308]
        assert spiked.step0 <= 77_777 <= spiked.step1
        json.loads(curve.model_dump_json(), parse_constant=pytest.fail)


def test_constant_stays_constant_and_huge_values_do_not_overflow(
    writer: Writer, reader: Reader
) -> None:
    """The mean of equal values is that value, also where their sum would be no number."""
    for value in (0.1, 1e308, -1e308, 5e-324):
        reduced = reduce_values(np.full(999, value), np.arange(0, 999, 64))
        assert set(reduced.mean.tolist()) == {value}
    put(writer, [(step, 1e308) for step in range(70_000)], size=10_000)
    for buckets in (7, 1000):
        means = {bucket.mean for bucket in reader.curve(RUN_ID, NAME, buckets=buckets).buckets}
        assert means == {1e308}


def test_bucket_without_a_finite_value_says_so(writer: Writer, reader: Reader) -> None:
    """No number is invented where there was none."""
    put(writer, [(0, math.nan), (1, math.inf), (2, 3.0)])
    first, second, third = reader.curve(RUN_ID, NAME, buckets=3).buckets
    assert (first.min, first.max, first.mean, first.nan) == (None, None, None, 1)
    assert (second.mean, second.inf, second.last) == (None, 1, math.inf)
    assert (third.min, third.mean, third.last) == (3.0, 3.0, 3.0)
    curve = reader.curve(RUN_ID, NAME, last=10)
    assert curve.values is not None
    assert math.isnan(curve.values[0])
    assert curve.values[1:] == [math.inf, 3.0]
    assert [name.points for name in reader.metric_names(RUN_ID)] == [3]


def test_steps_that_fall_or_repeat_are_kept(writer: Writer, reader: Reader) -> None:
    """A run that resumed from a checkpoint keeps both passes over the same steps."""
    steps = [*range(1000), *range(500, 1500), *[1500] * 300]
    put(writer, [(step, float(i)) for i, step in enumerate(steps)], size=77)
    curve = reader.curve(RUN_ID, NAME, last=5000)
    assert curve.steps == steps
    assert curve.values == [float(i) for i in range(2300)]
    for buckets in (3, 50):
        curve = reader.curve(RUN_ID, NAME, buckets=buckets)
        assert spread(curve)["n"] == 2300
        places = [(b.pass_number, b.step0) for b in curve.buckets]
        assert places == sorted(set(places))
    first, second = ([b for b in curve.buckets if b.pass_number == number] for number in (0, 1))
    assert (first[0].step0, first[-1].step1, sum(b.n for b in first)) == (0, 999, 1000)
    assert (second[0].step0, second[-1].step1, sum(b.n for b in second)) == (500, 1500, 1300)
    assert max(b.max or 0 for b in first) == 999.0
    assert min(b.min or 0 for b in second) == 1000.0


def test_points_without_a_step_stand_at_their_position(writer: Writer, reader: Reader) -> None:
    """A metric without steps has a curve over its own points."""
    put(writer, [(None, float(i)) for i in range(1500)], size=100)
    curve = reader.curve(RUN_ID, NAME, buckets=15)
    assert [(b.step0, b.step1, b.n) for b in curve.buckets] == [
        (100 * i, 100 * i + 99, 100) for i in range(15)
    ]
    assert reader.curve(RUN_ID, NAME, last=2).steps == [None, None]


@pytest.mark.parametrize("buckets", [1, 20, 10_000])
def test_range_of_steps_is_exact(writer: Writer, reader: Reader, buckets: int) -> None:
    """Asked for a range, a curve counts its points and no others, however it was put together."""
    put(writer, [(3 * i, float(i)) for i in range(20_000)], size=5000)
    curve = reader.curve(RUN_ID, NAME, buckets=buckets, from_step=1000, to_step=40_000)
    assert curve.points == spread(curve)["n"] == len(range(334, 13_334))
    assert spread(curve)["min"] == 334.0
    assert spread(curve)["max"] == 13_333.0
    assert reader.curve(RUN_ID, NAME, from_step=10**9).buckets == []


def test_few_points_are_not_reduced(writer: Writer, reader: Reader) -> None:
    """As long as there are fewer steps than buckets every point is a bucket."""
    put(writer, [(step, step / 3) for step in range(400)])
    buckets = reader.curve(RUN_ID, NAME, buckets=500).buckets
    assert [(b.step0, b.step1, b.last) for b in buckets] == [(s, s, s / 3) for s in range(400)]


def test_unknown_metric_is_told(filled: Reader) -> None:
    """A metric that is not there is an error with words, not an empty plot."""
    with pytest.raises(MetricNotStored, match="has no metric 'nothing'"):
        filled.curve(RUN_ID, "nothing")


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(numbers, min_size=1, max_size=200), st.data())
def test_reduction_counts_every_value(values: list[float], data: st.DataObject) -> None:
    """Any values, any cut: counts add up, and extremes are those of the finite values."""
    cuts = data.draw(st.sets(st.integers(0, len(values) - 1)))
    starts = np.array(sorted({0, *cuts}), np.intp)
    reduced = reduce_values(np.array(values), starts)
    for row, (first, last) in enumerate(
        zip(starts, [*starts[1:].tolist(), len(values)], strict=True)
    ):
        part = values[first:last]
        finite = [value for value in part if math.isfinite(value)]
        assert reduced.n[row] == len(part)
        assert reduced.nan[row] == sum(math.isnan(value) for value in part)
        assert reduced.inf[row] == sum(math.isinf(value) for value in part)
        if finite:
            assert reduced.min[row] == min(finite)
            assert reduced.max[row] == max(finite)
            assert min(finite) <= reduced.mean[row] <= max(finite)
        else:
            assert math.isnan(reduced.mean[row])


def test_new_points_come_once_page_by_page_and_stop_before_a_hole(
    writer: Writer, reader: Reader
) -> None:
    """Whatever the pages are, all points come in order; one behind a hole waits until that is filled or passed."""
    points: list[Point] = [(step, float(step)) for step in range(1_300)]
    put(writer, points[:600])
    steps: list[int] = []
    cursor, has_more = "", True
    while has_more:
        page = reader.new_points(RUN_ID, [NAME, "other"], cursor, limit=70)
        cursor, has_more = page.cursor, page.has_more
        steps += [step for one in page.points for step in one.steps]
    assert steps == list(range(600))
    late = [Metric(702 + i, i, NAME, 701 + i, 0.0) for i in range(10)]
    head = BatchHead(RUN_ID, 1, "worker", 702, len(late))
    raw = join_batch(head, 10**15, b"".join(encode_record(record) for record in late))
    writer.apply([read_batch(raw, ENCODING_IDENTITY)], StreamCursor("one", 9_999))
    assert reader.new_points(RUN_ID, [NAME], cursor).points == []
    (passed,) = reader.new_points(RUN_ID, [NAME], cursor, contiguous=False).points
    assert passed.steps == list(range(701, 711))
    assert reader.new_points("01JGXSBMTTED00000000000000", [NAME]).points == []
