"""Steps that go back: which points are a pass of their own, and which only came late."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic_gui.state.passes import find_passes, split, superseded
from mosaic_gui.state.series import PointSeries
from mosaic_gui.state.smoothing import Smoother


@pytest.mark.parametrize(
    ("steps", "begins"),
    [
        ([], [0]),
        ([5], [0]),
        ([1, 2, 2, 3], [0]),
        ([*range(0, 1201, 100), *range(900, 1701, 100)], [0, 13]),
        ([*range(1201), *range(900, 1701)], [0, 1201]),
        ([*range(5), *range(5), *range(5)], [0, 5, 10]),
        ([0, 0, 0, 0], [0]),
        (
            [3, 2, 1, 0],
            [0, 1],
        ),  # falling without end: the rest is one pass, in the order of its steps
        ([10, 30, 20, 40, 35, 50], [0]),
        ([10, 30, 20, 25, 40], [0]),
        ([10, 30, 20, 25], [0]),  # two points are no pass yet
        ([10, 30, 20, 25, 28], [0, 2]),
        ([0, 1, 2, 3, 2, 3, 4, 5, 1, 2, 3], [0, 8]),
    ],
)
def test_a_pass_begins_where_steps_stay_behind(steps: list[int], begins: list[int]) -> None:
    """Three points in a row below what was reached are a pass; fewer of them came late."""
    assert find_passes(np.array(steps, float)) == begins


@given(st.lists(st.integers(0, 30), max_size=60))
def test_every_point_is_in_one_part_at_its_own_step(steps: list[int]) -> None:
    """Parts hold each point once, at the step that it was reported with, and their steps rise."""
    own = np.array(steps, float)
    parts = split(own)
    places = [np.arange(len(own))[part.places] for part in parts]
    assert sorted(np.concatenate(places).tolist()) == list(range(len(own)))
    for part, place in zip(parts, places, strict=True):
        assert part.x.tolist() == own[place].tolist()
        assert (np.diff(part.x) >= 0).all()


def test_a_hundred_thousand_falls_take_no_time() -> None:
    """Steps in a random order are split in the time of a look at each."""
    parts = split(np.random.default_rng(0).integers(0, 10**6, 100_000).astype(float))
    assert sum(len(part.x) for part in parts) == 100_000


def test_as_one_history_only_what_holds_stays() -> None:
    """The steps before the later pass's first step are left of an earlier pass, over any number of passes."""
    steps = np.array([*range(10), *range(6, 14), *range(3, 5), 5], float)
    parts = superseded(split(steps))
    assert [part.x.tolist() for part in parts] == [[0, 1, 2], [3, 4, 5]]
    assert np.concatenate([steps[part.places] for part in parts]).tolist() == [0, 1, 2, 3, 4, 5]


def test_each_pass_is_smoothed_on_its_own() -> None:
    """The smooth line of a pass begins with its own first value, also where the past was thinned."""
    series = PointSeries()
    steps = [*range(100), *range(50, 120)]
    values = [0.0] * 100 + [10.0] * 70
    series.extend(steps, [float(n) for n in range(170)], values)
    assert series.smoothed_apart(0.9, [0, 100]) == pytest.approx(values)
    noise = np.random.default_rng(1).normal(size=170)
    series = PointSeries()
    series.extend(steps, np.arange(170.0), noise)
    whole = np.concatenate([Smoother(0.9).extend(noise[:100]), Smoother(0.9).extend(noise[100:])])
    assert series.smoothed_apart(0.9, [0, 100]) == pytest.approx(whole)
