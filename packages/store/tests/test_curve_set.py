"""Curves as columns: the same numbers as the buckets have, of one moment, with times and the cursor to go on from."""

import math

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
    Metric,
    Record,
    encode_record,
    join_batch,
)
from mosaic_store import Reader, StreamCursor, Writer, read_batch
from mosaic_store.testing import METRIC, RUN_ID, messages, record_at

T0_US = 10**15
NAME = "losses/q"


def put(writer: Writer, records: list[Record]) -> None:
    """Store records that begin at seq 1."""
    for first in range(0, len(records), 10_000):
        part = records[first : first + 10_000]
        batches = []
        for begin in range(0, len(part), 1000):
            few = part[begin : begin + 1000]
            head = BatchHead(RUN_ID, 1, "worker", first + begin + 1, len(few))
            raw = join_batch(head, T0_US, b"".join(map(encode_record, few)))
            batches.append(read_batch(raw, ENCODING_IDENTITY))
        writer.apply(batches, StreamCursor("one", first + 1))


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
    """Return and length by step, with the values that the episode events told."""
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
