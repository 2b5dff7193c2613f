import numpy as np
import pytest
from tests.specimen import metrics

from mosaic_contracts.curve_set import BUCKET_COLUMNS, POINT_COLUMNS, DrawnCurve
from mosaic_gui.state import series as series_module
from mosaic_gui.state.coarse import coarse_of
from mosaic_gui.state.curves import RunCurves
from mosaic_gui.state.series import Series

NAME = "losses/a"


def reduced(values: np.ndarray, size: int, first: int = 0) -> DrawnCurve:
    """A curve of one point a step in buckets of `size`, as the store makes it."""
    rows = []
    for begin in range(0, len(values), size):
        part = values[begin : begin + size]
        finite = part[np.isfinite(part)]
        low, high, mean = (
            (finite.min(), finite.max(), finite.mean()) if len(finite) else [np.nan] * 3
        )
        step0, step1 = first + begin, first + begin + len(part) - 1
        odd = len(part) - len(finite)
        rows.append((step0, step1, step0, step1, len(part), low, high, mean, part[-1], odd))
    table = np.array(rows, dtype="<f8")
    columns = {name: table[:, n].tobytes() for n, name in enumerate(BUCKET_COLUMNS)}
    return DrawnCurve(name=NAME, points=len(values), reduced=True, columns=columns)


def test_buckets_keep_spikes_gaps_and_the_newest_value() -> None:
    """What stands out in a million points stands out in a thousand."""
    values = np.zeros(10_000)
    values[7_777], values[3_333] = 99.0, np.nan
    values[-1] = 5.0
    coarse = coarse_of(reduced(values, 100))
    assert np.nanmax(coarse.values) == 99.0
    assert np.isnan(coarse.values).sum() == 1
    assert coarse.values[-1] == 5.0
    assert (np.diff(coarse.steps) >= 0).all()
    assert coarse.weights.sum() == pytest.approx(9_999)


def test_a_curve_is_smoothed_as_if_all_its_points_were_here() -> None:
    """The smooth line over buckets is near the one over all points, and at the newest ones the same."""
    rng = np.random.default_rng(3)
    values = np.linspace(0, 10, 20_000) + rng.normal(size=20_000)
    whole, opened = Series(), Series()
    steps = np.arange(20_000.0)
    whole.extend(steps, steps, values)
    opened.begin(coarse_of(reduced(values[:18_000], 36)))
    opened.extend(steps[18_000:], steps[18_000:], values[18_000:])
    assert len(opened) < 4_000
    for factor in (0.9, 0.99, 0.999):
        true, shown = whole.smoothed(factor), opened.smoothed(factor)
        assert shown[-1_000:] == pytest.approx(true[-1_000:], abs=0.05)
        assert np.abs(shown[:1_000] - np.interp(opened.steps[:1_000], steps, true)).mean() < 0.5


def test_where_it_is_looked_at_it_gets_finer_and_coarse_again_behind() -> None:
    """A stretch is replaced by its own points; the next one takes its place, and nothing grows without end."""
    values = np.sin(np.arange(50_000) / 300)
    series = Series()
    series.begin(coarse_of(reduced(values, 50)))
    size = len(series)
    seen = slice(*np.searchsorted(series.steps, (10_000, 10_400)))
    assert series.too_coarse(seen, 400) is not None
    series.refine(coarse_of(reduced(values[10_000:10_400], 1, 10_000)))
    seen = slice(*np.searchsorted(series.steps, (10_000, 10_399)))
    assert series.steps[seen].tolist() == list(range(10_000, 10_399))
    assert series.values[seen] == pytest.approx(values[10_000:10_399])
    assert series.too_coarse(seen, 10_000) is None
    series.refine(coarse_of(reduced(values[30_000:30_400], 1, 30_000)))
    assert len(series) < size + 500
    assert series.is_rising
    series.extend([50_000], [50_000.0], [7.0])
    assert series.values[-1] == 7.0


def test_what_streams_after_a_refinement_is_thinned_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long it goes on, a series stays within its bound and keeps its lowest and highest."""
    monkeypatch.setattr(series_module, "MOST_RAW", 4_000)
    series = Series()
    values = np.zeros(20_000)
    values[5_000] = -50.0
    series.begin(coarse_of(reduced(values, 20)))
    series.refine(coarse_of(reduced(values[100:200], 1, 100)))
    for n in range(20_000, 40_000, 500):
        series.extend(np.arange(n, n + 500.0), np.arange(n, n + 500.0), np.ones(500))
    assert len(series) <= 4_000
    assert series.values.min() == -50.0
    assert series.is_rising
    assert series.steps[-1] == 39_999
    assert len(series.smoothed(0.9)) == len(series)


def test_live_events_join_what_the_store_had_without_a_double() -> None:
    """Of a batch that overlaps the joint only what lies behind it is taken, each series by its own joint."""
    curves = RunCurves()
    whole = np.array([[10.0, 20.0], [110.0, 120.0], [1.0, 2.0]], dtype="<f8")
    columns = {name: row.tobytes() for name, row in zip(POINT_COLUMNS, whole, strict=True)}
    curve = DrawnCurve(name=NAME, points=2, reduced=False, columns=columns)
    curves.begin(curve, "1.worker.2")
    curves.take(metrics(1, NAME, [1.0, 2.0, 3.0, 4.0]))
    curves.take(metrics(1, "losses/other", [5.0]))
    assert curves.series[NAME].values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert curves.series["losses/other"].values.tolist() == [5.0]
