"""The list of trials: sorted, filtered, and kept in order while trials change."""

import random

import numpy as np
from tests.sweep_specimen import sweep_spec, trial, trials

from mosaic_contracts.sweeps import Objective, TrialRecord, TrialState
from mosaic_gui.state.trial_list import TrialList
from mosaic_gui.state.trial_order import SortedTrials, TrialColumn, TrialField
from mosaic_gui.state.trial_points import TrialPoints
from mosaic_gui.state.trial_words import budget_of

VALUE = TrialColumn(TrialField.VALUE)


def rows(order: SortedTrials) -> list[int]:
    """Numbers from top to bottom."""
    return [order.number_at(row) for row in range(len(order))]


def move(order: SortedTrials, record: TrialRecord) -> None:
    """What the table does with a changed trial."""
    if order.row_of(record.number) is not None:
        order.remove(record.number)
    place = order.place_for(record.number)
    if place is not None:
        order.insert(record.number)
        assert order.row_of(record.number) == place


def test_changed_trials_move_to_where_a_full_sort_puts_them() -> None:
    """In both directions, for numbers, texts and parameters that a trial does not have."""
    dice = random.Random(1)
    for column in (
        VALUE,
        TrialColumn(TrialField.PARAMETER, name="loss"),
        TrialColumn(TrialField.TIME),
    ):
        for is_falling in (False, True):
            known = TrialList()
            known.take(trials(60, 10))
            order = SortedTrials(known)
            order.sort(column, is_falling)
            for _ in range(80):
                number = dice.randrange(70)
                changed = trial(
                    number, dice.choice(list(TrialState)), parameters={"loss": number % 3}
                )
                known.take([changed])
                move(order, changed)
            kept = rows(order)
            assert [order.row_of(number) for number in kept] == list(range(len(kept)))
            order.rebuild()
            assert rows(order) == kept


def test_trials_without_a_value_are_last_in_both_directions() -> None:
    """And those with one are in their order."""
    known = TrialList()
    known.take(trials(12))
    order = SortedTrials(known)
    for is_falling in (False, True):
        order.sort(VALUE, is_falling)
        values = [known.get(number).values for number in rows(order)]  # type: ignore[union-attr]
        found = [value[0] for value in values if value is not None]
        assert values[len(found) :] == [None] * (12 - len(found))
        assert found == sorted(found, reverse=is_falling)


def test_trials_are_filtered_by_state_words_and_numbers() -> None:
    """All words must occur, in any case."""
    known = TrialList()
    known.take(trials(21))
    order = SortedTrials(known)
    order.filter([TrialState.FAILED])
    assert rows(order) == [4, 11, 18]
    order.filter(words="NAN #1")
    assert rows(order) == [11, 18]
    order.filter(chosen=frozenset({2, 5}), words="crashed")
    assert rows(order) == [5]


def test_the_best_trial_and_the_pareto_front() -> None:
    """A trial that another one beats in both objectives is in no front; only complete trials count."""
    known = TrialList()
    known.take(trials(21))
    values = [t.values[0] for t in known if t.state is TrialState.COMPLETE and t.values]
    assert known.best[0].values == [max(values)]
    both = TrialList([Objective(), Objective(metric="losses/a", direction="minimize")])
    pairs = [(1.0, 5.0), (3.0, 6.0), (2.0, 7.0), (3.0, 9.0), (0.5, 1.0), (float("nan"), 0.0)]
    both.take(trial(n, TrialState.COMPLETE, values=list(pair)) for n, pair in enumerate(pairs))
    assert {one.number for one in both.best} == {0, 1, 4}


def test_equal_records_change_nothing_and_counts_follow() -> None:
    """A page that is read twice is no change."""
    known = TrialList()
    assert known.take(trials(7)).added == tuple(range(7))
    assert not known.take(trials(7))
    change = known.take([trial(6, TrialState.COMPLETE), trial(9, TrialState.RUNNING)])
    assert (change.added, change.changed) == ((9,), (6,))
    assert (known.counts[TrialState.COMPLETE], known.counts[TrialState.STOPPED]) == (4, 0)
    assert (len(known), known.ended) == (8, 7)


def test_columns_for_charts_follow_single_records() -> None:
    """They equal those that are made of all records at once; places are logarithmic where the range is."""
    spec = sweep_spec()
    once = TrialPoints(spec.parameters, spec.objectives)
    once.take(trials(600))
    grown = TrialPoints(spec.parameters, spec.objectives)
    for record in trials(600, 600):
        grown.take([record])
    for record in trials(600):
        grown.take([record])
    assert grown.count == 600
    np.testing.assert_array_equal(grown.values(), once.values())
    np.testing.assert_array_equal(grown.places("learning_rate"), once.places("learning_rate"))
    rate = trial(0).parameters["learning_rate"]
    assert once.places("learning_rate")[0] == np.log10(rate)
    assert once.axes["loss"].value(1.2) == "huber"
    numbers, best = once.best_so_far()
    assert (np.diff(best) >= 0).all()
    assert len(numbers) == once.complete.sum()
    inside = once.within({"loss": (0.0, 0.4), "learning_rate": (-3.5, -2.5)})
    chosen = [n for n in range(600) if inside[n]]
    assert 0 < len(chosen) < 100
    assert {trial(n).parameters["loss"] for n in chosen} == {"mse"}


def test_a_budget_is_a_number_of_runs() -> None:
    """Environments and seeds multiply the trials."""
    assert budget_of(sweep_spec()) == "40 trials × 2 seeds = 80 runs"
    assert budget_of(sweep_spec(seeds=[])) == "40 trials"
