"""The page `Sweeps`: list, trials, charts, and what can be done with a sweep."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import QItemSelectionModel, QPointF, Qt
from PyQt6.QtTest import QAbstractItemModelTester, QSignalSpy
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, worker
from tests.sweep_specimen import page, sweep_run, sweep_spec, trial, trials, view

from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_contracts.sweeps import TrialState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.plots.axis import NumberAxis
from mosaic_gui.plots.parallel_plot import ParallelPlot
from mosaic_gui.plots.pareto_plot import ParetoPlot
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.viewmodels.trial_table import TrialTableModel
from mosaic_gui.views.main_window import RUNS, SWEEPS, TRAIN, WATCH
from mosaic_gui.views.sweeps_page import SweepsPage

FATAL = QAbstractItemModelTester.FailureReportingMode.Fatal


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """A client with two sweeps, of which the newest one was read."""
    made = DesktopClient(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    sweeps = [sweep_run(90), sweep_run(89, RunState.SUCCEEDED)]
    made._on_tick(made.store.replace_runs([run(1), *sweeps]))
    made.window.show_page(SWEEPS)
    made.sweeps.take_view(view(90))
    made.sweeps.take_trials(run_id(90), page(trials(40, 2)))
    yield made
    made.window.close()
    made.window.deleteLater()


@pytest.fixture
def shown(client: DesktopClient) -> SweepsPage:
    """The page of that client."""
    return client.window.sweeps


def test_a_stack_without_sweeps_says_how_to_begin(qtbot: QtBot, tmp_path: Path) -> None:
    """There is one thing to do."""
    made = DesktopClient(tmp_path)
    qtbot.addWidget(made.window)
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made.window.show()
    made.window.show_page(SWEEPS)
    wanted = QSignalSpy(made.window.sweeps.new_wanted)
    made.window.sweeps.first.click()
    assert (len(wanted), made.window.sweeps.new.isVisible()) == (1, False)


def test_the_table_follows_trials_without_losing_its_place(
    client: DesktopClient, shown: SweepsPage
) -> None:
    """Sorted by value, a trial that completes moves; the selected one stays selected."""
    table: TrialTableModel = client.sweeps.table
    QAbstractItemModelTester(table, FATAL)
    shown.trials.table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    best = table.number_at(0)
    shown.trials.table.selectRow(3)
    kept = client.sweeps.selected
    better = trial(39, TrialState.COMPLETE, values=[9_999.0])
    client.sweeps.take_trials(run_id(90), page([better, trial(40, TrialState.RUNNING)]))
    assert (table.number_at(0), table.number_at(1), table.rowCount()) == (39, best, 41)
    assert client.sweeps.selected == kept
    assert shown.trials.table.numbers == [kept]
    shown.trials.states.setCurrentIndex(1)
    assert {table.trial_at(row).state for row in range(table.rowCount())} == {  # type: ignore[union-attr]
        TrialState.COMPLETE
    }
    shown.trials.search.setText("#39 huber")
    assert table.rowCount() <= 1
    many = [trial(number, TrialState.COMPLETE) for number in range(200)]
    shown.trials.search.clear()
    client.sweeps.take_trials(run_id(90), page(many))
    assert table.rowCount() == 200


def test_rows_are_copied_with_all_digits(
    qtbot: QtBot, client: DesktopClient, shown: SweepsPage
) -> None:
    """The system's key copies what is selected, with titles."""
    table = shown.trials.table
    table.selectRow(0)
    table.setFocus()
    qtbot.keySequence(table, "Ctrl+C")
    clipboard = QApplication.clipboard()
    assert clipboard is not None
    head, first, _ = clipboard.text().split("\n")
    assert head.split("\t")[:4] == ["Trial", "State", "Value", "learning_rate"]
    assert first.split("\t")[3] == repr(trial(0).parameters["learning_rate"])


def test_a_dot_selects_its_trial_and_return_opens_its_runs(
    qtbot: QtBot, client: DesktopClient, shown: SweepsPage
) -> None:
    """The row of the trial is marked, and its runs are watched together."""
    history = shown.plots.plot("history")
    qtbot.waitUntil(lambda: len(history._x) == 40)
    place = history.plot.getViewBox().mapViewToScene(QPointF(7.0, history._y[7]))
    number = history.nearest(place)
    assert number == 7
    history.chosen.emit(number)
    assert shown.trials.table.numbers == [7]
    wanted = QSignalSpy(client.sweeps.runs_wanted)
    shown.trials.table.setFocus()
    qtbot.keySequence(shown.trials.table, "Return")
    assert wanted[0][0] == list(trial(7).runs.values())
    assert client.window.page == WATCH


