"""Curves as columns: the same numbers as the buckets have, of one moment, with times and the cursor to go on from."""

import math
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from mosaic_contracts.curve_set import (
    BUCKET_COLUMNS,
    EPISODE_LENGTH,
    EPISODE_RETURN,
    POINT_COLUMNS,
    WHOLE_POINTS,
    DrawnCurve,
)
from mosaic_contracts.wire import (
    ENCODING_IDENTITY,
    BatchHead,
    Episode,
    Metric,
    Record,
    encode_record,
    join_batch,
)
from mosaic_store import Reader, StreamCursor, Writer, read_batch
from mosaic_store.testing import METRIC, RUN_ID, messages, record_at

T0_US = 10**15
NAME = "losses/q"


def put(writer: Writer, records: list[Record], attempt: int = 1) -> None:
    """Store records of an attempt that begin at seq 1."""
    for first in range(0, len(records), 10_000):
        part = records[first : first + 10_000]
        batches = []
        for begin in range(0, len(part), 1000):
            few = part[begin : begin + 1000]
            head = BatchHead(RUN_ID, attempt, "worker", first + begin + 1, len(few))
            raw = join_batch(head, T0_US, b"".join(map(encode_record, few)))
            batches.append(read_batch(raw, ENCODING_IDENTITY))
        writer.apply(batches, StreamCursor("one", attempt * 10**6 + first + 1))


def columns(curve: DrawnCurve) -> dict[str, npt.NDArray[np.float64]]:
    """Its columns as arrays."""
    return {name: np.frombuffer(data, "<f8") for name, data in curve.columns.items()}


def test_a_short_curve_comes_as_it_is(writer: Writer, reader: Reader) -> None:
    """Every point with its step, its time and its value, NaN among them, and the cursor behind them."""
    values = [1.0, math.nan, -math.inf, 4.0]
    steps = [0, 10, None, 30]
    put(writer, [Metric(n + 1, n * 10**6, NAME, steps[n], value) for n, value in enumerate(values)])
    found = reader.curve_set(RUN_ID, [NAME, "no/such"])
    assert found.names == [NAME]
    assert found.cursor == "1.worker.4"
    (curve,) = found.curves
    assert (curve.reduced, curve.points, tuple(curve.columns)) == (False, 4, POINT_COLUMNS)
    table = columns(curve)
    np.testing.assert_array_equal(table["step"], [0, 10, np.nan, 30])
    np.testing.assert_array_equal(table["t"] - T0_US / 1e6, [0, 1, 2, 3])
    np.testing.assert_array_equal(table["value"], values)


@pytest.mark.parametrize("bounds", [(None, None), (3_000, 17_000)])
def test_a_long_curve_says_what_its_buckets_say(
    writer: Writer, reader: Reader, bounds: tuple[int | None, int | None]
) -> None:
    """Columns and `curve` tell the same of each bucket, and times lie where their steps lie."""
    points = 2 * WHOLE_POINTS
    put(writer, [Metric(n + 1, n * 1000, NAME, n, float(n % 97)) for n in range(points)])
    (curve,) = reader.curve_set(RUN_ID, [NAME], 50, *bounds).curves
    buckets = reader.curve(RUN_ID, NAME, 50, *bounds).buckets
    assert curve.reduced
    assert tuple(curve.columns) == BUCKET_COLUMNS
    table = columns(curve)
    for name in ("step0", "step1", "n", "min", "max", "mean", "last"):
        np.testing.assert_allclose(table[name], [getattr(bucket, name) for bucket in buckets])
    assert not table["odd"].any()
    for step, t in (("step0", "t0"), ("step1", "t1")):
        np.testing.assert_allclose(table[t] - T0_US / 1e6, table[step] / 1000, atol=2e-3)


def test_episodes_are_curves_too(writer: Writer, reader: Reader) -> None:
    """Return and length by step, with the values of the episode events."""
    for message in messages(400, 100):
        writer.apply([read_batch(message.payload, message.encoding)], StreamCursor("one", 1))
    found = reader.curve_set(RUN_ID, [EPISODE_RETURN, EPISODE_LENGTH])
    assert found.names == [EPISODE_RETURN, EPISODE_LENGTH, METRIC]
    returns, lengths = (columns(curve) for curve in found.curves)
    told = [r for r in map(record_at, range(1, 401)) if type(r).__name__ == "Episode"]
    np.testing.assert_array_equal(returns["value"], [r.episode_return for r in told])  # type: ignore[union-attr]
    np.testing.assert_array_equal(returns["step"], [r.global_step for r in told])  # type: ignore[union-attr]
    assert set(lengths["value"]) == {17.0}


