"""A comparison of two checkpoints and random actions, as the comparer reports it."""

from itertools import combinations
from typing import Any

from tests.specimen import run_id

from mosaic_contracts.comparisons import (
    ActorReturns,
    ActorsDocument,
    ActorsResult,
    ActorStatistics,
    Estimate,
    PairStatistics,
    ResamplingFacts,
    TrainingResult,
)

SEEDS = 24
MEANS = {"ppo": 200.0, "dqn best": 195.0, "random": 20.0}


def estimate(value: float, width: float) -> Estimate:
    """A value with its interval."""
    return Estimate(value=value, low=value - width, high=value + width)


def returns(name: str, n: int, seeds: int = SEEDS) -> ActorReturns:
    """Returns of the n-th actor."""
    return ActorReturns(
        name=name,
        returns=[MEANS[name] + seed for seed in range(seeds)],
        seeds=list(range(1, seeds + 1)),
        places=[(1, 0, seed) for seed in range(seeds)],
        run_id=run_id(50 + n),
    )


def policies(seeds: int = SEEDS, **fields: Any) -> ActorsResult:
    """PPO and DQN are alike, and both are better than chance."""
    actors = [
        ActorStatistics(
            name=name,
            episodes=seeds,
            mean=estimate(mean, 9),
            iqm=estimate(mean, 8),
            median=estimate(mean, 7),
            lowest=mean,
            highest=mean + seeds,
        )
        for name, mean in MEANS.items()
    ]
    pairs = [
        PairStatistics(
            first=first,
            second=second,
            environment="CartPole-v1",
            seeds=seeds,
            samples=[seeds, seeds],
            mean_difference=estimate(MEANS[first] - MEANS[second], 12),
            iqm_difference=estimate(MEANS[first] - MEANS[second], 12),
            improvement=estimate(0.6, 0.2),
            wins=seeds,
            ties=0,
            losses=0,
        )
        for first, second in combinations(MEANS, 2)
    ]
    made = ActorsResult(
        environment="CartPole-v1",
        actors=actors,
        pairs=pairs,
        resampling=ResamplingFacts(),
        document=ActorsDocument(
            environment="CartPole-v1",
            actors=[returns(name, n, seeds) for n, name in enumerate(MEANS)],
        ),
        notes=["Too few seeds: take more.", "Versions of gymnasium: 1 (ppo)."],
    )
    return made.model_copy(update=fields)


def trainings() -> TrainingResult:
    """One group."""
    group = {"name": "ppo", "environment": "CartPole-v1", "runs": 3}
    group |= {"final": {"value": 9.0}, "area": {"value": 5.0}, "threshold": 8.0, "reached": 2}
    found = {
        "groups": [group | {"steps_to_threshold": {"value": 4_000.0}}],
        "curves": [],
        "methods": [],
        "pairs": [],
        "resampling": {},
        "notes": [],
    }
    return TrainingResult.model_validate(found)