def test_what_is_done_with_a_sweep(
    client: DesktopClient, shown: SweepsPage, tmp_path: Path
) -> None:
    """Stop in two ways, train the best, the command, and a file of all trials."""
    stopped, trained = QSignalSpy(client.sweeps.stop_wanted), QSignalSpy(client.sweeps.train_wanted)
    assert shown.head.stop.isVisible()
    shown.trials.table.sortByColumn(2, Qt.SortOrder.DescendingOrder)
    client.sweeps.stop(True)
    client.sweeps.train(17, 5)
    assert (list(stopped[0]), list(trained[0])) == ([run_id(90), True], [run_id(90), 17, 5])
    commands = [text for _, text in client.sweeps.commands]
    assert commands[0] == f"./mosaic sweep show {run_id(90)}"
    shown.head.export_to(str(tmp_path / "trials.csv"))
    lines = (tmp_path / "trials.csv").read_text().splitlines()
    assert (len(lines), lines[0].split(",")[:3]) == (
        41,
        ["trial", "state", "charts/episodic_return"],
    )
    shown.list.row_chosen.emit(run_id(89))
    client.sweeps.take_view(view(89))
    assert (shown.head.stop.isVisible(), shown.head.resume.isVisible()) == (False, True)
    assert client.sweeps.table.rowCount() == 0
    header = shown.trials.table.horizontalHeader()
    assert header is not None
    assert (header.sortIndicatorSection(), header.sortIndicatorOrder()) == (
        0,
        Qt.SortOrder.AscendingOrder,
    )


def test_a_sweep_of_the_run_list_opens_its_page(client: DesktopClient) -> None:
    """It has no curves that could be watched."""
    client.navigator.open_runs([run_id(89)])
    assert (client.window.page, client.sweeps.chosen) == (SWEEPS, run_id(89))
    client.sweeps.take_problem("It is away.")
    assert "It is away." in client.window.sweeps._words.text()


def test_the_form_opens_over_the_sweeps_and_a_sweep_over_the_form(
    qtbot: QtBot, tmp_path: Path
) -> None:
    """The button next to Launch leads to the form, also where no sweep was chosen yet; it stays until one is opened."""
    made = DesktopClient(tmp_path)
    qtbot.addWidget(made.window)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made._on_tick(made.store.replace_runs([sweep_run(90), sweep_run(89)]))
    made.agents.set_mode(Mode.AGENT)
    made.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    made.window.show_page(TRAIN)
    made.window.train.preflight.sweep.click()
    page_of = made.window.sweeps
    assert (made.window.page, page_of.form.isVisible()) == (SWEEPS, True)
    page_of.form.dimensions["gamma"].box.click()
    assert made.sweep_form.draft is not None
    assert made.sweep_form.draft.names == ["gamma"]
    page_of.form.dimensions["gamma"].high.setText("2")
    page_of.form.dimensions["gamma"].high.textEdited.emit("2")
    assert page_of.form.dimensions["gamma"]._fault.text() == "at most 1"
    assert not page_of.form.start.isEnabled()
    made.navigator.open_runs([run_id(89)])
    assert (page_of.form.isVisible(), made.sweeps.chosen) == (False, run_id(89))
    page_of.head.copy_wanted.emit()
    assert page_of.form.isVisible()
    assert made.sweep_form.draft.names == ["learning_rate", "gamma", "loss"]
    page_of.form.cancel.click()
    assert page_of.list.isVisible()
    made.launch._settle.stop()
    made.sweep_form._settle.stop()


def test_several_rows_open_together(client: DesktopClient, shown: SweepsPage) -> None:
    """Their runs are laid over each other."""
    wanted = QSignalSpy(client.sweeps.runs_wanted)
    selection = shown.trials.table.selectionModel()
    assert selection is not None
    flags = QItemSelectionModel.SelectionFlag
    for row in (0, 2):
        selection.select(client.sweeps.table.index(row, 0), flags.Select | flags.Rows)
    shown.trials.table.open()
    assert len(wanted[0][0]) == 4


