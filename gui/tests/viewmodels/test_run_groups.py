import pytest
from PyQt6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PyQt6.QtTest import QAbstractItemModelTester
from tests.specimen import run, run_id, summary

from mosaic_contracts.states import RunState
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_list_columns import ENVIRONMENT_AND_ALGORITHM
from mosaic_gui.viewmodels.run_table import Column, Role

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


class Groups:
    """Store and list, grouped by environment and algorithm, under Qt's model tester."""

    def __init__(self) -> None:
        self.store = Store()
        self.model = self.shown = self.groups = RunListModel(self.store)
        self.model.group_by(ENVIRONMENT_AND_ALGORITHM)
        self._tester = QAbstractItemModelTester(self.groups, FATAL)

    def take(self, *runs: tuple[int, str, str]) -> None:
        """Number, environment and algorithm of each run that there is."""
        views = [
            run(n, RunState.SUCCEEDED, spec={"environment": e, "algorithm": a}) for n, e, a in runs
        ]
        self.model.consume(self.store.replace_runs(views))

    def tree(self) -> dict[str, list[str]]:
        """Titles of the groups with the ids of their runs."""
        found: dict[str, list[str]] = {}
        for row in range(self.model.rowCount()):
            head = self.model.head_at(row)
            if head is not None:
                found[head.title] = []
            else:
                found[next(reversed(found))].append(self.model.index(row, 0).data(Role.RUN_ID))
        return found


@pytest.fixture
def groups() -> Groups:
    """Three runs in two groups."""
    made = Groups()
    made.take((0, "CartPole-v1", "ppo"), (1, "CartPole-v1", "dqn"), (2, "CartPole-v1", "ppo"))
    return made


def test_runs_stand_below_environment_and_algorithm(groups: Groups) -> None:
    """In the order of the list, groups and runs alike."""
    assert groups.tree() == {
        "CartPole-v1 · ppo": [run_id(2), run_id(0)],
        "CartPole-v1 · dqn": [run_id(1)],
    }
    groups.groups.sort(Column.CREATED, Qt.SortOrder.AscendingOrder)
    assert list(groups.tree().values()) == [[run_id(0), run_id(2)], [run_id(1)]]


def test_a_group_says_what_is_in_it(groups: Groups) -> None:
    """How many, how many of them live, and the best return among them."""
    best = run(3, summary=summary(3, best_return=42.0))
    groups.model.consume(groups.store.take_runs([best]))
    first = groups.groups.index(0, 0)
    assert first.data(Role.SUBTITLE) == "3 runs  ·  1 live  ·  best 42"


def test_what_is_selected_stays_while_runs_come_and_go(groups: Groups) -> None:
    """An index follows its run, and is gone with it."""
    kept = QPersistentModelIndex(groups.groups.index_of(run_id(0)))
    lost = QPersistentModelIndex(groups.groups.index_of(run_id(1)))
    groups.take((0, "CartPole-v1", "ppo"), (2, "CartPole-v1", "ppo"), (5, "Acrobot-v1", "ppo"))
    assert QModelIndex(kept).data(Role.RUN_ID) == run_id(0)
    assert not lost.isValid()
    assert list(groups.tree()) == ["Acrobot-v1 · ppo", "CartPole-v1 · ppo"]


def test_the_filter_holds_in_groups(groups: Groups) -> None:
    """A group without a fitting run is not there."""
    groups.shown.set_words("dqn")
    assert groups.tree() == {"CartPole-v1 · dqn": [run_id(1)]}
    groups.shown.set_words("")
    assert len(groups.tree()) == 2
