"""Statistics of groups of trainings: curves, sample efficiency, final returns, and methods over environments."""

from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np

from mosaic_analysis import estimators
from mosaic_analysis.actors import scores_of
from mosaic_analysis.curves import FINAL_PART, Bins
from mosaic_analysis.estimators import Floats
from mosaic_analysis.intervals import Statistic, estimate, estimate_each, few_samples_note
from mosaic_contracts.comparisons import (
    Estimate,
    LearningCurve,
    MethodStatistics,
    PairStatistics,
    ResamplingFacts,
    TrainingDocument,
    TrainingGroup,
    TrainingResult,
    TrainingStatistics,
)

_LATE = 1e100
"""Steps of a run that never reaches its threshold: later than any other, and finite, so that quantiles can be taken."""


@dataclass(frozen=True)
class _Group:
    """A group with its curves, one row a run."""

    given: TrainingGroup
    bins: Bins
    curves: Floats
    final: Floats
    """Final return of each run."""


def compare_groups(
    document: TrainingDocument, resampling: ResamplingFacts | None = None
) -> TrainingResult:
    """Return curves and statistics of each group, of each pair in an environment, and of methods over environments.

    Args:
        document: runs of one environment are compared over the steps of the shortest one.
        resampling: how intervals are made; None: the defaults.
    """
    facts = resampling or ResamplingFacts()
    bins = _bins(document)
    groups = [_binned(group, bins[group.environment]) for group in document.groups]
    notes = [*document.notes, *_length_notes(document)]
    few = few_samples_note([len(group.given.runs) for group in groups], "training runs", facts)
    if few is not None:
        notes.append(few)
    methods, pairs = _over_environments(document, groups, facts)
    if not methods and len(bins) > 1:
        notes.append(
            "There is no mean over environments: give each one a score range, with the same methods in each."
        )
    return TrainingResult(
        groups=[_statistics(group, document, facts) for group in groups],
        curves=[_curve(group, facts) for group in groups],
        methods=methods,
        pairs=_pairs(groups, facts) + pairs,
        resampling=facts,
        notes=notes,
    )


def _bins(document: TrainingDocument) -> dict[str, Bins]:
    """By environment: over the steps that all of its runs have."""
    lengths: dict[str, int] = {}
    for group in document.groups:
        shortest = min(run.steps[-1] for run in group.runs)
        lengths[group.environment] = min(shortest, lengths.get(group.environment, shortest))
    return {name: Bins(max(1, length), document.bins) for name, length in lengths.items()}


def _length_notes(document: TrainingDocument) -> list[str]:
    by_environment: dict[str, list[int]] = {}
    for group in document.groups:
        ends = [run.steps[-1] for run in group.runs]
        by_environment.setdefault(group.environment, []).extend(ends)
    return [
        f"{name}: runs are compared over the {min(ends):,} steps that all have; the longest has {max(ends):,}."
        for name, ends in by_environment.items()
        if max(ends) > min(ends) * (1 + FINAL_PART)
    ]


def _binned(group: TrainingGroup, bins: Bins) -> _Group:
    curves = np.stack([bins.values(run) for run in group.runs])
    return _Group(group, bins, curves, np.asarray([bins.final(curve) for curve in curves]))


def _statistics(
    group: _Group, document: TrainingDocument, facts: ResamplingFacts
) -> TrainingStatistics:
    environment = group.given.environment
    threshold = document.thresholds.get(environment)
    reached, steps = None, None
    if threshold is not None:
        times = np.asarray([group.bins.steps_to(curve, threshold) for curve in group.curves])
        reached = int(np.isfinite(times).sum())
        steps = _finite(
            estimate(estimators.median, np.minimum(times, _LATE), resampling=facts),
            group.bins.ends[-1],
        )
    return TrainingStatistics(
        name=group.given.name,
        environment=environment,
        runs=len(group.curves),
        final=estimate(estimators.iqm, group.final, resampling=facts),
        area=estimate(estimators.iqm, group.curves.mean(axis=1), resampling=facts),
        threshold=threshold,
        reached=reached,
        steps_to_threshold=steps,
    )


def _finite(found: Estimate, last: float) -> Estimate:
    """Take away the ends that lie beyond the last step."""
    ends = (found.value, found.low, found.high)
    value, low, high = (None if end is None or end > last else end for end in ends)
    return Estimate(value=value, low=low, high=high)


def _curve(group: _Group, facts: ResamplingFacts) -> LearningCurve:
    points = estimate_each(estimators.iqm, group.curves.T, resampling=facts)
    return LearningCurve(
        name=group.given.name,
        environment=group.given.environment,
        steps=[round(end) for end in group.bins.ends],
        values=[point.value for point in points if point.value is not None],
        lows=[point.low for point in points],
        highs=[point.high for point in points],
    )


def _pairs(groups: list[_Group], facts: ResamplingFacts) -> list[PairStatistics]:
    """Compare the groups of each environment."""
    pairs = []
    for first, second in combinations(groups, 2):
        if first.given.environment == second.given.environment:
            one, other = _Method.of(first), _Method.of(second)
            pairs.append(_pair(one, other, first.given.environment, facts))
    return pairs


@dataclass(frozen=True)
class _Method:
    name: str
    tasks: list[Floats]
    """Final returns or scores of its runs, by environment."""

    @classmethod
    def of(cls, group: _Group) -> Self:
        return cls(group.given.name, [group.final])


def _pair(
    first: _Method, second: _Method, environment: str, facts: ResamplingFacts
) -> PairStatistics:
    """Compare values by task; seeds of trainings share nothing that would make them pairs."""

    def of(statistic: Statistic) -> Estimate:
        return estimate(statistic, *first.tasks, *second.tasks, resampling=facts)

    return PairStatistics(
        first=first.name,
        second=second.name,
        environment=environment,
        seeds=0,
        samples=[sum(map(len, first.tasks)), sum(map(len, second.tasks))],
        mean_difference=of(estimators.mean_difference_of_tasks),
        iqm_difference=of(estimators.iqm_difference_of_tasks),
        improvement=of(estimators.improvement_of_tasks),
    )


def _over_environments(
    document: TrainingDocument, groups: list[_Group], facts: ResamplingFacts
) -> tuple[list[MethodStatistics], list[PairStatistics]]:
    """Methods over all environments, where each environment has a score range and each method all environments."""
    scores: dict[str, dict[str, Floats]] = {}
    environments = {group.given.environment for group in groups}
    for group in groups:
        score_range = document.score_ranges.get(group.given.environment)
        if score_range is None:
            return [], []
        by_environment = scores.setdefault(group.given.name, {})
        by_environment[group.given.environment] = scores_of(group.final, score_range)
    if len(environments) < 2 or any(set(one) != environments for one in scores.values()):
        return [], []
    order = sorted(environments)
    methods = [_Method(name, [one[each] for each in order]) for name, one in scores.items()]
    pairs = [_pair(*two, "", facts) for two in combinations(methods, 2)]
    return [_method(method, facts) for method in methods], pairs


def _method(method: _Method, facts: ResamplingFacts) -> MethodStatistics:
    def of(statistic: Statistic) -> Estimate:
        return estimate(statistic, *method.tasks, resampling=facts)

    return MethodStatistics(
        name=method.name,
        environments=len(method.tasks),
        mean=of(estimators.mean_of_tasks),
        iqm=of(estimators.iqm_of_tasks),
        median=of(estimators.median_of_tasks),
        optimality_gap=of(estimators.gap_of_tasks),
    )
