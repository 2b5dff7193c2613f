"""From the curves of a trial's runs to the value of an objective."""

import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from mosaic_contracts.sweeps import CurveValue, Direction, Objective, RunsValue


class ObjectiveMissing(ValueError):
    """An objective has no finite value; the message names the metric."""


class MetricCurve:
    """Points of one metric of one run, in the order of steps."""

    def __init__(self) -> None:
        self._steps: list[int] = []
        self._values: list[float] = []

    @property
    def last_step(self) -> int | None:
        """Step of the last point; None: there is none."""
        return self._steps[-1] if self._steps else None

    def extend(self, steps: Sequence[int], values: Sequence[float]) -> None:
        """Add points. A later attempt of a run may begin below the last step."""
        is_behind = bool(self._steps and steps and steps[0] < self._steps[-1])
        self._steps += steps
        self._values += values
        if is_behind:
            order = sorted(range(len(self._steps)), key=self._steps.__getitem__)
            self._steps = [self._steps[at] for at in order]
            self._values = [self._values[at] for at in order]

    def value(self, objective: Objective, until: int | None = None) -> float | None:
        """Return one value for the curve up to a step; None: it has no point there.

        Args:
            objective: says how.
            until: the last step that counts; None: all do.
        """
        count = len(self._steps) if until is None else bisect_right(self._steps, until)
        if not count:
            return None
        if objective.value is CurveValue.AREA:
            return _area(np.asarray(self._steps[:count]), np.asarray(self._values[:count]))
        first = max(count - objective.last, 0) if objective.value is CurveValue.LAST else 0
        values = np.asarray(self._values[first:count])
        with np.errstate(invalid="ignore", over="ignore"):
            if objective.value is CurveValue.LAST:
                return float(values.mean())
            return float(
                values.max() if objective.direction is Direction.MAXIMIZE else values.min()
            )


def _area(steps: "np.ndarray[tuple[int], np.dtype[np.int64]]", values: "_Floats") -> float:
    """Mean over steps by the trapezoidal rule."""
    span = float(steps[-1] - steps[0])
    with np.errstate(invalid="ignore", over="ignore"):
        if not span:
            return float(values.mean())
        return float(np.trapezoid(values, steps) / span)


_Floats = np.ndarray[tuple[int], np.dtype[np.float64]]


def over_runs(objective: Objective, values: Sequence[float]) -> float:
    """Return one value for the values of all runs of a trial."""
    found = np.sort(np.asarray(values))
    with np.errstate(invalid="ignore", over="ignore"):
        if objective.over_runs is RunsValue.MEDIAN:
            return float(np.median(found))
        if objective.over_runs is RunsValue.WORST:
            return float(found[0 if objective.direction is Direction.MAXIMIZE else -1])
        cut = len(found) // 4 if objective.over_runs is RunsValue.IQM else 0
        return float(found[cut : len(found) - cut].mean())


def finite_value(
    objective: Objective, curves: Sequence[tuple[str, MetricCurve | None, Sequence[str]]]
) -> float:
    """Return the objective of a trial whose runs have all ended.

    Args:
        objective: one of the sweep.
        curves: name of each run, its curve of the objective's metric, and the names of all of its metrics.

    Raises:
        ObjectiveMissing: a run has no point of the metric, or the value is not finite.
    """
    values = []
    for name, curve, metrics in curves:
        value = None if curve is None else curve.value(objective)
        if value is None:
            known = ", ".join(sorted(metrics)) or "no metric"
            raise ObjectiveMissing(
                f"Run {name} recorded no metric {objective.metric!r}. It recorded: {known}."
            )
        if not math.isfinite(value):
            raise ObjectiveMissing(f"Metric {objective.metric!r} of run {name} is {value}.")
        values.append(value)
    whole = over_runs(objective, values)
    if not math.isfinite(whole):
        raise ObjectiveMissing(f"Metric {objective.metric!r} is {whole} over the runs.")
    return whole
