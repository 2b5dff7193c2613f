"""Statistics of policies that acted in one environment."""

from itertools import combinations

import numpy as np

from mosaic_analysis import estimators
from mosaic_analysis.estimators import Floats
from mosaic_analysis.intervals import estimate, few_samples_note
from mosaic_contracts.comparisons import (
    ActorReturns,
    ActorsDocument,
    ActorsResult,
    ActorStatistics,
    PairStatistics,
    ResamplingFacts,
    ScoreRange,
)


def compare_actors(
    document: ActorsDocument, resampling: ResamplingFacts | None = None
) -> ActorsResult:
    """Return the statistics of each policy and of each pair.

    Args:
        document: at least one return of each policy.
        resampling: how intervals are made; None: the defaults.
    """
    facts = resampling or ResamplingFacts()
    pairs = [_pair(*two, document.environment, facts) for two in combinations(document.actors, 2)]
    return ActorsResult(
        environment=document.environment,
        actors=[_actor(actor, document.score_range, facts) for actor in document.actors],
        pairs=pairs,
        resampling=facts,
        document=document,
        notes=_notes(document, pairs, facts),
    )


def scores_of(returns: Floats, score_range: ScoreRange) -> Floats:
    """Return returns on the scale on which the range is from 0 to 1."""
    return (returns - score_range.low) / (score_range.high - score_range.low)


def _actor(
    actor: ActorReturns, score_range: ScoreRange | None, facts: ResamplingFacts
) -> ActorStatistics:
    returns = np.asarray(actor.returns, np.float64)
    gap = None
    if score_range is not None:
        scores = scores_of(returns, score_range)
        gap = estimate(estimators.optimality_gap, scores, resampling=facts)
    return ActorStatistics(
        name=actor.name,
        episodes=len(returns),
        mean=estimate(estimators.mean, returns, resampling=facts),
        iqm=estimate(estimators.iqm, returns, resampling=facts),
        median=estimate(estimators.median, returns, resampling=facts),
        optimality_gap=gap,
        lowest=float(returns.min()),
        highest=float(returns.max()),
    )


def _pair(
    first: ActorReturns, second: ActorReturns, environment: str, facts: ResamplingFacts
) -> PairStatistics:
    """Compare on the seeds that both have; without any, all returns as independent samples."""
    shared = sorted(set(first.seeds) & set(second.seeds))
    is_paired = bool(shared)
    values = [_on_seeds(actor, shared) for actor in (first, second)]
    one, two = values

    def of(statistic: object) -> object:
        return estimate(statistic, one, two, paired=is_paired, resampling=facts)  # type: ignore[arg-type]

    return PairStatistics.model_validate(
        {
            "first": first.name,
            "second": second.name,
            "environment": environment,
            "seeds": len(shared),
            "samples": [len(one), len(two)],
            "mean_difference": of(estimators.mean_difference),
            "iqm_difference": of(estimators.iqm_difference),
            "improvement": of(estimators.improvement),
            "wins": int((one > two).sum()) if is_paired else None,
            "ties": int((one == two).sum()) if is_paired else None,
            "losses": int((one < two).sum()) if is_paired else None,
        }
    )


def _on_seeds(actor: ActorReturns, seeds: list[int]) -> Floats:
    if not seeds:
        return np.asarray(actor.returns, np.float64)
    by_seed = dict(zip(actor.seeds, actor.returns, strict=True))
    return np.asarray([by_seed[seed] for seed in seeds], np.float64)


def _notes(
    document: ActorsDocument, pairs: list[PairStatistics], facts: ResamplingFacts
) -> list[str]:
    notes = list(document.notes)
    counts = [len(actor.returns) for actor in document.actors]
    few = few_samples_note(counts + [pair.seeds for pair in pairs if pair.seeds], "seeds", facts)
    if few is not None:
        notes.append(few)
    for pair in pairs:
        if not pair.seeds:
            notes.append(f"{pair.first} and {pair.second} share no seeds: they are not paired.")
        elif pair.seeds < max(pair.samples) or pair.seeds < min(_episodes(document, pair)):
            notes.append(
                f"{pair.first} and {pair.second} are compared on the {pair.seeds} seeds that both have."
            )
    if len(document.actors) > 2:
        notes.append(
            f"{len(pairs)} pairs are compared, each with an interval of its own; none is corrected for their number."
        )
    return notes


def _episodes(document: ActorsDocument, pair: PairStatistics) -> list[int]:
    return [len(each.returns) for each in document.actors if each.name in (pair.first, pair.second)]
