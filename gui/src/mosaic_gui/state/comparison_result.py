"""The result of a comparison in words and rows."""

from __future__ import annotations

from collections.abc import Sequence

from mosaic_contracts.comparison_orders import ActorProgress
from mosaic_contracts.comparison_words import estimate_text, number_text
from mosaic_contracts.comparisons import (
    ActorReturns,
    ActorsResult,
    PairStatistics,
    TrainingResult,
)
from mosaic_gui.state import wording
from mosaic_gui.state.episode_list import EpisodeAddress
from mosaic_gui.state.language import tr

Rows = list[tuple[str, ...]]
_MOST_NAMED = 3
"""Differences that a sentence names; of more the table has all."""


def actor_rows(result: ActorsResult) -> Rows:
    """A row for each actor: name, episodes, mean, interquartile mean and median, with their intervals."""
    return [
        (
            actor.name,
            wording.count(actor.episodes),
            *(estimate_text(each) for each in (actor.mean, actor.iqm, actor.median)),
        )
        for actor in result.actors
    ]


def group_rows(result: TrainingResult) -> Rows:
    """A row for each group of trainings: name, environment, runs, final return and mean return over all steps."""
    return [
        (
            group.name,
            group.environment,
            wording.count(group.runs),
            estimate_text(group.final),
            estimate_text(group.area),
            _threshold_text(group.reached, group.runs, estimate_text(group.steps_to_threshold)),
        )
        for group in result.groups
    ]


def pair_rows(pairs: Sequence[PairStatistics]) -> Rows:
    """A row for each pair: both names, verdict, difference, probability of improvement, and wins."""
    return [
        (
            tr("{first} – {second}", first=pair.first, second=pair.second),
            verdict_text(pair),
            estimate_text(pair.mean_difference),
            estimate_text(pair.improvement, decimals=2),
            _wins_text(pair),
        )
        for pair in pairs
    ]


def verdict_text(pair: PairStatistics) -> str:
    """What the interval of the difference says."""
    if not pair.is_decidable:
        return tr("too few samples")
    if pair.higher is None:
        return tr("no clear difference")
    return tr("{name} is higher", name=pair.higher)


def headline(names: Sequence[str], pairs: Sequence[PairStatistics]) -> str:
    """The verdict over all pairs, in a sentence."""
    if all(not pair.is_decidable for pair in pairs):
        return tr("Too few samples: nothing can be said about which one is better.")
    for name in names:
        mine = [pair for pair in pairs if name in (pair.first, pair.second)]
        if mine and all(pair.higher == name for pair in mine):
            return tr("{name} has the highest mean return.", name=name)
    found = [pair for pair in pairs if pair.higher is not None]
    if not found:
        return tr("No clear difference between any two of them.")
    if len(found) > _MOST_NAMED:
        return tr(
            "{n} of {total} pairs differ, and none is higher than all others.",
            n=len(found),
            total=len(pairs),
        )
    words = [
        tr(
            "{first} is higher than {second}",
            first=pair.higher,
            second=pair.second if pair.higher == pair.first else pair.first,
        )
        for pair in found
    ]
    return tr("{differences}; otherwise no clear difference.", differences="; ".join(words))


def progress_words(row: ActorProgress, episodes: int) -> str:
    """How far one evaluation is."""
    if row.problem:
        return row.problem
    if row.is_reused:
        return tr("recorded before")
    if row.episodes:
        return tr(
            "{n} of {total} episodes",
            n=wording.count(row.episodes),
            total=wording.count(episodes),
        )
    return row.state


def seed_rows(result: ActorsResult) -> list[tuple[int, tuple[str, ...]]]:
    """Each seed that at least two actors have, with the returns of all actors on it."""
    actors = result.document.actors
    by_seed = [_by_seed(actor) for actor in actors]
    seeds = sorted({seed for found in by_seed for seed in found})
    return [
        (seed, tuple(number_text(found.get(seed)) for found in by_seed))
        for seed in seeds
        if sum(seed in found for found in by_seed) > 1
    ]


def episodes_of_seed(result: ActorsResult, seed: int) -> list[EpisodeAddress]:
    """The recorded episode of each actor on a seed, as far as they are known."""
    found = []
    for actor in result.document.actors:
        if actor.run_id is None or not actor.places or seed not in actor.seeds:
            continue
        attempt, env, episode = actor.places[actor.seeds.index(seed)]
        found.append(EpisodeAddress(actor.run_id, attempt, env, episode))
    return found


def _by_seed(actor: ActorReturns) -> dict[int, float]:
    return dict(zip(actor.seeds, actor.returns, strict=False))


def _wins_text(pair: PairStatistics) -> str:
    if not pair.seeds:
        return tr("not paired")
    return f"{pair.wins} / {pair.ties} / {pair.losses}"


def _threshold_text(reached: int | None, runs: int, steps: str) -> str:
    if reached is None:
        return wording.NOTHING
    return tr("{steps} ({n} of {runs})", steps=steps, n=reached, runs=runs)
