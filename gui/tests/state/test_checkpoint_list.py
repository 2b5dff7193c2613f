"""The list of checkpoints: groups, search, order, marks, and a list that is read again."""

import pytest
from tests.checkpoint_specimen import checkpoint, checkpoints
from tests.specimen import run_id

from mosaic_gui.state.checkpoint_list import CardChoice, CardOrder, CheckpointList, address_of


def listed(*rows: object) -> CheckpointList:
    """A list that was read once."""
    made = CheckpointList()
    made.begin()
    made.take(rows)  # type: ignore[arg-type]
    made.finish()
    return made


def test_groups_are_those_that_can_be_compared_the_newest_first() -> None:
    """One worker, algorithm and environment each."""
    groups = listed(*checkpoints()).groups()
    assert [group.key for group in groups] == [
        ("cleanrl", "dqn", "CartPole-v1"),
        ("cleanrl", "ppo", "CartPole-v1"),
    ]
    assert [row.run_id for row in groups[1].rows] == [run_id(n) for n in (4, 3, 1, 0, 2)]


@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        (CardOrder.DATE, [4, 3, 1, 0, 2]),
        (CardOrder.RETURN, [3, 4, 1, 0, 2]),
        (CardOrder.STEP, [4, 3, 1, 0, 2]),
    ],
)
def test_cards_are_sorted_with_missing_values_last(order: CardOrder, wanted: list[int]) -> None:
    """The highest or newest is first."""
    _, group = listed(*checkpoints()).groups(order=order)
    assert [row.run_id for row in group.rows] == [run_id(n) for n in wanted]


@pytest.mark.parametrize(
    ("words", "count"),
    [("cartpole", 6), ("DQN best", 1), ("altered", 1), ("nothing", 0), ("blue ppo", 1)],
)
def test_every_word_must_occur(words: str, count: int) -> None:
    """In environment, algorithm, run, file, state, or the user's words on the run."""
    notes = {run_id(3): "Blue tag"}
    groups = listed(*checkpoints()).groups(words, noted=notes)
    assert sum(len(group.rows) for group in groups) == count


def test_marked_ones_can_be_shown_alone() -> None:
    """The best, or the newest, of each group."""
    found = listed(*checkpoints())
    best = found.groups(choice=CardChoice.BEST)
    newest = found.groups(choice=CardChoice.NEWEST)
    assert [row.run_id for group in best for row in group.rows] == [run_id(5), run_id(3)]
    assert [row.run_id for group in newest for row in group.rows] == [run_id(5), run_id(4)]


def test_a_mark_moves_to_the_row_that_has_it_now() -> None:
    """A run that was read by itself has the newest checkpoint: the old one is it no more."""
    found = listed(*checkpoints())
    found.take([checkpoint(9, marks=["newest"])])
    _, group = sorted(found.groups(choice=CardChoice.NEWEST), key=lambda one: one.key)
    assert [row.run_id for row in group.rows] == [run_id(9)]


def test_what_a_second_reading_does_not_bring_is_gone() -> None:
    """Until it is complete, everything stays."""
    rows = checkpoints()
    found = listed(*rows)
    found.begin()
    found.take(rows[:2])
    assert len(found) == 6
    found.finish()
    assert len(found) == 2


def test_a_run_is_replaced_as_a_whole() -> None:
    """A pruned file of it is gone, a new one is there; other runs stay."""
    found = listed(checkpoint(0, "a"), checkpoint(0, "b"), checkpoint(1, "a"))
    found.replace_runs([run_id(0)], [checkpoint(0, "c")])
    assert [address_of(row).path for row in found.of_runs([run_id(0), run_id(1)])] == ["a", "c"]
    assert found.forget_runs([run_id(1)]) is False
    found.take([checkpoint(2, marks=["best"])])
    assert found.forget_runs([run_id(2)]) is True


def test_runs_share_equal_facts() -> None:
    """Thousands of checkpoints of a run have one table of packages."""
    rows = [checkpoint(0, str(n), packages={"torch": "2.1"}) for n in range(3)]
    found = listed(*rows)
    assert len({id(row.packages) for row in found.of_runs([run_id(0)])}) == 1
