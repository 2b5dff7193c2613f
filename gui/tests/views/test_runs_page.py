from dataclasses import dataclass

import pytest
from PyQt6.QtCore import QEvent, QItemSelectionModel, QObject, QPoint, Qt
from PyQt6.QtGui import QPaintEvent
from PyQt6.QtTest import QSignalSpy, QTest
from PyQt6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id

from mosaic_contracts.states import RunState
from mosaic_gui.state.store import Store
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.list_views import ListViewsModel
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_table import Column, Role
from mosaic_gui.viewmodels.trash import TrashModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.note_popup import NotePopup
from mosaic_gui.views.run_rows import ROW_HEIGHT
from mosaic_gui.views.runs_page import RunsPage
from mosaic_gui.views.tag_popup import TagPopup

LEFT = Qt.MouseButton.LeftButton


@dataclass
class Shown:
    """The page over a store."""

    page: RunsPage
    store: Store
    model: RunListModel

    def take(self, *states: RunState) -> None:
        """Show one run for each state, the first one on top."""
        runs = [run(len(states) - n, state) for n, state in enumerate(states)]
        self.model.consume(self.store.replace_runs(runs))

    def select(self, *rows: int) -> None:
        """Select rows from top to bottom."""
        selection = self.page.table.selectionModel()
        assert selection is not None
        model = self.page.table.model()
        assert model is not None
        flags = QItemSelectionModel.SelectionFlag
        selection.clearSelection()
        for row in rows:
            selection.select(model.index(row, 0), flags.Select | flags.Rows)

    def button(self, name: str) -> QPushButton:
        """A button by its object name."""
        found = self.page.findChild(QPushButton, name)
        assert found is not None
        return found


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """The page without runs."""
    store = Store()
    model = RunListModel(store)
    page = RunsPage(model, WatchModel(store), TrashModel(), ListViewsModel())
    model.setParent(page)
    qtbot.addWidget(page)
    page.resize(1100, 700)
    page.show()
    return Shown(page, store, model)


def test_an_empty_list_leads_to_the_first_run(qtbot: QtBot, shown: Shown) -> None:
    """A user who sees the client for the first time has one thing to press."""
    wanted = QSignalSpy(shown.page.train_wanted)
    first = shown.button("runs.first")
    assert first.isVisible()
    qtbot.mouseClick(first, LEFT)
    assert len(wanted) == 1
    shown.take(RunState.RUNNING)
    assert not first.isVisible()


@pytest.mark.parametrize(
    ("states", "rows", "enabled"),
    [
        ((RunState.RUNNING, RunState.FAILED), (), set()),
        ((RunState.RUNNING, RunState.FAILED), (0,), {"open", "copy", "tag", "note", "stop"}),
        ((RunState.RUNNING, RunState.FAILED), (1,), {"open", "copy", "tag", "note", "delete"}),
        ((RunState.RUNNING, RunState.FAILED), (0, 1), {"open", "tag", "stop", "delete"}),
    ],
)
def test_what_can_be_done_follows_the_selection(
    shown: Shown, states: tuple[RunState, ...], rows: tuple[int, ...], enabled: set[str]
) -> None:
    """Only what makes sense for the selected runs can be pressed."""
    shown.take(*states)
    shown.select(*rows)
    names = ("open", "copy", "tag", "note", "delete", "stop")
    assert {name for name in names if shown.button(f"runs.{name}").isEnabled()} == enabled


def test_many_runs_are_stopped_deleted_and_compared(qtbot: QtBot, shown: Shown) -> None:
    """Each act takes those of the selected runs that it can be done to."""
    shown.take(RunState.RUNNING, RunState.FAILED, RunState.QUEUED)
    page = shown.page
    spies = [
        QSignalSpy(s)
        for s in (page.commands.stop_wanted, page.commands.delete_wanted, page.commands.open_wanted)
    ]
    shown.select(0, 1, 2)
    assert shown.button("runs.open").text() == "Compare"
    for name in ("stop", "delete", "open"):
        qtbot.mouseClick(shown.button(f"runs.{name}"), LEFT)
    assert spies[0][0] == [[run_id(3), run_id(1)]]
    assert spies[1][0] == [[run_id(2)]]
    assert spies[2][0] == [[run_id(3), run_id(2), run_id(1)]]


