"""Figures against those worked out by hand, and against those of rliable 1.2.0 (`against_rliable.py`)."""

import numpy as np
import pytest
from tests.against_rliable import FIRST, SECOND

from mosaic_analysis import estimators
from mosaic_analysis.actors import compare_actors
from mosaic_analysis.intervals import Statistic, estimate
from mosaic_analysis.sameness import compare_trainings
from mosaic_analysis.trainings import compare_groups
from mosaic_contracts.comparisons import (
    ActorReturns,
    ActorsDocument,
    ResamplingFacts,
    SamenessDocument,
    ScoreRange,
    TrainingDocument,
    TrainingGroup,
    TrainingRun,
)

FACTS = ResamplingFacts()


def actor(name: str, returns: list[float], first_seed: int | None = 1) -> ActorReturns:
    """A policy with consecutive seeds."""
    seeds = [] if first_seed is None else list(range(first_seed, first_seed + len(returns)))
    return ActorReturns(name=name, returns=returns, seeds=seeds)


def test_statistics_of_one_policy_by_hand() -> None:
    """1 to 8: the middle half is 3, 4, 5, 6; half of the scores are cut at the range's top."""
    document = ActorsDocument(
        environment="E-v0",
        actors=[actor("a", [8, 1, 2, 7, 3, 6, 4, 5]), actor("b", [0.0] * 8)],
        score_range=ScoreRange(low=0, high=4),
    )
    found = compare_actors(document).actors[0]
    assert (found.mean.value, found.iqm.value, found.median.value) == (4.5, 4.5, 4.5)
    assert (found.lowest, found.highest) == (1, 8)
    assert found.optimality_gap is not None
    assert found.optimality_gap.value == pytest.approx((3 + 2 + 1) / 4 / 8)
    zero = compare_actors(document).actors[1]
    assert (zero.mean.low, zero.mean.high) == (0, 0)  # equal returns have an interval of no width


def test_a_pair_is_compared_on_equal_seeds() -> None:
    """Seeds 3 to 6 are shared: differences 1, 1, 0, 2; of 16 pairs of returns 12 are higher and 2 equal."""
    document = ActorsDocument(
        environment="E-v0", actors=[actor("a", [9, 9, 5, 6, 7, 9]), actor("b", [4, 5, 7, 7, 0], 3)]
    )
    result = compare_actors(document)
    (pair,) = result.pairs
    assert (pair.seeds, pair.samples) == (4, [4, 4])
    assert (pair.wins, pair.ties, pair.losses) == (3, 1, 0)
    assert pair.mean_difference.value == 1
    # 5: above 4; equal 5. 6: above 4, 5. 7: above 4, 5; equal twice. 9: above all
    assert pair.improvement.value == pytest.approx((1.5 + 2 + 3 + 4) / 16)
    # resampled pair by pair: no resample has a mean difference outside of 0 to 2
    assert pair.mean_difference.low is not None
    assert pair.mean_difference.low >= 0
    assert pair.higher is None  # four pairs are too few, however they turn out
    assert any("on the 4 seeds that both have" in note for note in result.notes)
    assert any(note.startswith("Too few seeds: with 4") for note in result.notes)


def test_without_shared_seeds_a_pair_is_unpaired_and_said() -> None:
    """All returns count, the numbers may differ, and the note says so."""
    result = compare_actors(
        ActorsDocument(
            environment="E-v0",
            actors=[actor("a", [10.0, 11, 12, 13] * 6), actor("b", [1.0, 2, 3] * 8, None)],
            notes=["of the caller"],
        )
    )
    (pair,) = result.pairs
    assert (pair.seeds, pair.samples, pair.wins) == (0, [24, 24], None)
    assert pair.higher == "a"
    assert result.notes == ["of the caller", "a and b share no seeds: they are not paired."]


def test_one_return_has_no_interval() -> None:
    """It is said, and no verdict is made."""
    result = compare_actors(
        ActorsDocument(environment="E-v0", actors=[actor("a", [1]), actor("b", [2])])
    )
    assert result.actors[0].mean.low is None
    assert result.pairs[0].higher is None
    assert result.notes == ["Too few seeds: one value has no interval. Take at least 20."]


RLIABLE: tuple[tuple[Statistic, float, float, float], ...] = (
    (estimators.mean_of_tasks, 0.626875, 0.503125, 0.748125),
    (estimators.median_of_tasks, 0.626875, 0.503125, 0.748125),
    (estimators.iqm_of_tasks, 0.62875, 0.46125, 0.79625),
    (estimators.gap_of_tasks, 0.373125, 0.251875, 0.496875),
)


