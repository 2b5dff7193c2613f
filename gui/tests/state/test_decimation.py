import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.decimation import line, visible

FLOATS = st.floats(-1e9, 1e9)


@given(st.lists(FLOATS, min_size=1, max_size=3000), st.integers(1, 200))
def test_no_spike_is_lost(values: list[float], buckets: int) -> None:
    """However few points are drawn, the lowest and the highest are among them, and so are both ends."""
    y = np.array(values)
    drawn = line(np.arange(len(y), dtype=float), y, buckets)
    x, kept = drawn.x, drawn.y
    assert kept.min() == y.min()
    assert kept.max() == y.max()
    assert x[0] == 0
    assert x[-1] == len(y) - 1
    assert (np.diff(x) > 0).all()
    assert len(kept) <= 2 * buckets + 6


def test_a_gap_breaks_the_line_and_is_marked() -> None:
    """Where a value is NaN or infinite no line is drawn, and its place is known."""
    x = np.arange(6, dtype=float)
    y = np.array([1.0, 2.0, np.nan, 4.0, np.inf, 6.0])
    drawn = line(x, y, 100)
    assert drawn.x.tolist() == [0, 1, 3, 5]
    assert np.isfinite(drawn.y).all()
    assert drawn.connect.tolist() == [1, 0, 0, 0]
    assert drawn.gaps_x.tolist() == [2, 4]


def test_nothing_finite_is_gaps_only() -> None:
    """A series of nothing but NaN is drawn as marks."""
    drawn = line(np.arange(3, dtype=float), np.full(3, np.nan), 10)
    assert len(drawn.x) == 0
    assert drawn.gaps_x.tolist() == [0, 1, 2]


def test_the_view_takes_one_point_beyond_either_side() -> None:
    """A line that leaves the view is drawn up to its edge."""
    x = np.arange(10, dtype=float)
    assert visible(x, 3.5, 6.5) == slice(3, 8)
    assert visible(x, -5, 50) == slice(0, 10)


def test_the_highest_numbers_leave_an_axis_room() -> None:
    """Between the lowest and the highest that is drawn there is a finite distance."""
    drawn = line(np.arange(2, dtype=float), np.array([-1.7e308, 1.7e308]), 10)
    assert np.isfinite(drawn.y.max() - drawn.y.min())


@given(st.lists(st.floats(-1e9, 1e9) | st.just(np.nan), min_size=1, max_size=2000))
def test_gaps_cost_no_spike(values: list[float]) -> None:
    """However many values are missing, the lowest and the highest of the others are drawn."""
    y = np.array(values)
    drawn = line(np.arange(len(y), dtype=float), y, 40)
    finite = y[np.isfinite(y)]
    if len(finite):
        assert (drawn.y.min(), drawn.y.max()) == (finite.min(), finite.max())
    assert len(drawn.x) <= 2 * 40 + 6
    assert len(drawn.gaps_x) <= 121