def test_the_selection_follows_a_run_that_ends(shown: Shown) -> None:
    """Stop goes away under the pointer as soon as the run has ended."""
    shown.take(RunState.RUNNING)
    shown.select(0)
    assert shown.button("runs.stop").isEnabled()
    ended = run(1, RunState.SUCCEEDED, revision=2)
    shown.model.consume(shown.store.take_runs([ended]))
    assert not shown.button("runs.stop").isEnabled()
    assert shown.button("runs.delete").isEnabled()


def test_tags_are_given_without_a_dialog(qtbot: QtBot, shown: Shown) -> None:
    """A small field takes the words and goes by itself."""
    shown.take(RunState.FAILED)
    shown.select(0)
    wanted = QSignalSpy(shown.page.commands.tags_wanted)
    qtbot.mouseClick(shown.button("runs.tag"), LEFT)
    popup = next(w for w in QApplication.topLevelWidgets() if isinstance(w, TagPopup))
    popup.field.setText("a, b,")
    qtbot.keyClick(popup.field, Qt.Key.Key_Return)
    assert wanted[0] == [[run_id(1)], ["a", "b"]]


def test_search_and_filter_work_together(qtbot: QtBot, shown: Shown) -> None:
    """The count says how many of all are shown."""
    shown.take(RunState.RUNNING, RunState.FAILED, RunState.FAILED)
    qtbot.mouseClick(shown.button("runs.groups.failed"), LEFT)
    qtbot.keyClicks(shown.page.search, run_id(1)[-4:])
    model = shown.page.table.model()
    assert model is not None
    assert model.rowCount() == 1
    assert shown.page._count.text() == "1 of 3 runs"


def test_everything_has_a_key(qtbot: QtBot, shown: Shown) -> None:
    """Return opens and Ctrl+. stops, without the mouse."""
    shown.take(RunState.RUNNING)
    shown.page.select_run(run_id(1))
    shown.page.activateWindow()
    shown.page.table.setFocus()
    opened, stopped = (
        QSignalSpy(shown.page.commands.open_wanted),
        QSignalSpy(shown.page.commands.stop_wanted),
    )
    qtbot.keyClick(shown.page.table, Qt.Key.Key_Return)
    qtbot.keyClick(shown.page.table, Qt.Key.Key_Period, Qt.KeyboardModifier.ControlModifier)
    assert len(opened) == len(stopped) == 1


def grouped(page: RunsPage) -> bool:
    """Whether the list is grouped now."""
    return bool(page._model.grouped_by)


def test_groups_keep_the_selection_and_stand_for_their_runs(qtbot: QtBot, shown: Shown) -> None:
    """One press groups the list; a chosen group is all of its runs, so seeds are compared at once."""
    shown.take(RunState.SUCCEEDED, RunState.FAILED, RunState.SUCCEEDED)
    shown.page.select_run(run_id(2))
    qtbot.mouseClick(shown.button("runs.grouping"), LEFT)
    assert grouped(shown.page)
    assert [one.run_id for one in shown.page.selected] == [run_id(2)]
    shown.select(0)
    assert len(shown.page.selected) == 3
    assert shown.button("runs.open").text() == "Compare"
    qtbot.mouseClick(shown.button("runs.grouping"), LEFT)
    assert not grouped(shown.page)
    assert len(shown.page.selected) == 3


