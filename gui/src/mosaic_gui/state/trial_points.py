"""Trials as columns of numbers, for charts: each record that comes changes one row of them."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mosaic_contracts.sweeps import (
    Choice,
    Dimension,
    Direction,
    Objective,
    TrialRecord,
    TrialState,
)
from mosaic_gui.state.trial_words import exact_text, is_logarithmic, objective_value

Floats = NDArray[np.float64]
STATES = list(TrialState)
_FIRST = 256
"""Rows for which there is space at the beginning; it is doubled when it is used up."""


class TrialAxis:
    """A parameter as an axis: its values become places on it."""

    def __init__(self, name: str, dimension: Dimension) -> None:
        self.name = name
        self.is_log = is_logarithmic(dimension)
        self.choices: list[str] | None = None
        """Texts of the choices, whose places are 0, 1, 2 ...; None: a range of numbers."""
        if isinstance(dimension, Choice):
            self.choices = [exact_text(choice) for choice in dimension.choices]
            self.low, self.high = 0.0, float(max(1, len(self.choices) - 1))
        else:
            self.low, self.high = self.at(dimension.low), self.at(dimension.high)
        if self.high <= self.low:
            self.low, self.high = self.low - 0.5, self.high + 0.5

    def at(self, value: object) -> float:
        """The place of a value; NaN: it has none."""
        if self.choices is not None:
            text = exact_text(value)
            return float(self.choices.index(text)) if text in self.choices else np.nan
        if not isinstance(value, int | float) or (self.is_log and value <= 0):
            return np.nan
        return float(np.log10(value)) if self.is_log else float(value)

    def value(self, place: float) -> float | str:
        """The value at a place, for a label."""
        if self.choices is not None:
            return self.choices[min(max(0, round(place)), len(self.choices) - 1)]
        return float(10.0**place) if self.is_log else place


class TrialPoints:
    """Columns of all trials of a sweep. Row and number of a trial are the same."""

    def __init__(
        self, parameters: Mapping[str, Dimension], objectives: Sequence[Objective]
    ) -> None:
        self.axes = {name: TrialAxis(name, part) for name, part in parameters.items()}
        self.objectives = list(objectives)
        self.count = 0
        self._states = np.full(_FIRST, -1, np.int8)
        self._values = np.full((len(self.objectives), _FIRST), np.nan)
        self._places = np.full((len(self.axes), _FIRST), np.nan)

    def take(self, trials: Iterable[TrialRecord]) -> None:
        """Take trials as they are now."""
        for trial in trials:
            self._reserve(trial.number + 1)
            self._states[trial.number] = STATES.index(trial.state)
            for place in range(len(self.objectives)):
                value = objective_value(trial, place)
                self._values[place, trial.number] = np.nan if value is None else value
            for row, axis in enumerate(self.axes.values()):
                known = axis.name in trial.parameters
                self._places[row, trial.number] = (
                    axis.at(trial.parameters[axis.name]) if known else np.nan
                )

    def values(self, place: int = 0) -> Floats:
        """Value of an objective by trial; NaN: none."""
        return self._values[place, : self.count]

    def places(self, name: str) -> Floats:
        """Place on the axis of a parameter by trial; NaN: none."""
        row = list(self.axes).index(name)
        return self._places[row, : self.count]

    def is_state(self, *states: TrialState) -> NDArray[np.bool_]:
        """Whether each trial is in one of these states."""
        return np.isin(self._states[: self.count], [STATES.index(state) for state in states])

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether each trial is complete, with a value."""
        return self.is_state(TrialState.COMPLETE) & np.isfinite(self.values())

    def best_so_far(self, place: int = 0) -> tuple[Floats, Floats]:
        """Numbers of complete trials, and the best value up to each of them."""
        numbers = np.flatnonzero(self.complete)
        values = self.values(place)[numbers]
        is_rising = self.objectives[place].direction is Direction.MAXIMIZE
        best = np.maximum.accumulate(values) if is_rising else np.minimum.accumulate(values)
        return numbers.astype(float), best

    def quality(self, place: int = 0) -> Floats:
        """Rank of each trial among those with a value, from 0 (worst) to 1 (best); NaN: no value.

        Ranks, because one value far from all others would leave one colour to the rest.
        """
        values = self.values(place)
        found = np.flatnonzero(np.isfinite(values))
        ranks = np.full(len(values), np.nan)
        order = values[found].argsort(kind="stable")
        if self.objectives[place].direction is Direction.MINIMIZE:
            order = order[::-1]
        ranks[found[order]] = np.linspace(0.0, 1.0, len(found)) if len(found) > 1 else 1.0
        return ranks

    def within(self, brushes: Mapping[str, tuple[float, float]]) -> NDArray[np.bool_]:
        """Whether each trial lies within all brushes: ranges of places, by parameter."""
        inside = self._states[: self.count] >= 0
        for name, (low, high) in brushes.items():
            at = self.values() if name not in self.axes else self.places(name)
            inside = inside & (at >= low) & (at <= high)
        return inside

    def _reserve(self, count: int) -> None:
        self.count = max(self.count, count)
        size = len(self._states)
        if count <= size:
            return
        more = max(size, count - size)
        self._states = np.pad(self._states, (0, more), constant_values=-1)
        self._values = np.pad(self._values, ((0, 0), (0, more)), constant_values=np.nan)
        self._places = np.pad(self._places, ((0, 0), (0, more)), constant_values=np.nan)
