import numpy as np
import pytest

from mosaic_gui.state import series as series_module
from mosaic_gui.state.chart_line import chart_line
from mosaic_gui.state.downsampling import ReducedPoints
from mosaic_gui.state.series import PointSeries


def test_points_stay_in_the_order_in_which_they_came() -> None:
    """A series grows over every size of its arrays without losing or moving a point."""
    series = PointSeries()
    for begin in range(0, 2000, 100):
        part = range(begin, begin + 100)
        series.extend(list(part), [float(i) for i in part], [i * 2.0 for i in part])
    assert series.values.tolist() == [i * 2.0 for i in range(2000)]
    assert series.steps.tolist() == list(range(2000))


def test_a_point_without_a_step_says_so() -> None:
    """What the machine measures has no step, which is not step 0."""
    series = PointSeries()
    series.extend([None, 3], [1.0, 2.0], [5.0, 6.0])
    assert np.isnan(series.steps[0])
    assert series.steps[1] == 3


def test_smoothing_goes_on_where_it_was() -> None:
    """Smoothed values of a series that grew equal those of one that came at once, for each factor asked."""
    values = np.sin(np.arange(900) / 7).tolist()
    grown, whole = PointSeries(), PointSeries()
    whole.extend(list(range(900)), [0.0] * 900, values)
    for begin in range(0, 900, 90):
        part = values[begin : begin + 90]
        grown.extend(list(range(begin, begin + 90)), [0.0] * 90, part)
        grown.smoothed(0.9)
    assert grown.smoothed(0.9) == pytest.approx(whole.smoothed(0.9))
    assert grown.smoothed(0.5) == pytest.approx(whole.smoothed(0.5))


def test_memory_is_bounded_and_spikes_survive(monkeypatch: pytest.MonkeyPatch) -> None:
    """A series that streams for ever is thinned from its old end, but keeps its extremes."""
    monkeypatch.setattr(series_module, "MOST_RAW", 4_000)
    series = PointSeries()
    values = np.zeros(10_000)
    values[57] = 99.0
    for begin in range(0, 10_000, 500):
        part = values[begin : begin + 500]
        series.extend([None] * 500, [0.0] * 500, part.tolist())
    assert len(series) <= 4_000
    assert series.thinned
    assert series.values.max() == 99.0


def test_what_is_smooth_stays_so_when_its_past_is_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thinning keeps the smoothed value of each point that it keeps, and goes on as if all points were still here."""
    steps = np.arange(10_000.0)
    values = np.random.default_rng(5).normal(size=10_000)
    whole = PointSeries()
    whole.extend(steps, steps, values)
    monkeypatch.setattr(series_module, "MOST_RAW", 4_000)
    thin = PointSeries()
    for begin in range(0, 10_000, 250):
        part = slice(begin, begin + 250)
        thin.extend(steps[part], steps[part], values[part])
        thin.smoothed(0.95)
    assert thin.thinned
    kept = thin.steps.astype(int)
    assert thin.smoothed(0.95) == pytest.approx(whole.smoothed(0.95)[kept])


@pytest.mark.parametrize("points", [1_000, 47_000, 49_000, 100_000, 400_000])
@pytest.mark.parametrize("length", [1, 10, 60])
def test_gaps_survive_thinning(points: int, length: int) -> None:
    """However long a series streams, raw and smooth line have each of its gaps, and the gap has its mark."""
    gaps = 9
    values = np.random.default_rng(2).normal(size=points)
    begins = np.linspace(0, points, gaps + 2)[1:-1].astype(int)
    for begin in begins:
        values[begin : begin + length] = np.nan
    series = PointSeries()
    for begin in range(0, points, 1_000):
        steps = np.arange(begin, min(points, begin + 1_000), dtype=float)
        series.extend(steps, steps, values[begin : begin + 1_000])
        series.smoothed(0.9)
    assert len(series) <= series_module.MOST_RAW
    for y in (series.values, series.smoothed(0.9)):
        drawn = chart_line(series.steps, y, 800)
        assert len(drawn.x) - np.count_nonzero(drawn.connect[:-1]) == gaps + 1
        marks = np.searchsorted(begins, drawn.gaps_x, side="right")
        assert set(marks) == set(range(1, gaps + 1))
        assert np.isin(drawn.gaps_x, np.flatnonzero(np.isnan(values))).all()


def test_a_series_of_gaps_alone_stays_within_its_bound() -> None:
    """Values that are missing at every other place do not fill the memory."""
    series = PointSeries()
    for begin in range(0, 200_000, 1_000):
        steps = np.arange(begin, begin + 1_000.0)
        series.extend(steps, steps, np.where(steps % 2, np.nan, steps))
    assert len(series) <= series_module.MOST_RAW
    assert np.nanmax(series.values) == 199_998
    assert np.isnan(series.values).any()


@pytest.mark.parametrize("points", [60_000, 200_000, 700_000])
@pytest.mark.parametrize("first", [0, 30_000])
def test_the_past_stays_about_equally_fine(points: int, first: int) -> None:
    """However long a series streams, no part of its past becomes much coarser than what there is room for."""
    series = PointSeries()
    if first:  # as a run that is opened: 1,000 buckets, then live
        steps = np.linspace(0, first, 3_000)
        series.begin(ReducedPoints(steps, steps, steps, steps, np.full(3_000, first / 3_000)))
    for begin in range(first, points, 500):
        steps = np.arange(begin, begin + 500.0)
        series.extend(steps, steps, np.random.default_rng(begin).normal(size=500))
        series.smoothed(0.9)
    assert series_module.MOST_RAW // 4 <= len(series) <= series_module.MOST_RAW
    assert np.diff(series.steps).max() <= max(16, 16 * points / series_module.MOST_RAW)
    assert series.is_rising
