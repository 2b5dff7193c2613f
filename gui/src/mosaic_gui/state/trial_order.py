"""The order in which trials are listed, kept sorted while trials change: a change moves one row."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mosaic_contracts.sweeps import TrialRecord, TrialState
from mosaic_gui.state.trial_list import TrialList
from mosaic_gui.state.trial_words import objective_value, state_word, value_text

SortKey = tuple[int, Any]
"""Kind of value, and the value: numbers come before texts."""
_STATES = list(TrialState)


class TrialField(StrEnum):
    """What a column of the list shows."""

    NUMBER = "number"
    STATE = "state"
    VALUE = "value"
    PARAMETER = "parameter"
    STEPS = "steps"
    TIME = "time"
    REASON = "reason"


@dataclass(frozen=True)
class TrialColumn:
    """A column: the field, and which objective or parameter."""

    field: TrialField
    place: int = 0
    """Number of the objective."""
    name: str = ""
    """Name of the parameter."""
    is_numeric: bool = False
    """Whether it has numbers, which are aligned at the right."""


class SortedTrials:
    """Numbers of the trials that are listed, from top to bottom. What has no value is last in both directions."""

    def __init__(self, trials: TrialList) -> None:
        self._trials = trials
        self._column = TrialColumn(TrialField.NUMBER, is_numeric=True)
        self._is_falling = False
        self._states = frozenset(TrialState)
        self._words: tuple[str, ...] = ()
        self._chosen: frozenset[int] | None = None
        self._sorted: list[tuple[SortKey, int]] = []
        self._missing: list[int] = []
        self._keys: dict[int, SortKey | None] = {}
        """Sort key of each listed trial."""
        self._texts: dict[int, str] = {}
        """Text of each trial in which words are searched."""

    def __len__(self) -> int:
        return len(self._sorted) + len(self._missing)

    def sort(self, column: TrialColumn, is_falling: bool) -> None:
        """Sort by a column."""
        self._column, self._is_falling = column, is_falling
        self.rebuild()

    def filter(
        self,
        states: Iterable[TrialState] = frozenset(TrialState),
        words: str = "",
        chosen: frozenset[int] | None = None,
    ) -> None:
        """List trials in these states, with all of these words, and of these numbers; None: any number."""
        self._states, self._words = frozenset(states), tuple(words.casefold().split())
        self._chosen = chosen
        self.rebuild()

    def rebuild(self) -> None:
        """List and sort all trials again."""
        listed = [trial for trial in self._trials if self._fits(trial)]
        self._keys = {trial.number: sort_key(trial, self._column) for trial in listed}
        found = [(key, number) for number, key in self._keys.items() if key is not None]
        self._sorted = sorted(found)
        self._missing = sorted(number for number, key in self._keys.items() if key is None)

    def number_at(self, row: int) -> int:
        """Number of the trial in a row."""
        if row >= len(self._sorted):
            return self._missing[row - len(self._sorted)]
        return self._sorted[-1 - row if self._is_falling else row][1]

    def row_of(self, number: int) -> int | None:
        """Row of a trial; None: it is not listed."""
        if number not in self._keys:
            return None
        key = self._keys[number]
        if key is None:
            return len(self._sorted) + bisect_left(self._missing, number)
        at = bisect_left(self._sorted, (key, number))
        return len(self._sorted) - 1 - at if self._is_falling else at

    def place_for(self, number: int) -> int | None:
        """Row in which a trial belongs as it is now, without the row that it has; None: it is not to be listed."""
        trial = self._trials.get(number)
        self._texts.pop(number, None)
        if trial is None or not self._fits(trial):
            return None
        key = sort_key(trial, self._column)
        if key is None:
            return len(self._sorted) + bisect_left(self._missing, number)
        at = bisect_left(self._sorted, (key, number))
        return len(self._sorted) - at if self._is_falling else at

    def is_in_place(self, number: int) -> bool:
        """Whether a listed trial stays in its row."""
        trial = self._trials.get(number)
        self._texts.pop(number, None)
        if trial is None or not self._fits(trial):
            return False
        return sort_key(trial, self._column) == self._keys[number]

    def remove(self, number: int) -> None:
        """Take a trial from the list."""
        key = self._keys.pop(number)
        if key is None:
            del self._missing[bisect_left(self._missing, number)]
        else:
            del self._sorted[bisect_left(self._sorted, (key, number))]

    def insert(self, number: int) -> None:
        """List a trial where it belongs."""
        trial = self._trials.get(number)
        if trial is None:
            return
        key = self._keys[number] = sort_key(trial, self._column)
        if key is None:
            self._missing.insert(bisect_left(self._missing, number), number)
        else:
            entry = (key, number)
            self._sorted.insert(bisect_left(self._sorted, entry), entry)

    def _fits(self, trial: TrialRecord) -> bool:
        if trial.state not in self._states:
            return False
        if self._chosen is not None and trial.number not in self._chosen:
            return False
        if not self._words:
            return True
        text = self._texts.get(trial.number)
        if text is None:
            text = self._texts[trial.number] = search_text(trial)
        return all(word in text for word in self._words)


def search_text(trial: TrialRecord) -> str:
    """Everything of a trial that a search finds, in lower case."""
    parameters = (f"{name}={value_text(value)}" for name, value in trial.parameters.items())
    parts = (
        f"#{trial.number}",
        state_word(trial.state),
        *parameters,
        trial.reason,
        *trial.runs.values(),
    )
    return " ".join(parts).casefold()


def sort_key(trial: TrialRecord, column: TrialColumn) -> SortKey | None:
    """What a trial is sorted by; None: it has nothing there."""
    match column.field:
        case TrialField.NUMBER:
            return 0, trial.number
        case TrialField.STATE:
            return 0, _STATES.index(trial.state)
        case TrialField.VALUE:
            value = objective_value(trial, column.place)
            return None if value is None else (0, value)
        case TrialField.STEPS:
            return 0, trial.steps
        case TrialField.TIME:
            return None if trial.ended is None else (0, trial.ended - trial.started)
        case TrialField.REASON:
            return (1, trial.reason.casefold()) if trial.reason else None
        case TrialField.PARAMETER:
            return _parameter_key(trial, column.name)


def _parameter_key(trial: TrialRecord, name: str) -> SortKey | None:
    if name not in trial.parameters:
        return None
    value = trial.parameters[name]
    return (0, value) if isinstance(value, int | float) else (1, value_text(value).casefold())
