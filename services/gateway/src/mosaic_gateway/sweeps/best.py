"""The best trials of a sweep, and the spec of one. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from mosaic_contracts.sweeps import Direction, Objective, SweepSpec, TrialRecord, TrialState

_NAME_LENGTH = 200


def best_trials(
    trials: Iterable[TrialRecord], objectives: Sequence[Objective]
) -> list[TrialRecord]:
    """The best complete trial, the first of equal ones; with two objectives those that no other one beats in both."""
    count = len(objectives)
    signs = [-1.0 if one.direction is Direction.MAXIMIZE else 1.0 for one in objectives]
    costs = sorted(
        (
            [sign * value for sign, value in zip(signs, trial.values, strict=True)],
            trial.number,
            trial,
        )
        for trial in trials
        if trial.state is TrialState.COMPLETE and trial.values and len(trial.values) == count
    )
    if count == 1:
        return [trial for _, _, trial in costs[:1]]
    found: list[TrialRecord] = []
    lowest = float("inf")
    for (_, second), _, trial in costs:
        if second < lowest:
            lowest = second
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
