"""Statistics of returns, along the last axis. Formulas of Agarwal et al. 2021, NeurIPS, sections 4.1 to 4.3."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

Floats = NDArray[np.float64]

_CUT = 0.25
"""Part of the sorted values that the interquartile mean leaves out at either end."""


def mean(values: Floats, axis: int = -1) -> Floats:
    """Return the mean."""
    return _floats(values.mean(axis=axis))


def iqm(values: Floats, axis: int = -1) -> Floats:
    """Return the interquartile mean: of fewer than four values it is the mean."""
    return _floats(stats.trim_mean(values, _CUT, axis=axis))


def median(values: Floats, axis: int = -1) -> Floats:
    """Return the median."""
    return _floats(np.median(values, axis=axis))


def optimality_gap(scores: Floats, axis: int = -1) -> Floats:
    """Return the mean distance to the score 1; a higher score counts as 1."""
    return _floats(1 - np.minimum(scores, 1).mean(axis=axis))


def improvement(first: Floats, second: Floats, axis: int = -1) -> Floats:
    """Return the probability that a value of the first is higher than one of the second; equal ones count half.

    It is the Mann-Whitney U statistic divided by the number of pairs, which ranks make in n log n.
    """
    assert axis == -1  # noqa: S101 - scipy.stats.bootstrap names the axis, which is the last one here
    count, others = first.shape[-1], second.shape[-1]
    ranks = stats.rankdata(np.concatenate([first, second], axis=-1), axis=-1)
    u = ranks[..., :count].sum(axis=-1) - count * (count + 1) / 2
    return _floats(u / (count * others))


def mean_difference(first: Floats, second: Floats, axis: int = -1) -> Floats:
    """Return the mean of the first less the mean of the second."""
    return mean(first, axis) - mean(second, axis)


def iqm_difference(first: Floats, second: Floats, axis: int = -1) -> Floats:
    """Return the interquartile mean of the first less that of the second."""
    return iqm(first, axis) - iqm(second, axis)


def mean_of_tasks(*tasks: Floats, axis: int = -1) -> Floats:
    """Return the mean over tasks of the mean over runs."""
    return _floats(np.mean([mean(task, axis) for task in tasks], axis=0))


def median_of_tasks(*tasks: Floats, axis: int = -1) -> Floats:
    """Return the median over tasks of the mean over runs."""
    return _floats(np.median([mean(task, axis) for task in tasks], axis=0))


def iqm_of_tasks(*tasks: Floats, axis: int = -1) -> Floats:
    """Return the interquartile mean of the runs of all tasks."""
    return iqm(np.concatenate(tasks, axis=axis), axis)


def gap_of_tasks(*tasks: Floats, axis: int = -1) -> Floats:
    """Return the optimality gap over the runs of all tasks."""
    return optimality_gap(np.concatenate(tasks, axis=axis), axis)


def improvement_of_tasks(*tasks: Floats, axis: int = -1) -> Floats:
    """Return the probability of improvement, averaged over tasks.

    Args:
        tasks: first all tasks of the one method, then the same tasks of the other.
        axis: the last one.
    """
    half = len(tasks) // 2
    each = [improvement(*pair, axis) for pair in zip(tasks[:half], tasks[half:], strict=True)]
    return _floats(np.mean(each, axis=0))


def mean_difference_of_tasks(*tasks: Floats, axis: int = -1) -> Floats:
    """Return the difference of the means over tasks; arguments as for `improvement_of_tasks`."""
    half = len(tasks) // 2
    return mean_of_tasks(*tasks[:half], axis=axis) - mean_of_tasks(*tasks[half:], axis=axis)


def iqm_difference_of_tasks(*tasks: Floats, axis: int = -1) -> Floats:
    """Return the difference of the interquartile means over tasks; arguments as for `improvement_of_tasks`."""
    half = len(tasks) // 2
    return iqm_of_tasks(*tasks[:half], axis=axis) - iqm_of_tasks(*tasks[half:], axis=axis)


def _floats(values: Any) -> Floats:
    return np.asarray(values, np.float64)