def test_runs_of_trials_are_behind_their_sweep(qtbot: QtBot, client: DesktopClient) -> None:
    """The list has the sweep with its progress; its trials are one key away, and one back."""
    runs = client.window.runs
    known = [run(n, trial=f"{n}/CartPole-v1/1", spec={"parent": run_id(90)}) for n in range(5, 9)]
    client._on_tick(client.store.take_runs(known))
    sweep = sweep_run(90, revision=2, progress={"step": 12, "total": 40})
    client._on_tick(client.store.take_runs([sweep]))
    client.window.show_page(RUNS)
    assert (client.table.rowCount(), runs._count.text()) == (3, "3 runs")
    runs.select_run(run_id(90))
    row = client.table.index_of(run_id(90)).row()
    shown = client.table.index(row, Column.PROGRESS).data()
    assert shown == "12 of 40 trials"
    qtbot.keySequence(runs.table, "Ctrl+Shift+T")
    assert (client.table.rowCount(), runs.bar.back_from_trials.isVisible()) == (4, True)
    runs.table.clearSelection()
    assert runs.bar.selection.text() == "Trials of PPO search 90"
    runs.search.setText("nothing")
    runs.unmatched.show_all.click()
    assert client.table.rowCount() == 3


def test_every_chart_draws_and_a_range_selects_trials(
    qtbot: QtBot, client: DesktopClient, shown: SweepsPage
) -> None:
    """Charts select trials; a range of an axis leaves those that lie in it."""
    for key in ("importance", "slice", "contour", "parallel"):
        shown.plots.show_plot(key)
        shown.plots.redraw()
    parallel = shown.plots.plot("parallel")
    assert isinstance(parallel, ParallelPlot)
    assert parallel._names[:2] == ["learning_rate", "gamma"]
    view_box = parallel.plot.getViewBox()
    place = view_box.mapViewToScene(QPointF(1.0, parallel._lines[7][1]))
    assert parallel.nearest(place) in [t.number for t in client.sweeps.trials if t.values]
    parallel._on_drag(QPointF(0.02, 0.4), QPointF(0.02, 0.6), True)
    low, high = client.sweeps.brushes["learning_rate"]
    assert (low, high) == pytest.approx((-3.4, -2.6))
    rates = [
        client.sweeps.table.trial_at(row).parameters["learning_rate"]  # type: ignore[union-attr]
        for row in range(client.sweeps.table.rowCount())
    ]
    assert rates
    assert all(10**low <= rate <= 10**high for rate in rates)
    assert shown.trials.unbrush.isVisible()
    shown.trials.unbrush.click()
    assert client.sweeps.table.rowCount() == 40


def test_two_objectives_have_a_front(client: DesktopClient, shown: SweepsPage) -> None:
    """The chart appears with the second objective, and the head counts its trials."""
    objectives = [{}, {"metric": "losses/value", "direction": "minimize"}]
    spec = sweep_spec(objectives=objectives, pruner={"name": "none"})
    shown.list.row_chosen.emit(run_id(89))
    client.sweeps.take_view(view(89, spec))
    both = [trial(n, TrialState.COMPLETE, values=[float(n % 7), float(n % 5)]) for n in range(35)]
    client.sweeps.take_trials(run_id(89), page(both))
    assert "on the Pareto front" in shown.head._best.whole()
    shown.plots.show_plot("pareto")
    shown.plots.redraw()
    front = shown.plots.plot("pareto")
    assert isinstance(front, ParetoPlot)
    best = sorted(t.values[0] for t in client.sweeps.trials.best if t.values)
    assert list(front._front.getData()[0]) == best
    shown.list.row_chosen.emit(run_id(90))
    assert shown.plots.choices.key == "history"


@pytest.mark.parametrize("trials_shown", [1, 5, 40])
def test_trials_are_numbered_without_fractions(qapp: QApplication, trials_shown: int) -> None:
    """No tick lies between two trials, however few there are."""
    levels = NumberAxis("bottom").tickSpacing(-0.5, trials_shown - 0.5, 600)
    assert levels
    assert all(spacing >= 1 for spacing, _ in levels)
