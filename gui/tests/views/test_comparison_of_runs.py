"""Several runs on the page Watch: title, chooser, and what they differ in."""

from pathlib import Path
from typing import Any

import pytest
from PyQt6.QtCore import QModelIndex, Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtTest import QSignalSpy
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, summary
from tests.views.test_watch_page import Shown

from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.plots.curve_pens import series_colour
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.views.main_window import RUNS

LEFT = Qt.MouseButton.LeftButton
RATES = (0.001, 0.01)


def compared(number: int, rate: float, **fields: Any) -> Any:
    """A run of a grid of learning rates."""
    spec = {"seed": number % 2 + 1, "parameters": {"learning_rate": rate}}
    found = {"defaults": {"gamma": 0.99}, "summary": summary(number, best_return=number * 100.0)}
    return run(number, RunState.SUCCEEDED, spec=spec, **(found | fields))


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """Four runs, two learning rates with two seeds each, of which the first is looked at."""
    made = Shown()
    qtbot.addWidget(made.page)
    runs = [compared(n, RATES[n // 2]) for n in range(4)]
    made.store.replace_runs(runs)
    for one in runs:
        made.store.follow(one.run_id)
        followed = made.store.followed[one.run_id]
        version = "2.1" if one is runs[0] else "2.2"
        followed.config = {
            "packages": {"torch": version, "numpy": "1.26"},
            "git": {"commit": "abc", "dirty": False},
        }
    made.page.differences.shown.connect(made.differences.set_shown)
    made.model.watch(run_id(0), [run_id(n) for n in (1, 2, 3)])
    return made


def table(shown: Shown) -> dict[str, dict[str, list[str]]]:
    """The rows that the tab shows, by section."""
    tree = shown.page.differences.tree
    model = tree.model()
    assert model is not None
    found: dict[str, dict[str, list[str]]] = {}
    for section in range(model.rowCount()):
        parent = model.index(section, 0)
        assert tree.isExpanded(parent)
        found[parent.data()] = {
            model.index(row, 0, parent).data(): [
                model.index(row, column, parent).data() for column in range(1, model.columnCount())
            ]
            for row in range(model.rowCount(parent))
        }
    return found


def open_differences(shown: Shown) -> None:
    """Choose the tab."""
    shown.page.views.setCurrentWidget(shown.page.differences)


def test_title_says_what_the_runs_share_and_differ_in(shown: Shown) -> None:
    """A comparison has no run's own title."""
    assert shown.page._title.text() == "ppo CartPole-v1: 4 runs"
    assert shown.model.subtitle == "4 runs · differ in lr, seed"


def test_a_group_gives_its_name(shown: Shown) -> None:
    """Runs of one group are titled by it."""
    group = {"group_id": "g" + run_id(9), "name": "rates", "place": 0}
    shown.store.replace_runs([compared(n, RATES[n // 2], group=group) for n in range(4)])
    assert shown.model.title == "rates"


def test_legend_names_runs_by_what_differs(shown: Shown) -> None:
    """Each curve is named by its learning rate; its seeds are one band."""
    assert [name for name, _ in shown.model.legend] == [
        "ppo lr=0.001 · 2 seeds",
        "ppo lr=0.01 · 2 seeds",
    ]


def test_a_run_has_one_colour_in_legend_chooser_and_charts(shown: Shown) -> None:
    """It keeps its colour when the run that was first is no longer among them, and when it is alone."""
    model = shown.model
    model.set_grouping(False)
    colours = model.colours
    assert len(set(colours.values())) == 4
    assert [colour for _, colour in model.legend] == [colours[i] for i in model.ordered_ids]
    assert {i: colour for i, _, colour in model.choices} == colours
    model.watch(run_id(3), [run_id(2)])
    assert model.colours == {run_id(3): colours[run_id(3)], run_id(2): colours[run_id(2)]}
    model.watch(run_id(1))
    assert model.colours == {run_id(1): colours[run_id(1)]}


def test_rows_of_the_list_have_the_colours_of_their_curves(qtbot: QtBot, tmp_path: Path) -> None:
    """A row is marked while its curves are shown, in the colour that they have."""
    client = DesktopClient(tmp_path / "home", PreferenceStore(None))
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    runs = [compared(n, RATES[n // 2]) for n in range(4)]
    changes = client.store.replace_runs(runs)
    client.table.consume(changes)
    client.window.resize(1280, 800)
    client.window.show()
    client.window.show_page(RUNS)
    client.run_list.read_changed.emit(True)
    client.watch.set_grouping(False)
    client.watch.watch(run_id(1), [run_id(2)])
    table, colours = client.table, client.watch.colours
    assert table.curve_colours == colours
    for n in range(4):
        row = table.row_of(run_id(n))
        assert row is not None
        tip = table.index(row, Column.RUN).data(Qt.ItemDataRole.ToolTipRole)
        assert ("Its curves are shown" in tip) is (n in (1, 2))
    qtbot.waitUntil(client.window.runs.table.isVisible)
    image = client.window.runs.table.grab().toImage()
    seen = {image.pixelColor(x, y).name() for x in range(420) for y in range(image.height())}
    assert {series_colour(colour) for colour in colours.values()} <= seen
    client.watch.watch(run_id(0))
    assert list(table.curve_colours) == [run_id(0)]
    client.window.close()
    client.window.deleteLater()


def test_any_of_the_runs_can_be_looked_at(qtbot: QtBot, shown: Shown) -> None:
    """The chooser names all runs; figures and details follow it, curves and colours stay."""
    chooser = shown.page.chooser
    assert chooser.isVisible()
    names = [chooser.runs.itemText(n) for n in range(chooser.runs.count())]
    assert names == [
        "ppo lr=0.001 · seed 1",
        "ppo lr=0.001 · seed 2",
        "ppo lr=0.01 · seed 1",
        "ppo lr=0.01 · seed 2",
    ]
    legend = shown.model.legend
    wanted = QSignalSpy(shown.page.look_wanted)
    chooser.runs.setFocus()
    qtbot.keyClick(chooser.runs, Qt.Key.Key_End)
    assert wanted[-1][0] == run_id(3)
    shown.model.look_at(wanted[-1][0])
    assert shown.model.run_id == run_id(3)
    assert chooser.runs.currentText() == "ppo lr=0.01 · seed 2"
    details = shown.model.details
    rows = [details.index(row, 1).data() for row in range(details.rowCount())]
    assert run_id(3) in rows
    assert shown.model.legend == legend
    assert shown.page._title.text() == "ppo CartPole-v1: 4 runs"


def test_differences_have_a_column_for_each_run(shown: Shown) -> None:
    """Parameters, packages and results that differ are shown; what is equal is not."""
    open_differences(shown)
    found = table(shown)
    assert found["Parameters"] == {"learning_rate": ["0.001", "0.001", "0.01", "0.01"]}
    assert found["Packages"] == {"torch": ["2.1", "2.2", "2.2", "2.2"]}
    assert found["Result"]["best_return"] == ["0", "100", "200", "300"]
    assert "Code" not in found
    model = shown.differences
    header = [model.headerData(n, Qt.Orientation.Horizontal) for n in range(1, model.columnCount())]
    assert header[0] == "ppo lr=0.001 · seed 1"


def test_equal_rows_can_be_shown(qtbot: QtBot, shown: Shown) -> None:
    """A button shows what is equal, too."""
    open_differences(shown)
    qtbot.mouseClick(shown.page.differences.equal, LEFT)
    found = table(shown)
    assert found["Parameters"]["gamma"] == ["0.99"] * 4
    assert found["Packages"]["numpy"] == ["1.26"] * 4
    assert found["Code"] == {"git commit": ["abc"] * 4, "git dirty": ["false"] * 4}


def test_final_metrics_are_among_the_differences(shown: Shown) -> None:
    """Metrics come from the stack, the machine's only with what is equal."""
    open_differences(shown)
    for n in range(4):
        shown.differences.take_metrics(run_id(n), {"losses/entropy": n / 3, "system/cpu": n * 1.0})
    assert table(shown)["Metrics"] == {"losses/entropy": ["0", "0.3333", "0.6667", "1"]}
    shown.differences.set_shows_equal(True)
    assert "system/cpu" in table(shown)["Metrics"]


def test_a_folded_section_stays_folded_when_values_change(shown: Shown) -> None:
    """New values of the same rows keep what the user folded."""
    open_differences(shown)
    for n in range(4):
        shown.differences.take_metrics(run_id(n), {"losses/entropy": float(n)})
    tree, model = shown.page.differences.tree, shown.differences
    at = [model.index(n, 0).data() for n in range(model.rowCount())].index("Metrics")
    tree.setExpanded(model.index(at, 0), False)
    model.take_metrics(run_id(3), {"losses/entropy": 9.0})
    assert not tree.isExpanded(model.index(at, 0))


def test_the_table_is_copied_for_a_spreadsheet(qtbot: QtBot, shown: Shown) -> None:
    """Whole ids and values stand between tabs."""
    open_differences(shown)
    qtbot.mouseClick(shown.page.differences.copy, LEFT)
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    lines = [line.split("\t") for line in clipboard.text().split("\n")]
    assert lines[1] == ["", "Run", *(run_id(n) for n in range(4))]
    assert ["Parameters", "learning_rate", "0.001", "0.001", "0.01", "0.01"] in lines


def test_one_run_has_no_comparison(shown: Shown) -> None:
    """Tab and chooser belong to several runs."""
    open_differences(shown)
    shown.model.watch(run_id(0))
    assert not shown.page.chooser.isVisible()
    assert shown.page.views.indexOf(shown.page.differences) < 0
    assert shown.differences.rowCount(QModelIndex()) == 0


def test_the_run_list_opens_the_differences(tmp_path: Path) -> None:
    """Its command `Show differences` opens the selected runs with this tab."""
    client = DesktopClient(tmp_path / "home", PreferenceStore(None))
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    runs = [compared(n, RATES[n // 2]) for n in range(4)]
    client.store.replace_runs(runs)
    client.watch.watch(runs[0].run_id, [one.run_id for one in runs[1:]])
    client.window.show()
    client.navigator.show_differences([one.run_id for one in runs])
    page = client.window.watch
    assert page.views.currentWidget() is page.differences
    client.window.close()
    client.window.deleteLater()


@pytest.mark.parametrize("width", [960, 1500])
def test_the_chooser_shows_both_ends_of_a_long_name(qtbot: QtBot, shown: Shown, width: int) -> None:
    """It has the room of the name, or shortens its middle; list and tool tip have the whole name."""
    long = "a-run-of-the-learning-rate-study-with-a-name-that-nobody-wants-to-type-again "
    runs = [
        run(n, RunState.SUCCEEDED, name=f"{long}{n}", spec={"seed": n, "name": f"{long}{n}"})
        for n in range(4)
    ]
    shown.store.replace_runs([])
    shown.store.replace_runs(runs)
    shown.page.resize(width, 740)
    shown.page.refresh()
    QGuiApplication.processEvents()
    combo = shown.page.chooser.runs
    name = combo.currentText()
    begin, _, end = combo.painted_name.partition("…")
    assert name.startswith(begin)
    assert name.endswith(end or begin)
    assert (combo.painted_name == name) == (combo.width() >= combo.sizeHint().width())
    assert not combo.grab().isNull()
    assert name in combo.toolTip()
    assert shown.page.width() == width
    combo.showPopup()
    rows = combo.view()
    assert rows is not None
    assert rows.minimumWidth() >= rows.sizeHintForColumn(0)
    combo.hidePopup()
