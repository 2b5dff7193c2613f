"""The run list in its page: search box, columns, saved views, tags, renaming, groups, menu."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from PyQt6.QtCore import QPoint, Qt
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication, QLineEdit, QMenu, QWidget
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id, summary
from tests.viewmodels.test_run_list import GROUP, of_group

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.controllers.list_views import VIEWS_FILE, ListViewsController
from mosaic_gui.state.run_views import ListArrangement
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.list_views import ListViewsModel
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.viewmodels.trash import TrashModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.column_popup import ColumnPopup
from mosaic_gui.views.run_rows import ROW_HEIGHT
from mosaic_gui.views.runs_page import RunsPage
from mosaic_gui.views.tag_popup import TagPopup

LEFT = Qt.MouseButton.LeftButton
KEYS = Qt.Key


@dataclass
class Listed:
    """The page over a store."""

    page: RunsPage
    store: Store
    model: RunListModel
    views: ListViewsModel

    def take(self, *runs: RunView) -> None:
        """Show these runs, the last one on top."""
        self.model.consume(self.store.take_runs(runs))

    def shown(self) -> list[str]:
        """Titles of the columns in sight, from left to right."""
        keys = {key: n for n, key in enumerate(self.model.column_keys())}
        return [self.model.title_of(keys[place.key]) for place in self.page.table.columns()]

    def place_of(self, row: int, column: int) -> QPoint:
        """The middle of a cell."""
        table = self.page.table
        left = table.pinned_header.left_of(column) + table.columnWidth(column) // 2
        return QPoint(left, row * ROW_HEIGHT + ROW_HEIGHT // 2)


def viewport(page: RunsPage) -> QWidget:
    """Where rows are painted."""
    found = page.table.viewport()
    assert found is not None
    return found


@pytest.fixture
def listed(qtbot: QtBot) -> Listed:
    """Four runs that differ in learning rate, tags and returns."""
    store, views = Store(), ListViewsModel()
    model = RunListModel(store)
    page = RunsPage(model, WatchModel(store), TrashModel(), views)
    model.setParent(page)
    qtbot.addWidget(page)
    page.resize(1100, 700)
    page.show()
    made = Listed(page, store, model, views)
    for n in range(4):
        made.take(
            run(
                n,
                RunState.FAILED if n == 3 else RunState.SUCCEEDED,
                spec={"parameters": {"learning_rate": (1e-3, 1e-4)[n % 2]}},
                defaults={"gamma": 0.99},
                tags=["ablation", "paper"][: n % 3],
                summary=summary(n, best_return=100.0 * n),
            )
        )
    return made


def test_the_box_completes_and_searches(qtbot: QtBot, listed: Listed) -> None:
    """Letters offer terms, Tab takes one, and the list follows each term."""
    box = listed.page.search
    box.setFocus()
    qtbot.keyClicks(box, "sta")
    assert box.completions == ["state:"]
    popup = box._completer.popup()
    assert popup is not None
    qtbot.keyClick(popup, KEYS.Key_Tab)
    assert box.text() == "state:"
    assert "state:failed" in box.completions
    qtbot.keyClicks(box, "fa")
    qtbot.keyClick(popup, KEYS.Key_Tab)
    assert box.text() == "state:failed "
    assert [one.run_id for one in map(listed.model.run_at, range(9)) if one] == [run_id(3)]
    qtbot.keyClicks(box, "lr:")
    assert set(box.completions) == {"lr:0.001", "lr:0.0001"}


def test_a_wrong_term_is_said_below_the_box(qtbot: QtBot, listed: Listed) -> None:
    """Return asks what is wrong; the list keeps what it shows, and the words go with the mistake."""
    page = listed.page
    page.search.setFocus()
    qtbot.keyClicks(page.search, "gama>1")
    assert not page.search.fault.isVisible()
    popup = page.search._completer.popup()
    assert popup is not None
    popup.hide()
    qtbot.keyClick(page.search, KEYS.Key_Return)
    assert page.search.fault.isVisible()
    assert "Did you mean gamma?" in page.search.fault.text()
    assert listed.model.rowCount() == 4
    page.search.setText("gamma<1")
    assert not page.search.fault.isVisible()
    page.search.setText("m.entropy>1")
    page.search.refuse_metric("entropy", ["a/entropy", "b/entropy"])
    assert "everal metrics end so: a/entropy, b/entropy" in page.search.fault.text()


def test_columns_are_added_pinned_moved_and_hidden(qtbot: QtBot, listed: Listed) -> None:
    """A parameter becomes a column by a click in the popup; pinned columns stay while the rest is scrolled."""
    page, header = listed.page, listed.page.table.pinned_header
    page.view_menu.choose_columns()
    popup = page.findChild(ColumnPopup)
    assert popup is not None
    qtbot.keyClicks(popup.field, "lr")
    assert popup.list.currentIndex().data() == "Parameter learning_rate (lr)"
    qtbot.keyClick(popup.field, KEYS.Key_Return)
    popup.close()
    assert listed.shown()[-1] == "lr"
    added = len(Column)
    page.table.pin_column(added, True)
    assert listed.shown()[:3] == ["State", "Run", "lr"]
    page.resize(700, 500)
    QApplication.processEvents()
    bar = page.table.horizontalScrollBar()
    assert bar is not None
    bar.setValue(120)
    assert next(header.left_of(n) for n in header.pinned) == 0
    assert header.column_at(5) == Column.STATE
    header.moveSection(header.visualIndex(added), header.count() - 1)
    assert not header.is_pinned(added)
    page.table.show_column("p:learning_rate", False)
    page.table.show_column("elapsed", False)
    assert not {"lr", "Elapsed"} & set(listed.shown())


def test_space_ticks_a_column_that_an_arrow_chose(qtbot: QtBot, listed: Listed) -> None:
    """Behind a letter it is part of the search."""
    listed.page.view_menu.choose_columns()
    popup = listed.page.findChild(ColumnPopup)
    assert popup is not None
    qtbot.keyClick(popup.field, KEYS.Key_Down)
    name = popup.list.currentIndex().data()
    is_shown = name in listed.shown()
    qtbot.keyClick(popup.field, KEYS.Key_Space)
    assert (name in listed.shown()) is not is_shown
    qtbot.keyClicks(popup.field, "mean ")
    assert popup.field.text() == "mean "
    popup.close()


@pytest.mark.parametrize(
    ("column", "order"),
    [
        (Column.BEST_RETURN, Qt.SortOrder.DescendingOrder),
        (Column.ALGORITHM, Qt.SortOrder.AscendingOrder),
    ],
)
def test_the_first_click_on_a_title_has_the_best_above(
    qtbot: QtBot, listed: Listed, column: Column, order: Qt.SortOrder
) -> None:
    """Returns begin with the highest one, names with the first letter; a second click turns it round."""
    header = listed.page.table.pinned_header
    listed.page.table.setColumnHidden(column, False)
    listed.page.resize(1900, 700)
    QApplication.processEvents()
    place = QPoint(header.left_of(column) + 8, header.height() // 2)
    view = header.viewport()
    assert view is not None
    qtbot.mouseClick(view, LEFT, pos=place)
    assert (header.sortIndicatorSection(), header.sortIndicatorOrder()) == (column, order)
    qtbot.mouseClick(view, LEFT, pos=place)
    assert header.sortIndicatorOrder() != order


def test_parameters_that_differ_are_offered_to_group_by(listed: Listed) -> None:
    """They need not be columns first."""
    menu = listed.page.view_menu.open()
    inner = next(one for action in menu.actions() if (one := action.menu()) is not None)
    assert "lr" in [action.text() for action in inner.actions()]
    menu.close()


def test_a_wide_window_shares_what_is_left(listed: Listed) -> None:
    """The name does not take it all while other columns are cut."""
    table = listed.page.table
    before = table.columnWidth(Column.REMAINING), table.columnWidth(Column.TAGS)
    listed.page.resize(1900, 700)
    QApplication.processEvents()
    assert table.columnWidth(Column.REMAINING) > before[0] + 100
    assert table.columnWidth(Column.TAGS) > before[1] + 50


def test_a_view_is_saved_shown_again_and_kept(qtbot: QtBot, listed: Listed, tmp_path: Path) -> None:
    """Columns, widths, order, search and grouping come back under a name, also in the next window."""
    said: list[str] = []
    keeper = ListViewsController(tmp_path, listed.views, said.append, listed.page)
    page = listed.page
    page.table.show_column("p:learning_rate", True)
    page.search.setText("best>=100")
    page.table.sortByColumn(Column.BEST_RETURN, Qt.SortOrder.AscendingOrder)
    page.view_menu.group_by("p:learning_rate")
    saved = page.arrangement()
    listed.views.save("Rates", saved)
    page.arrange(ListArrangement())
    assert (page.search.text(), listed.model.grouped_by, listed.model.rowCount()) == ("", "", 4)
    page.view_menu.show_view("Rates")
    assert page.arrangement() == saved
    assert listed.model.rowCount() == 5
    listed.views.start_with("Rates")
    keeper.stop()
    again = ListViewsModel()
    reader = ListViewsController(tmp_path, again, said.append, listed.page)
    assert again.saved.at_start == saved
    assert (tmp_path / VIEWS_FILE).exists()
    again.remove("Rates")
    assert again.saved.at_start == again.saved.last
    reader.stop()
    assert said == []


def test_a_file_of_views_that_is_wrong_is_kept(listed: Listed, tmp_path: Path) -> None:
    """The window starts with the usual list and says which file it could not use."""
    (tmp_path / VIEWS_FILE).write_text("views = 3")
    made = ListViewsModel()
    keeper = ListViewsController(tmp_path, made, lambda _words: None, listed.page)
    assert VIEWS_FILE in keeper.problem
    made.save("a", ListArrangement())
    keeper.stop()
    assert (tmp_path / "run_list.bad.toml").read_text() == "views = 3"


def test_a_tag_goes_by_its_cross(qtbot: QtBot, listed: Listed) -> None:
    """In the row, and in the popup where several runs lose it at once."""
    page = listed.page
    page.resize(1700, 700)
    QApplication.processEvents()
    cell = listed.place_of(1, Column.TAGS)  # the run with two tags is the third of four
    table = page.table
    left = table.pinned_header.left_of(Column.TAGS)
    chips = [table.chip_at(QPoint(left + x, cell.y())) for x in range(0, 160, 4)]
    chip = next(one for one in chips if one is not None and one.tag == "ablation")
    gone = QSignalSpy(page.commands.tag_removal_wanted)
    qtbot.mouseClick(viewport(page), LEFT, pos=chip.cross.center())
    assert gone[0] == [[run_id(2)], "ablation"]
    page.table.selectAll()
    page.commands.tag_action.trigger()
    popup = page.findChild(TagPopup)
    assert popup is not None
    remove = popup.findChild(QWidget, "tags.remove.paper")
    assert remove is not None
    qtbot.mouseClick(remove, LEFT)
    assert gone[1][1] == "paper"
    popup.close()


def test_a_run_is_renamed_in_its_row(qtbot: QtBot, listed: Listed) -> None:
    """F2 opens a field over the name; Return keeps, Escape does not."""
    page = listed.page
    page.select_run(run_id(1))
    wanted = QSignalSpy(page.rename_wanted)
    page.commands.rename_action.trigger()
    field = page.table.findChild(QLineEdit, "runs.name")
    assert field is not None
    field.clear()
    qtbot.keyClicks(field, "my best")
    qtbot.keyClick(field, KEYS.Key_Return)
    assert wanted[0] == [run_id(1), "my best"]
    QApplication.sendPostedEvents(None, 52)
    page.commands.rename_action.trigger()
    again = page.table.findChildren(QLineEdit, "runs.name")[-1]
    qtbot.keyClicks(again, "no")
    qtbot.keyClick(again, KEYS.Key_Escape)
    assert len(wanted) == 1
    named = run(1, RunState.SUCCEEDED, revision=2, name="my best")
    listed.take(named)
    assert listed.model.title(named).startswith("my best")


def test_a_group_is_stopped_retried_and_deleted_as_one(qtbot: QtBot, listed: Listed) -> None:
    """Its row stops what is live, starts what failed, and is deleted when all has ended."""
    page = listed.page
    listed.take(of_group(10, 0, RunState.FAILED), of_group(11, 1, RunState.RUNNING))
    page.table.selectRow(0)
    assert page.commands.retry_action.text() == "Retry what failed"
    spies = [
        QSignalSpy(one)
        for one in (
            page.commands.groups_stop_wanted,
            page.commands.groups_retry_wanted,
            page.commands.groups_delete_wanted,
        )
    ]
    lone = QSignalSpy(page.commands.stop_wanted)
    page.commands.stop_action.trigger()
    page.commands.retry_action.trigger()
    page.commands.delete_action.trigger()
    assert (spies[0][0], spies[1][0], len(spies[2]), len(lone)) == ([[GROUP]], [[GROUP]], 0, 0)
    listed.take(of_group(11, 1).model_copy(update={"revision": 3}))
    page.commands.delete_action.trigger()
    assert spies[2][0] == [[GROUP]]


def test_a_group_opens_by_its_arrow_and_by_keys(qtbot: QtBot, listed: Listed) -> None:
    """A click on the arrow, Right and Left; Left on a run goes to its group."""
    page = listed.page
    listed.take(of_group(10, 0), of_group(11, 1))
    qtbot.mouseClick(viewport(page), LEFT, pos=QPoint(8, 20))
    assert listed.model.rowCount() == 7
    page.table.selectRow(1)
    qtbot.keyClick(page.table, KEYS.Key_Left)
    assert page.table.currentIndex().row() == 0
    qtbot.keyClick(page.table, KEYS.Key_Left)
    assert listed.model.rowCount() == 5
    qtbot.keyClick(page.table, KEYS.Key_Right)
    assert listed.model.rowCount() == 7


def test_the_menu_offers_what_can_be_done(listed: Listed) -> None:
    """No grey lines: on a run what fits it, below the runs what concerns the list."""
    page = listed.page
    names = [one.objectName() for one in page.commands.menu_actions(False) if one is not None]
    assert names[0] == "columns"
    page.select_run(run_id(3))
    found = page.commands.menu_actions(True)
    names = [one.objectName() for one in found if one is not None]
    assert {"retry", "rename", "copy_id", "copy_command", "copy_link", "pin"} <= set(names)
    assert "stop" not in names
    assert None not in (found[0], found[-1])
    page._show_menu(QPoint(5, 5))
    menu = page.findChild(QMenu)
    assert menu is not None
    assert all(action.isEnabled() for action in menu.actions())
    menu.close()


def test_a_run_is_copied_as_the_command_that_starts_it(listed: Listed) -> None:
    """With its parameters and seed, and nothing that holds anyway."""
    page, said = listed.page, QSignalSpy(listed.page.commands.said)
    clipboard = QGuiApplication.clipboard()
    assert clipboard is not None
    page.select_run(run_id(1))
    page.commands.copy_command_action.trigger()
    command = "./mosaic run cleanrl ppo CartPole-v1 --seed 2 -p learning_rate=0.0001"
    assert clipboard.text() == command
    page.commands.copy_id_action.trigger()
    assert clipboard.text() == run_id(1)
    page.commands.copy_link_action.trigger()
    assert clipboard.text() == f"./mosaic gui --run {run_id(1)}"
    assert len(said) == 3
