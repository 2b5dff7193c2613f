from datetime import UTC, datetime, timedelta

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QAbstractItemModelTester, QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, summary

from mosaic_contracts.states import RunState
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.rows import stretches
from mosaic_gui.viewmodels.run_list import AT_ONCE, RunListModel
from mosaic_gui.viewmodels.run_table import Column, Role

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


class Table:
    """Store and model, watched by Qt's own model tester."""

    def __init__(self) -> None:
        self.store = Store()
        self.model = self.shown = RunListModel(self.store)
        self._tester = QAbstractItemModelTester(self.model, FATAL)

    def take(self, *changes: Changes) -> None:
        """One tick."""
        merged = Changes()
        for change in changes:
            merged = merged | change
        self.model.consume(merged)

    def column(self, column: Column) -> list[object]:
        """A column as it is shown."""
        rows = range(self.shown.rowCount())
        return [self.shown.index(row, column).data() for row in rows]

    def ids(self) -> list[str]:
        """Run ids from top to bottom."""
        rows = range(self.shown.rowCount())
        return [self.shown.index(row, 0).data(Role.RUN_ID) for row in rows]


@pytest.fixture
def table() -> Table:
    """An empty table."""
    return Table()


def test_many_runs_are_one_change_of_the_order(qtbot: QtBot, table: Table) -> None:
    """A list of hundreds is passed to the view once, not row by row."""
    moved = QSignalSpy(table.model.layoutChanged)
    table.take(table.store.replace_runs(run(n) for n in range(300)))
    qtbot.waitUntil(lambda: not table.model.is_working)
    assert len(moved) == 1
    assert table.model.rowCount() == 300


def test_thousands_are_ordered_in_turns(qtbot: QtBot, table: Table) -> None:
    """The order of a long list comes a few turns of the event loop later, and the old one stays until then."""
    runs = [run(n) for n in range(3 * AT_ONCE)]
    table.take(table.store.replace_runs(runs))
    qtbot.waitUntil(lambda: not table.model.is_working)
    assert len(table.ids()) == len(runs)
    table.shown.set_words(f"id:{run_id(5)}")
    qtbot.waitUntil(lambda: not table.model.is_working)
    assert table.ids() == [run_id(5)]


def test_neighbours_are_one_change(table: Table) -> None:
    """Progress of neighbouring runs is one `dataChanged`, and nothing else moves."""
    table.take(table.store.replace_runs(run(n) for n in range(10)))
    changed, reset = QSignalSpy(table.model.dataChanged), QSignalSpy(table.model.modelReset)
    table.take(table.store.take_runs(run(n, sps=9.0) for n in (3, 4, 5)))
    assert len(changed) == 1
    assert [changed[0][0].row(), changed[0][1].row()] == [4, 6]
    assert len(reset) == 0


def test_removed_runs_go_and_the_rest_stays(table: Table) -> None:
    """Deleting from the middle leaves every other row with its run."""
    table.take(table.store.replace_runs(run(n) for n in range(6)))
    table.take(table.store.forget_runs([run_id(1), run_id(2), run_id(4)]))
    assert sorted(table.ids()) == [run_id(0), run_id(3), run_id(5)]
    assert table.model.row_of(run_id(5)) == 0


def test_a_run_that_came_and_went_within_a_tick_leaves_no_row(table: Table) -> None:
    """What is gone before it was shown is never shown."""
    came = table.store.take_runs([run(0), run(1)])
    table.take(came, table.store.forget_runs([run_id(0)]))
    assert table.ids() == [run_id(1)]


@pytest.mark.parametrize("order", [Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder])
def test_what_is_missing_sorts_last(table: Table, order: Qt.SortOrder) -> None:
    """Runs without a return, and those whose return is NaN, stand below in both directions."""
    returns = [5.0, None, float("nan"), 9.0, -1.0]
    runs = [run(n, summary=summary(n, last_return=value)) for n, value in enumerate(returns)]
    table.take(table.store.replace_runs(runs))
    table.shown.sort(Column.LAST_RETURN, order)
    known = ["-1", "5", "9"] if order is Qt.SortOrder.AscendingOrder else ["9", "5", "-1"]
    assert table.column(Column.LAST_RETURN)[:3] == known
    assert set(table.column(Column.LAST_RETURN)[3:]) == {"–", "NaN"}


def test_the_newest_run_stands_on_top(table: Table) -> None:
    """Without a choice of the user the list is newest first, also for a run that comes later."""
    table.take(table.store.replace_runs([run(0), run(1)]))
    table.take(table.store.take_runs([run(2)]))
    assert table.ids() == [run_id(2), run_id(1), run_id(0)]


def test_search_finds_every_word_anywhere(table: Table) -> None:
    """Name, tags and note are searched, whatever the case, and keys find what they name."""
    table.take(
        table.store.replace_runs(
            [
                run(0, tags=["Baseline"]),
                run(1, note="with dropout"),
                run(2, spec={"algorithm": "dqn"}),
            ]
        )
    )
    for words, found in (
        ("baseline ppo", [0]),
        ("DROPOUT", [1]),
        ("algo:dqn", [2]),
        ("nothing", []),
    ):
        table.shown.set_words(words)
        assert table.ids() == [run_id(n) for n in found]


def test_a_run_that_ends_leaves_the_live_ones(table: Table) -> None:
    """A filter holds while runs change under it."""
    table.take(table.store.replace_runs([run(0), run(1, RunState.QUEUED)]))
    table.shown.set_states([RunState.RUNNING, RunState.QUEUED])
    assert len(table.ids()) == 2
    table.take(table.store.take_runs([run(0, RunState.FAILED, revision=2)]))
    assert table.ids() == [run_id(1)]


def test_a_waiting_run_says_why(table: Table) -> None:
    """The row shows the reason and the place in the queue."""
    waiting = run(0, RunState.QUEUED, position=2, waiting_reason="needs 1 core; 0 are free")
    table.take(table.store.replace_runs([waiting]))
    assert table.column(Column.REMAINING) == ["#2 in the queue, needs 1 core; 0 are free"]
    assert table.column(Column.STATE) == ["Queued"]


def test_time_passes_only_for_what_lives(table: Table) -> None:
    """Each second only live rows are drawn again, and only their cells that move."""
    table.take(table.store.replace_runs([run(0, RunState.SUCCEEDED), run(1)]))
    changed = QSignalSpy(table.model.dataChanged)
    table.model.pass_time()
    places = [changed[n][0] for n in range(len(changed))]
    assert {index.row() for index in places} == {0}
    assert {index.column() for index in places} == {Column.ELAPSED, Column.CREATED}


def test_the_age_of_an_ended_run_goes_on(table: Table) -> None:
    """Its cell is drawn again when its words change, and not before."""
    created = datetime.now(UTC) - timedelta(minutes=5)
    ended = run(0, RunState.SUCCEEDED).model_copy(update={"created_at": created})
    table.take(table.store.replace_runs([ended]))
    changed = QSignalSpy(table.model.dataChanged)
    table.model.now = ended.created_at + timedelta(seconds=42)
    table.model.pass_time()
    assert Column.CREATED in {changed[n][0].column() for n in range(len(changed))}
    shown = len(changed)
    table.model.pass_time()
    assert len(changed) == shown


def test_stretches() -> None:
    """Neighbouring rows are one stretch."""
    assert stretches([7, 3, 4, 3, 5, 9]) == [(3, 5), (7, 7), (9, 9)]
