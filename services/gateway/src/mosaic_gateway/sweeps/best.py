"""The best trials of a sweep, and the spec of one. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from mosaic_contracts.sweeps import Direction, Objective, SweepSpec, TrialRecord, TrialState

_NAME_LENGTH = 200


def best_trials(
    trials: Iterable[TrialRecord], objectives: Sequence[Objective]
) -> list[TrialRecord]:
    """The best complete trial, the first of equal ones; with two objectives those that no other one beats in both."""
    signs = [-1.0 if one.direction is Direction.MAXIMIZE else 1.0 for one in objectives]
    complete = [
        (trial.values, trial)
        for trial in trials
        if trial.state is TrialState.COMPLETE and trial.values and len(trial.values) == len(signs)
    ]
    if len(signs) == 1:
        best = min(complete, key=lambda one: (signs[0] * one[0][0], one[1].number), default=None)
        return [] if best is None else [best[1]]
    found: list[TrialRecord] = []
    lowest = float("inf")
    for values, trial in sorted(
        complete, key=lambda one: (signs[0] * one[0][0], signs[1] * one[0][1], one[1].number)
    ):
        if signs[1] * values[1] < lowest:
            lowest = signs[1] * values[1]
            found.append(trial)
    return found


def spec_of_trial(sweep: SweepSpec, trial: TrialRecord, name: str) -> dict[str, Any]:
    """The spec of a run with the trial's parameters, in the first environment and with the first seed."""
    spec = {**sweep.run, "parameters": {**sweep.run.get("parameters", {}), **trial.parameters}}
    if sweep.environments:
        spec["environment"] = sweep.environments[0]
    if sweep.seeds:
        spec["seed"] = sweep.seeds[0]
    ending = f" #{trial.number}"
    return {**spec, "name": name[: _NAME_LENGTH - len(ending)] + ending}
