import numpy as np
import pytest

from mosaic_gui.state import series as series_module
from mosaic_gui.state.series import Series


def test_points_stay_in_the_order_in_which_they_came() -> None:
    """A series grows over every size of its arrays without losing or moving a point."""
    series = Series()
    for begin in range(0, 2000, 100):
        part = range(begin, begin + 100)
        series.extend(list(part), [float(i) for i in part], [i * 2.0 for i in part])
    assert series.values.tolist() == [i * 2.0 for i in range(2000)]
    assert series.steps.tolist() == list(range(2000))


def test_a_point_without_a_step_says_so() -> None:
    """What the machine measures has no step, which is not step 0."""
    series = Series()
    series.extend([None, 3], [1.0, 2.0], [5.0, 6.0])
    assert np.isnan(series.steps[0])
    assert series.steps[1] == 3


def test_smoothing_goes_on_where_it_was() -> None:
    """Smoothed values of a series that grew equal those of one that came at once, for each factor asked."""
    values = np.sin(np.arange(900) / 7).tolist()
    grown, whole = Series(), Series()
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
    series = Series()
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
    whole = Series()
    whole.extend(steps, steps, values)
    monkeypatch.setattr(series_module, "MOST_RAW", 4_000)
    thin = Series()
    for begin in range(0, 10_000, 250):
        part = slice(begin, begin + 250)
        thin.extend(steps[part], steps[part], values[part])
        thin.smoothed(0.95)
    assert thin.thinned
    kept = thin.steps.astype(int)
    assert thin.smoothed(0.95) == pytest.approx(whole.smoothed(0.95)[kept])
