"""The trials of one sweep, in the order of their numbers, changed by each record that comes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mosaic_contracts.sweeps import Direction, Objective, TrialRecord, TrialState
from mosaic_gui.state.trial_words import objective_value


@dataclass(frozen=True)
class TrialChange:
    """Numbers of the trials that are new or different."""

    added: tuple[int, ...] = ()
    changed: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed)


class TrialList:
    """Trials by number."""

    def __init__(self, objectives: Iterable[Objective] = ()) -> None:
        self.objectives = list(objectives) or [Objective()]
        self._trials: dict[int, TrialRecord] = {}
        self.counts: Counter[TrialState] = Counter()
        self._best: list[TrialRecord] | None = None
        """The best trials; None: not searched since the last change."""

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[TrialRecord]:
        return iter(self._trials.values())

    def get(self, number: int) -> TrialRecord | None:
        """A trial by its number."""
        return self._trials.get(number)

    def take(self, records: Iterable[TrialRecord]) -> TrialChange:
        """Take records in the order of their changes; an equal one changes nothing."""
        added: dict[int, None] = {}
        changed: dict[int, None] = {}
        for record in records:
            known = self._trials.get(record.number)
            if known == record:
                continue
            if known is None:
                added[record.number] = None
            else:
                self.counts[known.state] -= 1
                if record.number not in added:
                    changed[record.number] = None
            self.counts[record.state] += 1
            self._trials[record.number] = record
            self._follow_best(record)
        return TrialChange(tuple(added), tuple(changed))

    @property
    def ended(self) -> int:
        """Number of trials that have ended."""
        return sum(count for state, count in self.counts.items() if state.is_final)

    @property
    def steps(self) -> int:
        """Environment steps of all trials."""
        return sum(trial.steps for trial in self._trials.values())

    @property
    def best(self) -> list[TrialRecord]:
        """The best complete trial; with two objectives those that no other one beats in both."""
        if self._best is None:
            self._best = self._find_best()
        return self._best

    def _follow_best(self, record: TrialRecord) -> None:
        """Note a better trial; the best one is searched again only where it is not the best any more."""
        if (
            self._best is None
            or not self._best
            or len(self.objectives) > 1
            or record.number == self._best[0].number
        ):
            self._best = None
        elif record.state is TrialState.COMPLETE and self.loss(record) < self.loss(self._best[0]):
            self._best = [record]

    def _find_best(self) -> list[TrialRecord]:
        complete = [
            trial
            for trial in self._trials.values()
            if trial.state is TrialState.COMPLETE and objective_value(trial) is not None
        ]
        if not complete:
            return []
        if len(self.objectives) < 2:
            return [min(complete, key=lambda trial: (self.loss(trial), trial.number))]
        return self._front(complete)

    def loss(self, trial: TrialRecord, place: int = 0) -> float:
        """Value of an objective so that less is better; infinite where there is none."""
        value = objective_value(trial, place)
        if value is None:
            return float("inf")
        return -value if self.objectives[place].direction is Direction.MAXIMIZE else value

    def _front(self, complete: list[TrialRecord]) -> list[TrialRecord]:
        least = float("inf")
        found = []
        for trial in sorted(complete, key=lambda one: (self.loss(one), self.loss(one, 1))):
            if self.loss(trial, 1) < least:
                least = self.loss(trial, 1)
                found.append(trial)
        return found