@pytest.mark.parametrize(("statistic", "value", "low", "high"), RLIABLE)
def test_figures_are_those_of_rliable(
    statistic: Statistic, value: float, low: float, high: float
) -> None:
    """Stratified by environment; ends agree within what 10,000 resamples leave open."""
    found = estimate(statistic, *FIRST.T, resampling=FACTS)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.low == pytest.approx(low, abs=0.01)
    assert found.high == pytest.approx(high, abs=0.01)


def test_the_probability_of_improvement_is_that_of_rliable() -> None:
    """Averaged over environments, both methods resampled."""
    found = estimate(estimators.improvement_of_tasks, *FIRST.T, *SECOND.T, resampling=FACTS)
    assert found.value == pytest.approx(0.74609375, abs=1e-12)
    assert found.low == pytest.approx(0.5625, abs=0.01)
    assert found.high == pytest.approx(0.8984, abs=0.01)


def training(seed: int, returns: list[float], length: int = 10) -> TrainingRun:
    """Episodes of equal length."""
    steps = [length * number for number in range(1, len(returns) + 1)]
    return TrainingRun(run_id=f"R{seed}", seed=seed, steps=steps, returns=returns)


def test_curves_and_sample_efficiency_by_hand() -> None:
    """Two bins of 20 steps; a threshold that one of three runs does not reach; a longer run is cut, which is said."""
    runs = [training(1, [0, 2, 4, 6]), training(2, [0, 0, 1, 1]), training(3, [4, 4, 8, 8, 8, 8])]
    group = TrainingGroup(name="ppo", environment="E-v0", runs=runs)
    result = compare_groups(TrainingDocument(groups=[group], thresholds={"E-v0": 4}, bins=2))
    (found,), (curve,) = result.groups, result.curves
    assert curve.steps == [20, 40]
    assert curve.values == pytest.approx([(1 + 0 + 4) / 3, (5 + 1 + 8) / 3])
    assert found.final.value == pytest.approx((5 + 1 + 8) / 3)
    assert found.area.value == pytest.approx((3 + 0.5 + 6) / 3)
    assert found.reached == 2
    assert found.steps_to_threshold is not None
    assert found.steps_to_threshold.value == 40  # of 40, never, 20
    assert found.steps_to_threshold.high is None
    assert result.pairs == []
    assert any(
        "over the 40 steps that all have; the longest has 60" in each for each in result.notes
    )


def test_a_bin_without_an_end_takes_the_value_before_it() -> None:
    """Those before the first end take the first."""
    run = TrainingRun(run_id="R", seed=1, steps=[15, 40], returns=[3, 5])
    group = TrainingGroup(name="a", environment="E-v0", runs=[run])
    (curve,) = compare_groups(TrainingDocument(groups=[group], bins=4)).curves
    assert curve.values == [3, 3, 3, 5]
    assert curve.lows == [None] * 4


def test_methods_are_compared_over_environments_by_score() -> None:
    """With a range for each environment; without one there is no mean over them, and it is said."""
    groups = [
        TrainingGroup(name=name, environment=environment, runs=[training(seed, [top + seed] * 4) for seed in range(4)])
        for name, top in (("ppo", 50.0), ("dqn", 10.0))
        for environment in ("A-v0", "B-v0")
    ]  # fmt: skip
    ranges = {"A-v0": ScoreRange(high=100), "B-v0": ScoreRange(high=50)}
    result = compare_groups(TrainingDocument(groups=groups, score_ranges=ranges))
    ppo = result.methods[0]
    assert ppo.mean.value == pytest.approx((0.515 + 1.03) / 2)
    assert [pair.environment for pair in result.pairs] == ["A-v0", "B-v0", ""]
    assert [pair.higher for pair in result.pairs] == ["ppo"] * 3
    without = compare_groups(TrainingDocument(groups=groups))
    assert without.methods == []
    assert any("give each one a score range" in note for note in without.notes)


def test_sameness_of_two_trainings() -> None:
    """Draws of one distribution are the same, shifted ones are not, and few episodes say nothing."""
    draws = np.random.default_rng(1).normal(size=(2, 100)).tolist()
    assert compare_trainings(SamenessDocument(first=draws[0], second=draws[1])).is_same
    shifted = [value + 2 for value in draws[1]]
    assert not compare_trainings(SamenessDocument(first=draws[0], second=shifted)).is_same
    few = compare_trainings(SamenessDocument(first=[1.0] * 19, second=[1.0] * 19))
    assert (few.p_value, few.is_same) == (None, False)