def test_many_episodes_are_reduced_without_a_loss(writer: Writer, reader: Reader) -> None:
    """Lowest and highest survive, what is no number is counted, and nothing else is made of it."""
    events = 20 * (WHOLE_POINTS + 500)
    put(writer, [record_at(seq) for seq in range(1, events + 1)])
    (curve,) = reader.curve_set(RUN_ID, [EPISODE_RETURN], 40).curves
    table = columns(curve)
    episodes = reader.summary(RUN_ID).episodes
    assert curve.reduced
    assert curve.points == episodes == table["n"].sum()
    assert len(table["n"]) <= 40
    assert (table["min"].min(), table["max"].max()) == (-1e308, 1e308)
    assert 0 < table["odd"].sum() <= episodes * 3 // 50 + 3
    assert (np.diff(table["t1"]) >= 0).all()
    part = reader.curve_set(RUN_ID, [EPISODE_RETURN], 40, 17 * 100, 17 * 200).curves[0]
    assert part.points == 101


def test_a_run_without_events_has_no_curves(writer: Writer, reader: Reader) -> None:
    """An empty answer with the cursor of the beginning, so that a client follows from there."""
    found = reader.curve_set("01JGXSYNTHET1CRVN000000009", [EPISODE_RETURN, NAME])
    assert (found.names, found.cursor, found.curves) == ([], "", [])


def points(steps: Sequence[int | None], value: float, begun: int = 0) -> list[Record]:
    """One point a second, all of one value."""
    made = enumerate(steps, begun)
    return [Metric(n - begun + 1, n * 10**6, NAME, step, value) for n, step in made]


def parts(curve: DrawnCurve) -> list[dict[str, npt.NDArray[np.float64]]]:
    """Columns of each pass."""
    table = columns(curve)
    edges = zip(curve.passes, [*curve.passes[1:], len(table["n"])], strict=True)
    return [{name: column[a:b] for name, column in table.items()} for a, b in edges]


@pytest.mark.parametrize("as_attempts", [True, False])
@pytest.mark.parametrize("buckets", [50, 1000])
@pytest.mark.parametrize(
    "passes",
    [
        [range(12_000), range(9_000, 17_000)],
        [range(0, 1_200_000, 100), range(1_199_600, 1_700_000, 100)],  # five points back
        [range(6_000), range(6_000), range(6_000)],
        [range(12_000), range(2_000, 5_000), range(4_990, 20_000)],
        [range(11_000), range(3)],  # a pass that has just begun
    ],
)
def test_steps_that_go_back_are_passes_in_a_long_curve(
    writer: Writer, reader: Reader, passes: list[range], buckets: int, as_attempts: bool
) -> None:
    """Each pass has its own buckets, with its own steps, values, times and number of points."""
    told: list[Record] = []
    begun = 0
    for number, steps in enumerate(passes):
        made = points(steps, float(number), begun)
        begun += len(steps)
        if as_attempts:
            put(writer, made, number + 1)
        told += made
    if not as_attempts:
        put(writer, [msgspec.structs.replace(one, seq=n + 1) for n, one in enumerate(told)])
    (curve,) = reader.curve_set(RUN_ID, [NAME], buckets).curves
    assert curve.reduced
    found = parts(curve)
    assert len(found) == len(passes)
    assert sum(len(part["n"]) for part in found) <= buckets
    begun = 0
    for number, (part, steps) in enumerate(zip(found, passes, strict=True)):
        assert (part["step0"][0], part["step1"][-1]) == (steps[0], steps[-1])
        assert (np.diff(part["step0"]) > 0).all()
        assert part["n"].sum() == len(steps)
        for name in ("min", "max", "mean", "last"):
            assert set(part[name]) == {float(number)}
        seconds = begun + (part["step0"] - steps[0]) / steps.step
        np.testing.assert_allclose(part["t0"] - T0_US / 1e6, seconds, atol=1.0)
        begun += len(steps)


def test_a_range_of_a_curve_with_passes_keeps_their_numbers(writer: Writer, reader: Reader) -> None:
    """A pass without a point in the range has no row, and the others keep their numbers."""
    put(writer, points(range(12_000), 1.0))
    put(writer, points(range(9_000, 17_000), 2.0, 12_000), 2)
    both = parts(reader.curve_set(RUN_ID, [NAME], 40, 10_000, 13_000).curves[0])
    assert [int(part["n"].sum()) for part in both] == [2_000, 3_001]
    first = parts(reader.curve_set(RUN_ID, [NAME], 40, 0, 5_000).curves[0])
    assert [int(part["n"].sum()) for part in first] == [5_001, 0]
    second = parts(reader.curve_set(RUN_ID, [NAME], 40, 12_500, None).curves[0])
    assert [int(part["n"].sum()) for part in second] == [0, 4_500]
    assert reader.curve_set(RUN_ID, [NAME], 40, 20_000, None).curves[0].points == 0


