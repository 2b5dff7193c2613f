import numpy as np
import pytest
from tests.specimen import metrics

from mosaic_contracts.curve_set import BUCKET_COLUMNS, POINT_COLUMNS, DrawnCurve
from mosaic_gui.state import series as series_module
from mosaic_gui.state.curves import RunCurves
from mosaic_gui.state.downsampling import pass_begins, reduced_points
from mosaic_gui.state.series import PointSeries
from mosaic_gui.state.settings import XAxis
from mosaic_gui.viewmodels.curve_lines import curve_of, too_few_points

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


def of_passes(*passes: DrawnCurve) -> DrawnCurve:
    """Curves as the passes of one, each after the one before in time."""
    tables = [
        {name: np.frombuffer(data, "<f8").copy() for name, data in one.columns.items()}
        for one in passes
    ]
    begins, t = [0], 0.0
    for table in tables:
        begins.append(begins[-1] + len(table["n"]))
        for name in ("t0", "t1"):
            table[name] += t
        t += 50_000
    return DrawnCurve(
        name=NAME,
        points=sum(one.points for one in passes),
        reduced=True,
        passes=begins[:-1],
        columns={
            name: np.concatenate([table[name] for table in tables]).tobytes()
            for name in BUCKET_COLUMNS
        },
    )


def test_passes_that_the_store_found_are_drawn_as_such() -> None:
    """A pass that went back by less than a bucket is a line of its own, from its own first step."""
    first, second = np.zeros(12_000), np.ones(12_000)
    curves = RunCurves()
    curves.begin(of_passes(reduced(first, 100), reduced(second, 100, 11_990)), "1.worker.9")
    parts = curves.parts_of(NAME, XAxis.STEP)
    values = curves.series[NAME].values
    assert [(part.x[0], part.x[-1]) for part in parts] == [(0, 11_999), (11_990, 23_989)]
    assert [set(values[part.places]) for part in parts] == [{0.0}, {1.0}]
    curves.take(metrics(10, NAME, [1.0]))
    assert len(curves.parts_of(NAME, XAxis.STEP)[-1].x) == len(parts[-1].x) + 1


def test_each_pass_gets_finer_where_it_is_looked_at() -> None:
    """A stretch is refined in each pass that has it, in another stretch only the pass that is there."""
    first, second = np.sin(np.arange(20_000) / 300), np.cos(np.arange(20_000) / 300)
    whole = of_passes(reduced(first, 50), reduced(second, 50, 15_000))
    curves = RunCurves()
    curves.begin(whole, "1.worker.9")
    series = curves.series[NAME]
    curve = curve_of(curves, NAME, XAxis.STEP, 0.9, log_scale=False)
    assert curve is not None
    assert too_few_points(curve, 16_000, 16_400, 400) == pytest.approx((16_000, 16_400), abs=100)
    before = len(curve.smoothed)
    finer = of_passes(
        reduced(first[16_000:16_400], 1, 16_000), reduced(second[1_000:1_400], 1, 16_000)
    )
    series.refine(reduced_points(finer), pass_begins(finer))
    for values, part, offset in zip(
        (first, second), curves.parts_of(NAME, XAxis.STEP), (0, 15_000), strict=True
    ):
        seen = slice(*np.searchsorted(part.x, (16_000, 16_399)))
        assert part.x[seen].tolist() == list(range(16_000, 16_399))
        expected = values[16_000 - offset : 16_399 - offset]
        assert series.values[part.places][seen] == pytest.approx(expected)
    refined = curve_of(curves, NAME, XAxis.STEP, 0.9, log_scale=False)
    assert refined is not None
    assert len(refined.smoothed) == len(series) > before


def test_a_stretch_of_one_pass_leaves_the_other() -> None:
    """Where the answer has no row of a pass, that pass keeps its points, the newest point among them."""
    first, second = np.zeros(20_000), np.ones(20_000)
    series = PointSeries()
    whole = of_passes(reduced(first, 50), reduced(second, 50, 15_000))
    series.begin(reduced_points(whole), pass_begins(whole))
    size = len(series)
    finer = reduced(first[1_000:1_100], 1, 1_000).model_copy(update={"passes": [0, 100]})
    series.refine(reduced_points(finer), pass_begins(finer))
    old, new = (series.values[: series.begins[1]], series.values[series.begins[1] :])
    assert (set(old), set(new)) == ({0.0}, {1.0})
    assert len(series) > size
    assert series.steps[series.begins[1]] == 15_000


def test_what_is_read_again_ends_where_live_points_begin() -> None:
    """An answer that reaches beyond the joint brings no point that is here already."""
    values = np.sin(np.arange(21_000) / 300)
    series = PointSeries()
    series.begin(reduced_points(reduced(values[:20_000], 50)))
    live = np.arange(20_000.0, 21_000)
    series.extend(live, live, values[20_000:])
    series.refine(reduced_points(reduced(values[19_800:20_200], 1, 19_800)))
    assert series.is_rising
    assert series.steps[-1_100:-1_000].tolist() == list(range(19_900, 20_000))


