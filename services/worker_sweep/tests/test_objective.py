"""From curves to one value."""

import math

import numpy as np
import pytest

from mosaic_contracts.sweeps import CurveValue, Direction, Objective, RunsValue
from mosaic_worker_sweep.objective import MetricCurve, ObjectiveMissing, finite_value, over_runs


def curve(values: list[float], steps: list[int] | None = None) -> MetricCurve:
    """A curve with a point each ten steps."""
    made = MetricCurve()
    made.extend(steps or [10 * at for at in range(1, len(values) + 1)], values)
    return made


def test_a_curve_becomes_one_value() -> None:
    """Last n, best, and area, of the whole curve and up to a step."""
    made = curve([1.0, 5.0, 3.0, 4.0])
    last = Objective(value=CurveValue.LAST, last=2)
    assert made.value(last) == 3.5
    assert made.value(last, until=20) == 3.0
    assert made.value(last, until=9) is None
    assert made.value(Objective(value=CurveValue.BEST)) == 5.0
    assert made.value(Objective(value=CurveValue.BEST, direction=Direction.MINIMIZE)) == 1.0
    area = Objective(value=CurveValue.AREA)
    assert made.value(area) == pytest.approx((3.0 + 4.0 + 3.5) / 3)
    assert curve([2.0]).value(area) == 2.0
    assert curve([2.0, 4.0], [7, 7]).value(area) == 3.0


def test_a_later_attempt_may_begin_below() -> None:
    """Points are in the order of steps, so that none counts that lies above."""
    made = curve([1.0, 2.0, 3.0])
    made.extend([15, 40], [9.0, 4.0])
    assert made.value(Objective(last=1), until=15) == 9.0
    assert made.value(Objective(last=1)) == 4.0


def test_runs_become_one_value() -> None:
    """IQM is the mean of the middle half; with fewer than four runs the mean."""
    values = [9.0, 1.0, 2.0, 3.0, 100.0, 4.0, 5.0, 0.0]
    assert over_runs(Objective(), values) == np.mean([2, 3, 4, 5])
    assert over_runs(Objective(), [1.0, 2.0, 9.0]) == 4.0
    assert over_runs(Objective(over_runs=RunsValue.MEDIAN), values) == 3.5
    assert over_runs(Objective(over_runs=RunsValue.WORST), values) == 0.0
    worst = Objective(over_runs=RunsValue.WORST, direction=Direction.MINIMIZE)
    assert over_runs(worst, values) == 100.0


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_finite_value_names_the_metric(value: float) -> None:
    """A missing metric says which ones there are."""
    with pytest.raises(ObjectiveMissing, match="episodic_return' of run r1 is"):
        finite_value(Objective(last=2), [("r1", curve([1.0, value]), [])])
    with pytest.raises(ObjectiveMissing, match=r"r2 recorded no metric.*losses/a, losses/b"):
        finite_value(
            Objective(), [("r1", curve([1.0]), []), ("r2", None, ["losses/b", "losses/a"])]
        )
