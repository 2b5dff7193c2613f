"""Texts of trials: states, values and parameters."""

import math
from collections.abc import Sequence
from typing import Any

from mosaic_contracts.sweeps import (
    Choice,
    CurveValue,
    Dimension,
    Objective,
    RunsValue,
    SweepSpec,
    TrialRecord,
    TrialState,
)
from mosaic_gui.state import wording
from mosaic_gui.state.language import mark, tr, tr_mark, tr_n

STATE_WORDS = {
    TrialState.RUNNING: mark("Running"),
    TrialState.COMPLETE: mark("Complete"),
    TrialState.PRUNED: mark("Pruned"),
    TrialState.FAILED: mark("Failed"),
    TrialState.CRASHED: mark("Crashed"),
    TrialState.STOPPED: mark("Stopped"),
    TrialState.STALE: mark("Not checked"),
}
STATE_TONES = {
    TrialState.RUNNING: "accent",
    TrialState.COMPLETE: "ok",
    TrialState.PRUNED: "warn",
    TrialState.FAILED: "bad",
    TrialState.CRASHED: "bad",
    TrialState.STOPPED: "neutral",
    TrialState.STALE: "neutral",
}
"""Colour of a state, as a token's name."""
BAD_STATES = frozenset({TrialState.FAILED, TrialState.CRASHED, TrialState.STOPPED})
_CURVE_VALUES = {
    CurveValue.LAST: mark("mean of the last points"),
    CurveValue.BEST: mark("best point"),
    CurveValue.AREA: mark("area below the curve"),
}
_RUNS_VALUES = {
    RunsValue.IQM: mark("IQM over runs"),
    RunsValue.MEAN: mark("mean over runs"),
    RunsValue.MEDIAN: mark("median over runs"),
    RunsValue.WORST: mark("worst run"),
}


def state_word(state: TrialState) -> str:
    """A state of a trial in a word."""
    return tr_mark(STATE_WORDS[state])


def curve_value_word(value: CurveValue) -> str:
    """How a curve becomes one value, in words."""
    return tr_mark(_CURVE_VALUES[value])


def runs_value_word(value: RunsValue) -> str:
    """How the values of several runs become one, in words."""
    return tr_mark(_RUNS_VALUES[value])


def objective_words(objective: Objective) -> str:
    """What is optimised, in a line."""
    parts = [
        objective.metric,
        curve_value_word(objective.value),
        runs_value_word(objective.over_runs),
    ]
    return " · ".join(parts)


def value_text(value: Any) -> str:
    """A parameter's value as it is shown and copied."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "none" if value is None else str(value)
    return wording.number(float(value)) if isinstance(value, float) else str(value)


def exact_text(value: Any) -> str:
    """A parameter's value with all digits."""
    return "none" if value is None else repr(value) if isinstance(value, float) else str(value)


def objective_value(trial: TrialRecord, place: int = 0) -> float | None:
    """The value of an objective; None: it has none, or none that is finite."""
    if trial.values is None or len(trial.values) <= place:
        return None
    value = trial.values[place]
    return value if math.isfinite(value) else None


def duration_s(trial: TrialRecord, now: float) -> float:
    """Seconds from its start to its end, or to now."""
    return max(0.0, (now if trial.ended is None else trial.ended) - trial.started)


def trial_facts(trial: TrialRecord, objectives: Sequence[Objective]) -> list[str]:
    """A trial in lines: number and state, values, parameters, and why it ended."""
    lines = [tr("Trial {n}: {state}", n=trial.number, state=state_word(trial.state))]
    for place, objective in enumerate(objectives):
        if (value := objective_value(trial, place)) is not None:
            lines.append(f"{objective.metric} {wording.number(value)}")
    lines += [f"{name} {value_text(value)}" for name, value in trial.parameters.items()]
    if trial.reason:
        lines.append(trial.reason)
    return lines


def budget_words(trials: int, seeds: int, environments: int) -> str:
    """`40 trials × 2 seeds = 80 runs`."""
    seeds, environments = max(1, seeds), max(1, environments)
    parts = [tr_n("{n} trial", "{n} trials", trials)]
    if environments > 1:
        parts.append(tr_n("{n} environment", "{n} environments", environments))
    if seeds > 1:
        parts.append(tr_n("{n} seed", "{n} seeds", seeds))
    if len(parts) == 1:
        return parts[0]
    return f"{' × '.join(parts)} = " + tr_n("{n} run", "{n} runs", trials * environments * seeds)


def budget_of(spec: SweepSpec) -> str:
    """The same of a specification."""
    return budget_words(spec.most_trials, len(spec.seeds), len(spec.environments))


def is_logarithmic(dimension: Dimension) -> bool:
    """Whether its values are drawn on a logarithmic scale."""
    return not isinstance(dimension, Choice) and dimension.log