def test_points_that_come_late_are_no_pass(writer: Writer, reader: Reader) -> None:
    """Two points behind, or a batch that is stored after later ones, leave a curve as one pass."""
    steps = [*range(20_000)]
    steps[700], steps[701], steps[15_000] = steps[650], steps[651], steps[14_998]
    put(writer, points(steps, 1.0))
    (curve,) = reader.curve_set(RUN_ID, [NAME], 50).curves
    assert curve.passes == []
    assert columns(curve)["n"].sum() == 20_000


def test_a_batch_that_fills_a_hole_is_no_pass(writer: Writer, reader: Reader) -> None:
    """Points are ordered by when they were emitted, not by when they were stored."""
    records = points(range(20_000), 1.0)
    batches = []
    for begin in [
        *range(0, 3_000, 200),
        *range(3_200, 12_000, 200),
        3_000,
        *range(12_000, 20_000, 200),
    ]:
        few = records[begin : begin + 200]
        raw = join_batch(
            BatchHead(RUN_ID, 1, "worker", begin + 1, len(few)),
            T0_US,
            b"".join(map(encode_record, few)),
        )
        batches.append(read_batch(raw, ENCODING_IDENTITY))
    for number, batch in enumerate(batches):
        writer.apply([batch], StreamCursor("one", number + 1))
    (curve,) = reader.curve_set(RUN_ID, [NAME], 50).curves
    assert curve.passes == []
    assert columns(curve)["n"].sum() == 20_000


def test_disorder_is_one_pass(writer: Writer, reader: Reader) -> None:
    """Steps in no order are read by step, as long as there are more falls than passes can be."""
    steps = np.random.default_rng(0).integers(0, 10**6, 20_000).tolist()
    put(writer, points(steps, 1.0))
    (curve,) = reader.curve_set(RUN_ID, [NAME], 500).curves
    table = columns(curve)
    assert curve.passes == []
    assert (np.diff(table["step0"]) > 0).all()
    assert table["n"].sum() == 20_000


def test_attempts_without_steps_follow_one_another(writer: Writer, reader: Reader) -> None:
    """What is measured by the clock is not put over what an earlier attempt measured."""
    put(writer, points([None] * 8_000, 1.0))
    put(writer, points([None] * 8_000, 2.0, 100_000), 2)
    (curve,) = reader.curve_set(RUN_ID, [NAME], 100).curves
    assert curve.stepless
    one, two = parts(curve)
    assert (set(one["mean"]), set(two["mean"])) == ({1.0}, {2.0})
    assert one["t1"][-1] - T0_US / 1e6 == pytest.approx(7_999, abs=1)
    assert two["t0"][0] - T0_US / 1e6 == pytest.approx(100_000, abs=1)


def test_episodes_of_an_attempt_that_began_again_are_a_pass(writer: Writer, reader: Reader) -> None:
    """Returns of two attempts over the same steps are kept distinct, in a range as well."""
    for attempt, first in ((1, 0), (2, 4_000)):
        ends = [
            Episode(n + 1, n * 1000, 0, n, 10, float(attempt), 0, 0.1, (first + n) * 10)
            for n in range(8_000)
        ]
        put(writer, list(ends), attempt)
    (curve,) = reader.curve_set(RUN_ID, [EPISODE_RETURN], 100).curves
    one, two = parts(curve)
    assert (set(one["mean"]), set(two["mean"])) == ({1.0}, {2.0})
    assert (two["step0"][0], two["step1"][-1]) == (40_000, 119_990)
    part = parts(reader.curve_set(RUN_ID, [EPISODE_RETURN], 100, 100_000, None).curves[0])
    assert [int(one["n"].sum()) for one in part] == [0, 2_000]


@pytest.mark.parametrize("envs", [1, 4])
def test_episodes_whose_steps_go_back_within_an_attempt_are_passes(
    writer: Writer, reader: Reader, envs: int
) -> None:
    """A program that goes through its steps once more: each pass has its own buckets, for all environments."""
    records: list[Record] = []
    for number, first in enumerate((0, 9_000, 2_000)):
        for n in range(12_000):
            env, seq = n % envs, len(records) + 1
            episode = (12_000 * number + n) // envs
            records.append(
                Episode(seq, seq * 1000, env, episode, 10, float(number), 0, 0.1, (first + n) * 10)
            )
    put(writer, records)
    (curve,) = reader.curve_set(RUN_ID, [EPISODE_RETURN], 200).curves
    found = parts(curve)
    assert [set(part["mean"]) for part in found] == [{0.0}, {1.0}, {2.0}]
    assert [int(part["n"].sum()) for part in found] == [12_000] * 3
    assert [int(part["step0"].min()) for part in found] == [0, 90_000, 20_000]
    assert curve.points == 36_000
