"""The parameters of a sweep as Optuna knows them, and the choice of one trial's parameters."""

import json
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

import optuna

from mosaic_contracts.sweeps import (
    Choice,
    Dimension,
    FloatRange,
    IntRange,
    SweepValue,
    count_values,
)

Label = bool | int | float | str | None
"""A value of a categorical parameter in the study."""


def choose_parameters(
    trial: optuna.Trial, parameters: Mapping[str, Dimension]
) -> dict[str, SweepValue]:
    """Return a value of each parameter whose condition holds, and store them in the trial.

    Values that the trial has already are returned as they are, so that a choice that was cut short can be repeated.
    """
    chosen: dict[str, SweepValue] = {}
    for name in _in_order(parameters):
        dimension = parameters[name]
        when = dimension.when
        if when is None or any(
            _is_same(chosen[when.parameter], value)
            for value in (when.values if when.parameter in chosen else [])
        ):
            chosen[name] = _suggest(trial, name, dimension)
    return chosen


def parameters_of(
    stored: Mapping[str, Label], parameters: Mapping[str, Dimension]
) -> dict[str, SweepValue]:
    """Return the parameters of a stored trial with the values that its runs get."""
    values: dict[str, SweepValue] = {}
    for name, value in stored.items():
        dimension = parameters.get(name)
        values[name] = value
        if isinstance(dimension, Choice):
            found = dict(zip(_labels(dimension), dimension.choices, strict=True))
            values[name] = found.get(value, value)
    return values


def stored_values(
    given: Mapping[str, SweepValue], parameters: Mapping[str, Dimension]
) -> dict[str, Label]:
    """Return values of parameters as the study stores them."""
    stored: dict[str, Label] = dict(given)
    for name, value in given.items():
        dimension = parameters[name]
        if isinstance(dimension, Choice):
            place = next(i for i, each in enumerate(dimension.choices) if _is_same(each, value))
            stored[name] = _labels(dimension)[place]
    return stored


def grid_of(parameters: Mapping[str, Dimension]) -> dict[str, Sequence[Label]]:
    """Return all values of each parameter of a grid."""
    return {name: _grid_values(dimension) for name, dimension in parameters.items()}


def _grid_values(dimension: Dimension) -> Sequence[Label]:
    if isinstance(dimension, Choice):
        return _labels(dimension)
    count = count_values(dimension)
    if isinstance(dimension, IntRange):
        return [dimension.low + at * dimension.step for at in range(count)]
    low, step = Decimal(str(dimension.low)), Decimal(str(dimension.step))
    return [float(low + at * step) for at in range(count)]


def _suggest(trial: optuna.Trial, name: str, dimension: Dimension) -> SweepValue:
    if isinstance(dimension, Choice):
        labels = _labels(dimension)
        label = trial.suggest_categorical(name, labels)
        return dict(zip(labels, dimension.choices, strict=True))[label]
    if isinstance(dimension, IntRange):
        return trial.suggest_int(
            name,
            dimension.low,
            dimension.high - (dimension.high - dimension.low) % dimension.step,
            log=dimension.log,
            step=dimension.step,
        )
    return trial.suggest_float(
        name, dimension.low, _highest(dimension), log=dimension.log, step=dimension.step
    )


def _highest(dimension: FloatRange) -> float:
    """The greatest value that the steps reach."""
    if dimension.step is None:
        return dimension.high
    low, step = Decimal(str(dimension.low)), Decimal(str(dimension.step))
    return float(low + (count_values(dimension) - 1) * step)


def _labels(dimension: Choice) -> list[Label]:
    """The choices as the study stores them: as text where some are equal in Python, such as 1 and true."""
    choices = dimension.choices
    if len(set(choices)) == len(choices):
        return list(choices)
    return [json.dumps(choice) for choice in choices]


def _is_same(one: object, other: object) -> bool:
    """Whether two values are equal, where a bool equals no number."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _in_order(parameters: Mapping[str, Dimension]) -> Iterator[str]:
    """Names, each after the one that its condition names."""
    waiting = list(parameters)
    done: set[str] = set()
    while waiting:
        for name in list(waiting):
            when = parameters[name].when
            if when is None or when.parameter in done:
                waiting.remove(name)
                done.add(name)
                yield name