def test_a_note_is_read_and_written(qtbot: QtBot, shown: Shown) -> None:
    """The note opens with what was written, stands next to the run, and changes by one key."""
    shown.take(RunState.FAILED)
    noted = run(1, RunState.FAILED, revision=2, note="too hot\nsecond line")
    shown.model.consume(shown.store.take_runs([noted]))
    index = shown.page.table.model().index(0, Column.RUN)  # type: ignore[union-attr]
    assert index.data(Role.SUBTITLE).endswith("—  too hot")
    shown.select(0)
    wanted = QSignalSpy(shown.page.commands.note_wanted)
    qtbot.mouseClick(shown.button("runs.note"), LEFT)
    popup = shown.page.findChild(NotePopup)
    assert popup is not None
    assert popup.field.toPlainText() == "too hot\nsecond line"
    popup.field.setPlainText("fine")
    qtbot.keyClick(popup.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert wanted[0] == [run_id(1), "fine"]


class _Painted(QObject):
    """Heights of what a list paints."""

    def __init__(self) -> None:
        super().__init__()
        self.heights: list[int] = []

    def eventFilter(self, _target: QObject | None, event: QEvent | None) -> bool:
        if isinstance(event, QPaintEvent):
            self.heights.append(event.region().boundingRect().height())
        return False


def test_only_what_scrolls_into_sight_is_painted(shown: Shown) -> None:
    """A list that is scrolled moves the rows that it has painted."""
    shown.take(*[RunState.RUNNING] * 100)
    QApplication.processEvents()
    viewport, bar = shown.page.table.viewport(), shown.page.table.verticalScrollBar()
    assert viewport is not None
    assert bar is not None
    painted = _Painted()
    bar.setValue(ROW_HEIGHT)
    QApplication.processEvents()
    viewport.installEventFilter(painted)
    bar.setValue(4 * ROW_HEIGHT)
    QApplication.processEvents()
    assert painted.heights
    assert max(painted.heights) <= 3 * ROW_HEIGHT


def test_the_row_pointed_at_is_lit(shown: Shown) -> None:
    """The row under the pointer has another ground, and only that one."""
    shown.take(*[RunState.RUNNING] * 5)
    viewport = shown.page.table.viewport()
    assert viewport is not None
    QTest.mouseMove(
        viewport,  # type: ignore[call-overload]  # the stubs take it for a method
        QPoint(300, ROW_HEIGHT + 10),
    )
    QApplication.processEvents()
    image = viewport.grab().toImage()
    grounds = [image.pixelColor(2, n * ROW_HEIGHT + 20).name() for n in range(4)]
    tokens = current()
    assert grounds == [tokens.surface, tokens.hover, tokens.surface, tokens.surface]


def test_what_leaves_nothing_can_be_taken_back(qtbot: QtBot, shown: Shown) -> None:
    """An empty result says so and has the way out."""
    shown.take(RunState.RUNNING, RunState.FAILED)
    back = shown.button("runs.show_all")
    assert not back.isVisible()
    qtbot.keyClicks(shown.page.search, "nothing like it")
    shown.button("runs.groups.failed").click()
    assert back.isVisible()
    qtbot.mouseClick(back, LEFT)
    assert not back.isVisible()
    assert shown.page.search.text() == ""
    assert shown.page.groups.key == "all"
    assert shown.model.rowCount() == 2


def test_a_list_that_is_not_read_yet_is_not_called_empty(shown: Shown) -> None:
    """That nothing has run is said once it is known."""
    shown.page.set_read(False)
    assert not shown.button("runs.first").isVisible()
    shown.page.set_read(True)
    assert shown.button("runs.first").isVisible()
    assert not shown.page.search.isVisible()


def test_a_run_keeps_its_name_in_a_narrow_window(shown: Shown) -> None:
    """The list is scrolled sideways before a name is cut to nothing; with room the name has what is left."""
    shown.take(RunState.RUNNING)
    table = shown.page.table
    shown.page.resize(800, 600)
    QApplication.processEvents()
    assert table.columnWidth(Column.RUN) == 178
    shown.page.resize(1500, 600)
    QApplication.processEvents()
    bar = table.horizontalScrollBar()
    assert bar is not None
    assert bar.maximum() == 0
    assert table.columnWidth(Column.RUN) > 300


def test_tensorboard_opens_with_all_selected_runs(shown: Shown) -> None:
    """Grey with the reason while nothing is selected, or one is starting."""
    shown.take(RunState.SUCCEEDED, RunState.RUNNING, RunState.FAILED)
    way = shown.button("runs.tensorboard")
    wanted = QSignalSpy(shown.page.tensorboard_wanted)
    assert (way.isEnabled(), way.toolTip()) == (False, "Choose runs.")
    shown.select(0, 2)
    assert way.isEnabled()
    way.click()
    chosen = [one.run_id for one in shown.page.selected]
    assert wanted[0] == [chosen]
    assert len(chosen) == 2
    shown.page.watch.set_tensorboard_starting(True)
    assert (way.isEnabled(), way.toolTip()) == (False, "TensorBoard is starting …")
