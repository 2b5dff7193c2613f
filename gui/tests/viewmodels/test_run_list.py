"""The run list: search, names, groups, added columns."""

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QAbstractItemModelTester, QSignalSpy
from tests.specimen import run, run_id, summary

from mosaic_contracts.run_search import MetricFigures, SearchError, facts_of
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state.run_columns import AddedColumn, AddedKind, added_column
from mosaic_gui.state.run_facts import run_facts
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_table import Column, Role

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal
GROUP = "g01M8GP00000000000000000000"


class Listed:
    """Store and list, under Qt's model tester."""

    def __init__(self) -> None:
        self.store = Store()
        self.model = RunListModel(self.store)
        self._tester = QAbstractItemModelTester(self.model, FATAL)

    def take(self, *runs: RunView) -> None:
        """One tick with these runs."""
        self.model.consume(self.store.take_runs(runs))

    def rows(self) -> list[str]:
        """Ids of runs and names of groups, from top to bottom."""
        found = []
        for row in range(self.model.rowCount()):
            head = self.model.head_at(row)
            found.append(self.model.index(row, 0).data(Role.RUN_ID) if head is None else head.title)
        return found


@pytest.fixture
def listed() -> Listed:
    """An empty list."""
    return Listed()


def of_group(n: int, place: int, state: RunState = RunState.SUCCEEDED) -> RunView:
    """A run of a group, with its own learning rate and seed."""
    spec = {"seed": place % 2 + 1, "parameters": {"learning_rate": (1e-3, 1e-4)[place // 2]}}
    group = {"group_id": GROUP, "name": "two rates", "place": place}
    return run(n, state, spec=spec, group=group)


def lr(n: int, value: float, **more: object) -> RunView:
    """A run with a learning rate, and a default."""
    spec = {"seed": 1, "parameters": {"learning_rate": value}}
    return run(n, RunState.SUCCEEDED, spec=spec, defaults={"gamma": 0.99}, **more)


def test_rows_are_named_by_what_sets_them_apart(listed: Listed) -> None:
    """Six rows of one environment differ in what was changed, and so do their titles."""
    listed.take(lr(0, 1e-3), lr(1, 1e-4))
    titles = [listed.model.index(row, Column.RUN).data() for row in range(2)]
    assert titles == ["ppo lr=0.0001", "ppo lr=0.001"]
    listed.take(run(2, RunState.SUCCEEDED, spec={"algorithm": "dqn", "seed": 4}))
    assert listed.model.index(2, Column.RUN).data() == "ppo lr=0.001 · seed 1"
    assert listed.model.index(2, Column.RUN).data(Role.SUBTITLE) == "CartPole-v1"
    listed.model.set_search("lr=0.001")
    assert listed.model.index(0, Column.RUN).data() == "ppo · seed 1"


def test_the_list_is_settled_with_heads_trials_and_a_search(listed: Listed) -> None:
    """Whether all runs were taken does not hang on how many rows they are."""
    trial = run(3, trial="0/0")
    changes = listed.store.take_runs([of_group(0, 0), of_group(1, 1), run(2), trial])
    assert [listed.model.is_settled, listed.model.rowCount()] == [False, 0]
    listed.model.consume(changes)
    assert [listed.model.is_settled, listed.model.rowCount()] == [True, 2]
    listed.model.group_by("algorithm")
    assert listed.model.is_settled
    assert listed.model.rowCount() == 4
    listed.model.set_search(f"id:{run_id(2)}")
    assert listed.model.is_settled
    listed.model.consume(listed.store.forget_runs([run_id(2), run_id(3)]))
    assert listed.model.is_settled


def test_the_search_is_that_of_the_command_line(listed: Listed) -> None:
    """Parameters with defaults, returns, states and what is excluded."""
    listed.take(
        lr(0, 1e-3, tags=["old"], summary=summary(0, best_return=500.0)),
        lr(1, 1e-3, summary=summary(1, best_return=450.0)),
        lr(2, 1e-4, summary=summary(2, best_return=490.0)),
        run(3, RunState.FAILED, summary=summary(3, best_return=1.0)),
    )
    for text, found in (
        ("lr>=1e-3 best>400 -tag:old", [1]),
        ("gamma:0.99 best>480", [2, 0]),
        ("state:failed", [3]),
        ("env:CartPole* lr<1e-3", [2]),
    ):
        listed.model.set_search(text)
        assert listed.rows() == [run_id(n) for n in found], text


def test_a_search_that_cannot_be_understood_changes_nothing(listed: Listed) -> None:
    """The list stays, and the error has the place of the word."""
    listed.take(lr(0, 1e-3), lr(1, 1e-4))
    listed.model.set_search("lr:0.001")
    with pytest.raises(SearchError) as raised:
        listed.model.set_search("lr:0.001 gama>1")
    assert (raised.value.start, raised.value.end) == (9, 15)
    assert "gamma" in raised.value.reason
    assert listed.rows() == [run_id(0)]


def test_facts_are_those_of_the_record() -> None:
    """What is searched here is what the gateway would search."""
    for one in (lr(0, 1e-3, tags=["a"], note="x"), of_group(1, 2), run(2, RunState.FAILED)):
        assert run_facts(one) == facts_of(one.model_dump(mode="json"))


def test_a_group_is_one_row_with_its_progress(listed: Listed) -> None:
    """It is folded, says how far it is, and opens to its runs; another try takes the place of the one that failed."""
    states = (RunState.SUCCEEDED, RunState.FAILED, RunState.RUNNING, RunState.QUEUED)
    listed.take(run(9, RunState.SUCCEEDED), *(of_group(n, n, s) for n, s in enumerate(states)))
    assert listed.rows() == [run_id(9), "two rates"]
    head = listed.model.head_at(1)
    assert head is not None
    progress = listed.model.progress(head)
    assert (progress.text, progress.badge) == ("1/4 · 1 failed", ("Running", "accent"))
    listed.model.fold(head.key, False)
    assert listed.rows()[2:] == [run_id(n) for n in (3, 2, 1, 0)]
    listed.take(of_group(5, 1, RunState.SUCCEEDED))
    again = listed.model.head_at(1)
    assert again is not None
    assert listed.model.progress(again).text == "2/4"
    listed.model.set_search("state:failed")
    found = listed.model.head_at(0)
    assert found is not None
    assert (len(found.members), listed.model.progress(found).text) == (1, "2/4")
    listed.model.set_search("")
    listed.model.set_flat(True)
    assert len(listed.rows()) == 6


def test_a_group_stays_open_while_its_runs_change(listed: Listed) -> None:
    """Folding is the user's, not that of a tick."""
    listed.take(of_group(0, 0, RunState.RUNNING), of_group(1, 1, RunState.QUEUED))
    listed.model.fold(f"=g{GROUP}", False)
    listed.take(of_group(0, 0).model_copy(update={"revision": 5}))
    assert len(listed.rows()) == 3


def test_the_list_is_grouped_by_any_column(listed: Listed) -> None:
    """By a parameter, whether it is a column or not, with a head for each value that says of what it is."""
    listed.take(lr(0, 1e-3), lr(1, 1e-4), lr(2, 1e-3))
    assert listed.model.varied_parameters() == ["learning_rate"]
    listed.model.group_by("p:learning_rate")
    assert listed.rows() == ["lr=0.001", run_id(2), run_id(0), "lr=0.0001", run_id(1)]
    listed.model.set_added([AddedColumn(AddedKind.PARAMETER, "learning_rate")])
    assert listed.rows()[0] == "lr=0.001"
    listed.model.group_by(Column.STATE.key)
    assert listed.rows()[0] == "Succeeded"
    listed.model.group_by("")
    assert len(listed.rows()) == 3


def test_added_columns_have_values_and_sort(listed: Listed) -> None:
    """A parameter, a figure of a metric and a tag; what is missing comes last in both directions."""
    listed.take(lr(0, 1e-3, tags=["old"]), lr(1, 1e-4), run(2, RunState.SUCCEEDED))
    keys = ("p:learning_rate", "m:losses/entropy:best", "tag:old")
    listed.model.set_added([one for key in keys if (one := added_column(key)) is not None])
    wanted = QSignalSpy(listed.model.metrics_wanted)
    figures = {run_id(n): MetricFigures(n, n - 1.0, n + 1.0, n) for n in (0, 1)}
    listed.model.take_figures({"losses/entropy": figures})
    first = len(Column)
    assert listed.model.wanted_metrics == {"losses/entropy"}
    assert [listed.model.title_of(first + n) for n in range(3)] == ["lr", "entropy best", "Tag old"]
    row = listed.model.row_of(run_id(0))
    assert row is not None
    texts = [listed.model.index(row, first + n).data() for n in range(3)]
    assert texts == ["0.001", "1", "✓"]
    for order, ids in (
        (Qt.SortOrder.AscendingOrder, (1, 0, 2)),
        (Qt.SortOrder.DescendingOrder, (0, 1, 2)),
    ):
        listed.model.sort(first, order)
        assert listed.rows() == [run_id(n) for n in ids]
    listed.model.set_search("m.entropy.best>1.5")
    assert len(wanted) == 1
    listed.model.take_figures({"entropy": figures})
    assert listed.rows() == [run_id(1)]
    listed.model.set_added([])
    assert listed.model.columnCount() == first


def test_the_head_of_several_runs_has_the_mean_of_their_returns(listed: Listed) -> None:
    """The best run alone does not say which value is better."""
    runs = [lr(n, 1e-3) for n in range(2)]
    means = (100.0, 200.0)
    listed.take(
        *(
            one.model_copy(update={"summary": summary(n, best_return=300, mean_return=mean)})
            for n, (one, mean) in enumerate(zip(runs, means, strict=True))
        )
    )
    listed.model.group_by("p:learning_rate")
    head = listed.model.head_at(0)
    assert head is not None
    assert listed.model.about(head) == "2 runs  ·  best 300  ·  mean 150"


@pytest.mark.parametrize("key", ["p:", "m:losses/entropy", "m:x:worst", "state", "q:a"])
def test_keys_of_no_column(key: str) -> None:
    """A saved view may name what another version has."""
    assert added_column(key) is None
