import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.chart_line import ChartLine, chart_line, visible

FLOATS = st.floats(-1e9, 1e9)


@given(st.lists(FLOATS, min_size=1, max_size=3000), st.integers(1, 200))
def test_no_spike_is_lost(values: list[float], buckets: int) -> None:
    """However few points are drawn, the lowest and the highest are among them, and so are both ends."""
    y = np.array(values)
    drawn = chart_line(np.arange(len(y), dtype=float), y, buckets)
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
    drawn = chart_line(x, y, 100)
    assert drawn.x.tolist() == [0, 1, 3, 5]
    assert np.isfinite(drawn.y).all()
    assert drawn.connect.tolist() == [1, 0, 0, 0]
    assert drawn.gaps_x.tolist() == [2, 4]


def test_nothing_finite_is_gaps_only() -> None:
    """A series of nothing but NaN is drawn as marks."""
    drawn = chart_line(np.arange(3, dtype=float), np.full(3, np.nan), 10)
    assert len(drawn.x) == 0
    assert drawn.gaps_x.tolist() == [0, 1, 2]


def test_the_view_takes_one_point_beyond_either_side() -> None:
    """A line that leaves the view is drawn up to its edge."""
    x = np.arange(10, dtype=float)
    assert visible(x, 3.5, 6.5) == slice(3, 8)
    assert visible(x, -5, 50) == slice(0, 10)


def test_the_highest_numbers_leave_an_axis_room() -> None:
    """Between the lowest and the highest that is drawn there is a finite distance."""
    drawn = chart_line(np.arange(2, dtype=float), np.array([-1.7e308, 1.7e308]), 10)
    assert np.isfinite(drawn.y.max() - drawn.y.min())


@given(st.lists(st.floats(-1e9, 1e9) | st.just(np.nan), min_size=1, max_size=2000))
def test_gaps_cost_no_spike(values: list[float]) -> None:
    """However many values are missing, the lowest and the highest of the others are drawn."""
    y = np.array(values)
    drawn = chart_line(np.arange(len(y), dtype=float), y, 40)
    finite = y[np.isfinite(y)]
    if len(finite):
        assert (drawn.y.min(), drawn.y.max()) == (finite.min(), finite.max())
    assert len(drawn.x) <= 2 * 40 + 6
    assert len(drawn.gaps_x) <= 121


def pieces(drawn: ChartLine) -> int:
    """Strokes and lone points that are drawn."""
    return len(drawn.x) - int(np.count_nonzero(drawn.connect[:-1]))


@pytest.mark.parametrize("points", [300, 3_000, 10_000, 47_999, 250_000])
@pytest.mark.parametrize(("gaps", "length"), [(1, 1), (10, 10), (37, 3)])
@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_gap_is_a_gap_at_every_length(points: int, gaps: int, length: int, odd: float) -> None:
    """However many points share a pixel, no line is drawn across a gap."""
    y = np.random.default_rng(1).normal(size=points)
    begins = np.linspace(0, points, gaps + 2)[1:-1].astype(int)
    for begin in begins:
        y[begin : begin + length] = odd
    drawn = chart_line(np.arange(points, dtype=float), y, 800)
    assert pieces(drawn) == gaps + 1
    ends = np.flatnonzero(drawn.connect[:-1] == 0)
    assert (drawn.x[ends] < begins).all()
    assert (drawn.x[ends + 1] >= begins + length).all()


def test_a_break_can_be_asked_for() -> None:
    """Where no line may go none does, though every value is a number."""
    breaks = np.array([False, True, False, False])
    drawn = chart_line(np.arange(4.0), np.ones(4), 100, breaks)
    assert drawn.connect.tolist() == [1, 0, 1, 0]
    assert len(drawn.gaps_x) == 0


@pytest.mark.parametrize(
    ("values", "lone"),
    [
        ([1.0], [True]),
        ([1.0, 2.0], [False, False]),
        ([1.0, np.nan, 2.0, 3.0], [True, False, False]),
        ([np.nan, 1.0, np.inf, 2.0, np.nan], [True, True]),
        ([], []),
    ],
)
def test_a_point_without_a_line_is_known(values: list[float], lone: list[bool]) -> None:
    """A point that no line leads to is found, for it can only be drawn as a dot."""
    y = np.array(values)
    assert chart_line(np.arange(len(y), dtype=float), y, 10).lone.tolist() == lone
