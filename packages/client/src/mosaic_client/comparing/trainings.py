"""Groups of trainings that differ in their seed alone, with their episodes by environment step."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from mosaic_client.client import Client
from mosaic_client.comparing.errors import ComparisonRefused, NothingToCompare
from mosaic_contracts.choices import RunKind
from mosaic_contracts.comparisons import (
    ScoreRange,
    TrainingDocument,
    TrainingGroup,
    TrainingRun,
)
from mosaic_contracts.runs import RunView

T = TypeVar("T")
RETURNS = "charts/episodic_return"
"""Metric of runs that record no episodes."""
_MOST_POINTS = 100_000


def find_trainings(client: Client, run_ids: Sequence[str], tags: Sequence[str]) -> list[RunView]:
    """Find the runs that are named, or have all tags.

    Args:
        client: of the stack.
        run_ids: whole ids.
        tags: tags; empty: none is asked for.

    Returns:
        The runs, each once.

    Raises:
        RunUnknown: a run does not exist.
        ComparisonRefused: it is no training.
        NothingToCompare: no training has these tags.
    """
    runs = {run.run_id: run for run in map(client.run, run_ids)}
    for run in runs.values():
        if run.spec.kind is not RunKind.TRAIN:
            raise ComparisonRefused(
                f"{run.run_id} is a run of kind {run.spec.kind.value}, no training. Leave --training out to compare "
                "policies."
            )
    if tags:
        found = client.each_run(kind=RunKind.TRAIN.value, tag=list(tags))
        runs |= {run.run_id: run for run in found}
    if not runs:
        raise NothingToCompare(
            "No training has these tags. `./mosaic ps --kind train --tag TAG` lists them."
            if tags
            else "Name trainings, or give --tag."
        )
    return list(runs.values())


def training_document(
    client: Client,
    runs: Sequence[RunView],
    thresholds: Mapping[str, float],
    score_ranges: Mapping[str, ScoreRange],
) -> TrainingDocument:
    """Return the groups of these runs with their episodes; what is left out is in the notes.

    Raises:
        NothingToCompare: no run recorded an episode.
        ComparisonRefused: a threshold or a range is of an environment that no run has.
    """
    environments = {run.spec.environment for run in runs}
    for name in (*thresholds, *score_ranges):
        if name and name not in environments:
            raise ComparisonRefused(
                f"No run is in {name!r}. There is {', '.join(sorted(environments))}."
            )
    names = _group_names(runs)
    grouped: dict[tuple[str, str], list[TrainingRun]] = {}
    notes: list[str] = []
    for run in runs:
        steps, returns = episodes_by_step(client, run)
        if not returns:
            notes.append(f"{run.run_id} is left out: it recorded no complete episode.")
            continue
        if not run.state.is_final or run.end is None or run.state.value != "succeeded":
            notes.append(f"{run.run_id} is {run.state.value}; its episodes so far are compared.")
        found = TrainingRun(run_id=run.run_id, seed=run.spec.seed, steps=steps, returns=returns)
        grouped.setdefault((names[run.run_id], run.spec.environment), []).append(found)
    if not grouped:
        raise NothingToCompare(f"No complete episode was recorded. {' '.join(notes)}")
    notes += _equal_seeds(grouped)
    return TrainingDocument(
        groups=[
            TrainingGroup(name=name, environment=environment, runs=found)
            for (name, environment), found in grouped.items()
        ],
        thresholds=_for_each(thresholds, environments),
        score_ranges=_for_each(score_ranges, environments),
        notes=notes,
    )


def episodes_by_step(client: Client, run: RunView) -> tuple[list[int], list[float]]:
    """Return environment steps of the whole run and return of each complete episode, in the order of the steps.

    A run that records no episodes has them as points of the metric `charts/episodic_return`.
    """
    offsets = {1: 0} | {each.attempt: each.step for each in run.resumptions}
    points = [
        (row.global_step + offsets.get(row.attempt, 0), float(row.episode_return))
        for row in client.each_episode(run.run_id)
        if row.length is not None
        and row.episode_return is not None
        and row.global_step is not None
        and row.global_step + offsets.get(row.attempt, 0) <= _end_of_attempt(row.attempt, offsets)
    ]
    if not points:
        points = list(metric_points(client, run))
    points.sort(key=lambda point: point[0])
    return [step for step, _ in points], [value for _, value in points]


def _end_of_attempt(attempt: int, offsets: Mapping[int, int]) -> float:
    """Step of the whole run at which the next attempt took over; what came after it was done again."""
    return min((step for number, step in offsets.items() if number > attempt), default=float("inf"))


def metric_points(client: Client, run: RunView) -> Iterator[tuple[int, float]]:
    """Yield step and value of each point of the metric of returns; none where the run has no such metric."""
    if RETURNS not in (metric.name for metric in client.metrics(run.run_id)):
        return
    curve = client.curve(run.run_id, RETURNS, last=_MOST_POINTS)
    for step, value in zip(curve.steps or [], curve.values or [], strict=True):
        if step is not None and value == value:
            yield step, value


def _group_names(runs: Sequence[RunView]) -> dict[str, str]:
    """By run: its algorithm, and the parameters in which runs of this algorithm differ."""
    by_algorithm: dict[str, list[RunView]] = {}
    for run in runs:
        by_algorithm.setdefault(run.spec.algorithm, []).append(run)
    names: dict[str, str] = {}
    for algorithm, alike in by_algorithm.items():
        keys = sorted({key for run in alike for key in run.spec.parameters})
        differing = [key for key in keys if len({_parameter(run, key) for run in alike}) > 1]
        for run in alike:
            words = [f"{key}={_parameter(run, key)}" for key in differing]
            names[run.run_id] = " ".join([algorithm, *words])
    return names


def _parameter(run: RunView, key: str) -> str:
    return json.dumps(run.spec.parameters[key]) if key in run.spec.parameters else "default"


def _equal_seeds(grouped: Mapping[tuple[str, str], Sequence[TrainingRun]]) -> list[str]:
    notes = []
    for (name, environment), runs in grouped.items():
        seeds = [run.seed for run in runs]
        if len(set(seeds)) < len(seeds):
            notes.append(
                f"{name} in {environment}: several runs have the same seed, so that they are no independent samples."
            )
    return notes


def _for_each(given: Mapping[str, T], environments: set[str]) -> dict[str, T]:
    """By environment; what has no name is for each of them."""
    common = dict.fromkeys(environments, given[""]) if "" in given else {}
    return common | {name: value for name, value in given.items() if name}