def test_passes_stay_apart_while_a_series_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it goes on, each pass has its own steps."""
    monkeypatch.setattr(series_module, "MOST_RAW", 4_000)
    curves = RunCurves()
    whole = of_passes(reduced(np.zeros(20_000), 20), reduced(np.ones(20_000), 20, 19_990))
    curves.begin(whole, "1.worker.9")
    series = curves.series[NAME]
    for n in range(39_990, 60_000, 500):
        series.extend(np.arange(n, n + 500.0), np.arange(n, n + 500.0), np.ones(500))
    one, two = curves.parts_of(NAME, XAxis.STEP)
    assert one.x[-1] == pytest.approx(20_000, abs=500)
    assert two.x[0] == pytest.approx(19_990, abs=500)
    assert two.x[-1] > 59_000


def test_buckets_keep_spikes_gaps_and_the_newest_value() -> None:
    """What stands out in a million points stands out in a thousand."""
    values = np.zeros(10_000)
    values[7_777], values[3_333] = 99.0, np.nan
    values[-1] = 5.0
    points = reduced_points(reduced(values, 100))
    assert np.nanmax(points.values) == 99.0
    assert np.isnan(points.values).sum() == 1
    assert points.values[-1] == 5.0
    assert (np.diff(points.steps) >= 0).all()
    assert points.weights.sum() == pytest.approx(9_999)


def test_a_curve_is_smoothed_as_if_all_its_points_were_here() -> None:
    """The smooth line over buckets is near the one over all points, and at the newest ones the same."""
    rng = np.random.default_rng(3)
    values = np.linspace(0, 10, 20_000) + rng.normal(size=20_000)
    whole, opened = PointSeries(), PointSeries()
    steps = np.arange(20_000.0)
    whole.extend(steps, steps, values)
    opened.begin(reduced_points(reduced(values[:18_000], 36)))
    opened.extend(steps[18_000:], steps[18_000:], values[18_000:])
    assert len(opened) < 4_000
    for factor in (0.9, 0.99, 0.999):
        true, shown = whole.smoothed(factor), opened.smoothed(factor)
        assert shown[-1_000:] == pytest.approx(true[-1_000:], abs=0.05)
        assert np.abs(shown[:1_000] - np.interp(opened.steps[:1_000], steps, true)).mean() < 0.5


def test_where_it_is_looked_at_it_gets_finer_and_coarse_again_behind() -> None:
    """A stretch is replaced by its own points; the next one takes its place, and nothing grows without end."""
    values = np.sin(np.arange(50_000) / 300)
    series = PointSeries()
    series.begin(reduced_points(reduced(values, 50)))
    size = len(series)
    seen = slice(*np.searchsorted(series.steps, (10_000, 10_400)))
    assert series.too_few_points(seen, 400) is not None
    series.refine(reduced_points(reduced(values[10_000:10_400], 1, 10_000)))
    seen = slice(*np.searchsorted(series.steps, (10_000, 10_399)))
    assert series.steps[seen].tolist() == list(range(10_000, 10_399))
    assert series.values[seen] == pytest.approx(values[10_000:10_399])
    assert series.too_few_points(seen, 10_000) is None
    series.refine(reduced_points(reduced(values[30_000:30_400], 1, 30_000)))
    assert len(series) < size + 500
    assert series.is_rising
    series.extend([50_000], [50_000.0], [7.0])
    assert series.values[-1] == 7.0


def test_what_streams_after_a_refinement_is_thinned_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long it goes on, a series stays within its bound and keeps its lowest and highest."""
    monkeypatch.setattr(series_module, "MOST_RAW", 4_000)
    series = PointSeries()
    values = np.zeros(20_000)
    values[5_000] = -50.0
    series.begin(reduced_points(reduced(values, 20)))
    series.refine(reduced_points(reduced(values[100:200], 1, 100)))
    for n in range(20_000, 40_000, 500):
        series.extend(np.arange(n, n + 500.0), np.arange(n, n + 500.0), np.ones(500))
    assert len(series) <= 4_000
    assert series.values.min() == -50.0
    assert series.is_rising
    assert series.steps[-1] == 39_999
    assert len(series.smoothed(0.9)) == len(series)


def test_live_events_join_what_the_store_had_without_a_double() -> None:
    """Only the part behind the joint is taken from a batch that overlaps it, each series by its own joint."""
    curves = RunCurves()
    whole = np.array([[10.0, 20.0], [110.0, 120.0], [1.0, 2.0]], dtype="<f8")
    columns = {name: row.tobytes() for name, row in zip(POINT_COLUMNS, whole, strict=True)}
    curve = DrawnCurve(name=NAME, points=2, reduced=False, columns=columns)
    curves.begin(curve, "1.worker.2")
    curves.take(metrics(1, NAME, [1.0, 2.0, 3.0, 4.0]))
    curves.take(metrics(1, "losses/other", [5.0]))
    assert curves.series[NAME].values.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert curves.series["losses/other"].values.tolist() == [5.0]
