"""The small line of returns on a card."""

import struct

import pytest
from tests.checkpoint_specimen import reward_curve

from mosaic_contracts.curve_set import BUCKET_COLUMNS, EPISODE_RETURN, CurveSet, DrawnCurve
from mosaic_gui.state.reward_trend import POINTS, RewardTrend, trend_of

NAN = float("nan")


def curve(reduced: bool = False, **columns: list[float]) -> CurveSet:
    """A curve of returns with these columns."""
    packed = {name: struct.pack(f"<{len(one)}d", *one) for name, one in columns.items()}
    known = DrawnCurve(name=EPISODE_RETURN, points=9, reduced=reduced, columns=packed)
    return CurveSet(run_id="r", names=[], cursor="", curves=[known])


def test_many_episodes_become_a_few_means() -> None:
    """Equal numbers of episodes each, over their steps."""
    found = trend_of(reward_curve())
    assert len(found.values) == len(found.steps) == POINTS
    assert (found.values[0], found.values[-1]) == (2.0, 197.0)
    assert found.steps[0] == 200.0


def test_what_is_no_number_is_left_out() -> None:
    """Points without a step lie at their place."""
    found = trend_of(curve(step=[NAN, NAN, NAN], t=[0.0] * 3, value=[1.0, NAN, 3.0]))
    assert found == RewardTrend((0.0, 2.0), (1.0, 3.0))
    assert trend_of(curve(step=[0.0], t=[0.0], value=[NAN])) == RewardTrend()
    assert trend_of(CurveSet(run_id="r", names=[], cursor="", curves=[])) == RewardTrend()


def test_a_long_run_comes_in_buckets() -> None:
    """The mean of each."""
    columns = {name: [1.0, 2.0] for name in BUCKET_COLUMNS} | {"mean": [5.0, 7.0]}
    assert trend_of(curve(reduced=True, **columns)).values == (5.0, 7.0)


def test_a_curve_that_cannot_be_read_is_refused() -> None:
    """Columns of other lengths are no curve."""
    with pytest.raises(ValueError, match="differ in length"):
        trend_of(curve(step=[0.0], t=[0.0], value=[1.0, 2.0]))
