"""Intervals by the bootstrap (`scipy.stats.bootstrap`), and when there are too few samples for one."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from mosaic_analysis.estimators import Floats
from mosaic_contracts.comparisons import ENOUGH_SEEDS, Estimate, ResamplingFacts

Statistic = Callable[..., Floats]

_BATCH = 1000
"""Resamples in memory at once."""
_COVERAGE = ((3, 75), (5, 84), (10, 92), (15, 92))
"""Number of samples, and how often an interval that says 95 % then holds the true mean: measured for normal returns
by `benchmarks/interval_coverage.py` (docs/compare.md#too-few-seeds)."""


def estimate(
    statistic: Statistic,
    *samples: Floats,
    paired: bool = False,
    resampling: ResamplingFacts,
) -> Estimate:
    """Return a statistic with its interval.

    Args:
        statistic: takes as many arrays as there are samples, and reduces their last axis.
        samples: resampled independently of each other: one for each environment is the stratified bootstrap.
        paired: the samples have equally many values, and those at one place are resampled together.
        resampling: method, confidence, number and seed.
    """
    value = statistic(*samples)
    if min(len(sample) for sample in samples) < 2:
        return Estimate(value=_number(value))
    low, high = _interval(statistic, samples, paired, resampling)
    return Estimate(value=_number(value), low=_number(low), high=_number(high))


def estimate_each(
    statistic: Statistic, rows: Floats, *, resampling: ResamplingFacts
) -> list[Estimate]:
    """Return the statistic of each row with its interval; all rows are resampled at the same places."""
    values = statistic(rows)
    if rows.shape[-1] < 2:
        return [Estimate(value=_number(value)) for value in values]
    ends = _interval(statistic, [rows], False, resampling)
    return [
        Estimate(value=_number(value), low=_number(low), high=_number(high))
        for value, low, high in zip(values, *ends, strict=True)
    ]


def _interval(
    statistic: Statistic, samples: Sequence[Floats], paired: bool, resampling: ResamplingFacts
) -> tuple[Any, Any]:
    found: Any = stats.bootstrap(
        samples,
        statistic,
        paired=paired,
        vectorized=True,
        axis=-1,
        n_resamples=resampling.resamples,
        batch=_BATCH,
        confidence_level=resampling.confidence,
        method=resampling.method,
        rng=np.random.default_rng(resampling.seed),
    )
    return found.confidence_interval.low, found.confidence_interval.high


def few_samples_note(counts: Sequence[int], what: str, facts: ResamplingFacts) -> str | None:
    """Return what must be said of intervals of so few samples; None: there are enough.

    Args:
        counts: number of samples of each actor or group.
        what: what a sample is, in the plural: `seeds`, `training runs`.
        facts: how intervals are made.
    """
    fewest = min(counts)
    if fewest >= ENOUGH_SEEDS:
        return None
    if fewest < 2:
        return f"Too few {what}: one value has no interval. Take at least {ENOUGH_SEEDS}."
    confidence = f"{facts.confidence * 100:g} %"
    covers = max((percent for count, percent in _COVERAGE if count <= fewest), default=None)
    if covers is None:
        holds = f"holds the true value in fewer than {_COVERAGE[0][1]} of 100 cases"
    else:
        holds = f"holds the true value in about {covers} of 100 cases"
    return (
        f"Too few {what}: with {fewest} the intervals are too narrow (one that says {confidence} {holds}). "
        f"Take at least {ENOUGH_SEEDS}."
    )


def _number(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
