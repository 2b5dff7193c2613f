"""Seeds as one curve: what belongs together, and what mean and band are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.specimen import run, run_id

from mosaic_gui.state.mean_band import mean_band
from mosaic_gui.viewmodels.curves import SeedGroups


def test_only_the_seed_may_differ() -> None:
    """Equal in worker, algorithm, environment and arguments is one group; any other difference is another."""
    runs = [
        run(0),
        run(1),
        run(2, spec={"parameters": {"gamma": 0.9}}),
        run(3, spec={"parameters": {"gamma": 0.9, "seed": 7}}),
        run(4, spec={"environment": "Acrobot-v1"}),
        run(5),
    ]
    known = {one.run_id: one for one in runs}
    ids = [run_id(n) for n in range(7)]
    groups = SeedGroups().groups(ids, known)
    assert groups == [[ids[0], ids[1], ids[5]], [ids[2], ids[3]], [ids[4]], [ids[6]]]


def test_the_mean_is_taken_at_common_places() -> None:
    """Curves with points at different steps are compared at the same ones, each counting alike."""
    band = mean_band(
        [
            (np.array([0.0, 10.0]), np.array([0.0, 10.0])),
            (np.array([0.0, 5.0, 10.0]), np.array([2.0, 7.0, 12.0])),
        ],
        buckets=3,
    )
    assert band is not None
    assert band.x.tolist() == [0, 5, 10]
    assert band.mean.tolist() == [1, 6, 11]
    assert (band.high - band.mean).tolist() == [1, 1, 1]


def test_a_seed_that_ended_early_counts_up_to_its_end() -> None:
    """Behind its last point the mean is that of the others, not a guess."""
    short = (np.array([0.0, 5.0]), np.array([100.0, 100.0]))
    long = (np.linspace(0, 10, 11), np.zeros(11))
    band = mean_band([short, long], buckets=11)
    assert band is not None
    assert band.mean[0] == 50
    assert band.mean[-1] == 0
    assert band.high[-1] == band.low[-1]


def test_nan_is_left_out() -> None:
    """A value that is none makes no mean a NaN."""
    band = mean_band([(np.arange(3.0), np.array([1.0, np.nan, 3.0]))], 10)
    assert band is not None
    assert np.isfinite(band.mean).all()
    assert mean_band([(np.arange(2.0), np.array([np.nan, np.inf]))], 10) is None


@given(st.lists(st.integers(1, 3_000), min_size=1, max_size=5), st.floats(-1e6, 1e6))
def test_equal_curves_have_no_band(sizes: list[int], level: float) -> None:
    """However many points each has: the mean of a constant is it, and the band has no width."""
    curves = [(np.linspace(0, 100, n), np.full(n, level)) for n in sizes]
    band = mean_band(curves, 200)
    assert band is not None
    assert band.mean == pytest.approx(level)
    assert band.high == pytest.approx(band.low)
    assert len(band.x) <= 200


@pytest.mark.parametrize("points", [100, 5_000, 50_000])
def test_a_gap_of_all_seeds_breaks_the_mean(points: int) -> None:
    """Where no seed has a line the mean has none; where one has, the mean is that one's."""
    x = np.arange(points, dtype=float)
    first, second = np.zeros(points), np.full(points, 2.0)
    middle, later = slice(points // 2, points // 2 + 5), slice(points * 3 // 4, points * 7 // 8)
    first[middle] = second[middle] = np.nan
    second[later] = np.nan
    band = mean_band([(x, first), (x, second)], 400)
    assert band is not None
    broken = np.flatnonzero(band.breaks)
    assert len(broken) == 1
    assert band.x[broken[0]] < middle.start
    assert band.x[broken[0] + 1] > middle.stop - 1
    alone = (band.x > later.start + points / 100) & (band.x < later.stop - 1 - points / 100)
    assert (band.mean[alone] == 0).all()
    assert (band.mean[band.x < later.start - points / 100] == 1).all()


def test_without_gaps_nothing_breaks() -> None:
    """Seeds that end at different places are one line up to the last end."""
    x = np.arange(1_000.0)
    band = mean_band([(x, x), (x[:300], x[:300])], 100)
    assert band is not None
    assert not band.breaks.any()
