import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.smoothing import MOST, Smoother

FACTORS = st.floats(0.0, MOST)
VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=700)


@given(FACTORS, st.floats(-1e6, 1e6), st.integers(1, 700))
def test_a_constant_stays_what_it_is(factor: float, value: float, n: int) -> None:
    """Smoothing must not bend a constant, neither at its start nor later."""
    smoothed = Smoother(factor).extend(np.full(n, value))
    assert smoothed == pytest.approx(np.full(n, value), rel=1e-9, abs=1e-9)


@given(FACTORS, VALUES, st.integers(0, 700))
def test_pieces_give_what_the_whole_gives(factor: float, values: list[float], cut: int) -> None:
    """A series that grew in two pieces is smoothed as if it had come at once."""
    whole = Smoother(factor).extend(np.array(values))
    parts = Smoother(factor)
    pieces = np.concatenate(
        [parts.extend(np.array(values[:cut])), parts.extend(np.array(values[cut:]))]
    )
    assert pieces == pytest.approx(whole, rel=1e-9, abs=1e-6)


def test_it_is_the_textbook_mean() -> None:
    """Each value is the weighted mean of all points up to it, the newest weighing most."""
    values = np.array([3.0, -1.0, 4.0, 1.5])
    factor = 0.7
    weights = factor ** np.arange(4)[::-1]
    expected = (weights * values).sum() / weights.sum()
    assert Smoother(factor).extend(values)[-1] == pytest.approx(expected)


def test_what_is_not_finite_stays_and_is_not_averaged_in() -> None:
    """A NaN is shown where it was and does not spoil what comes after it."""
    smoothed = Smoother(0.9).extend(np.array([2.0, np.nan, np.inf, 2.0]))
    assert smoothed[0] == smoothed[3] == pytest.approx(2.0)
    assert np.isnan(smoothed[1])
    assert np.isinf(smoothed[2])


@pytest.mark.parametrize("factor", [1.0, -0.1, float("nan")])
def test_a_factor_outside_is_refused(factor: float) -> None:
    """A weight of 1 would ignore everything but the first point, so it is refused."""
    with pytest.raises(ValueError, match="between 0 and"):
        Smoother(factor)
