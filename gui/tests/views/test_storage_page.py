"""The page `Storage`: the picture with pointer and keys, the chosen run, lists, and how to begin."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import QModelIndex, QPoint, Qt
from PyQt6.QtTest import QAbstractItemModelTester, QSignalSpy
from PyQt6.QtWidgets import QApplication, QMenu, QPushButton
from pytestqt.qtbot import QtBot
from tests.specimen import run_id
from tests.storage_specimen import plan, report

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.tokens import THEMES, contrast
from mosaic_gui.viewmodels.storage import StorageModel
from mosaic_gui.views.main_window import STORAGE
from mosaic_gui.views.storage_page import StoragePage
from mosaic_gui.views.storage_painter import slice_tone

LEFT = Qt.MouseButton.LeftButton
KINDS = ("checkpoint", "video", "events", "tensorboard", "wandb", "log", "study", "steps", "other")


class StorageUse:
    """The page with a report and a plan."""

    def __init__(self, folder: Path) -> None:
        self.client = DesktopClient(folder)
        self.window = self.client.window
        self.window.resize(1280, 800)
        self.window.show()
        self.client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
        self.window.show_page(STORAGE)
        self.model.take_report(report(24))
        self.model.take_plan(plan())
        QApplication.processEvents()

    @property
    def model(self) -> StorageModel:
        """What the page shows."""
        return self.client.storage

    @property
    def page(self) -> StoragePage:
        """The page."""
        return self.window.storage

    def place_of(self, n: int) -> QPoint:
        """The middle of the tile of the n-th run."""
        number = self.model.tiles.place_of(run_id(n), "")
        assert number is not None
        return self.page.map.visualRect(self.model.tiles.index(number, 0)).center()

    def texts_of_side(self) -> list[str]:
        """What the panel of the chosen run says of its files."""
        rows = self.page.side._rows
        return [rows.data(rows.index(n, 0)) for n in range(rows.rowCount())]


@pytest.fixture
def used(qtbot: QtBot, tmp_path: Path) -> Iterator[StorageUse]:
    """A client with a shown page."""
    made = StorageUse(tmp_path)
    made.window.activateWindow()
    qtbot.waitUntil(made.window.isActiveWindow)
    yield made
    made.client.storage_controller.detach()
    made.window.close()
    made.window.deleteLater()


def test_a_click_chooses_a_run_and_shows_what_it_keeps(qtbot: QtBot, used: StorageUse) -> None:
    """The panel on the right has its kinds, and how many are kept of those allowed."""
    viewport = used.page.map.viewport()
    qtbot.mouseClick(viewport, LEFT, pos=used.place_of(2))
    assert used.model.chosen == run_id(2)
    assert used.texts_of_side() == ["Checkpoints", "Videos", "TensorBoard", "Logs", "Events"]
    assert "Goes next, in 12 days" in used.page.side._words.text()


def test_arrow_keys_move_between_tiles(qtbot: QtBot, used: StorageUse) -> None:
    """Home chooses the largest run of the first group; each arrow chooses another tile."""
    used.page.map.setFocus()
    qtbot.keyClick(used.page.map, Qt.Key.Key_Home)
    first = used.model.chosen
    assert first == run_id(0)
    qtbot.keyClick(used.page.map, Qt.Key.Key_Right)
    assert used.model.chosen not in ("", first)
    qtbot.keyClick(used.page.map, Qt.Key.Key_Left)
    assert used.model.chosen == first


@pytest.mark.nightly(by_day=["run"])
@pytest.mark.parametrize("key", ["origin", "kind", "run"])
def test_the_chosen_run_stays_chosen_in_every_grouping(used: StorageUse, key: str) -> None:
    """Whatever tiles lie together, the same run is marked."""
    used.model.choose(used.model.tiles.tiles[3])
    chosen = used.model.chosen
    used.page.groupings.choose(key)
    assert used.model.chosen == chosen
    current = used.page.map.currentIndex()
    assert used.model.tiles.tiles[current.row()].run_id == chosen


def test_a_new_report_keeps_the_choice(used: StorageUse) -> None:
    """Sizes change while somebody looks; a run that is gone is not chosen any more."""
    used.model.choose(used.model.tiles.tiles[3])
    chosen = used.model.chosen
    used.model.take_report(report(25))
    assert used.model.chosen == chosen
    used.model.take_report(report(1))
    assert used.model.chosen in ("", run_id(0))


def test_return_opens_the_run_and_p_pins_it(qtbot: QtBot, used: StorageUse) -> None:
    """As the buttons in the panel do."""
    pinned = QSignalSpy(used.model.pin_wanted)
    qtbot.mouseClick(used.page.map.viewport(), LEFT, pos=used.place_of(1))
    used.page.map.setFocus()
    qtbot.keyClick(used.page.map, Qt.Key.Key_P)
    assert list(pinned[0]) == [run_id(1), False]
    assert used.page.side.pin.text() == "Unpin"
    used.model.run_wanted.disconnect()
    opened = QSignalSpy(used.model.run_wanted)
    qtbot.keyClick(used.page.map, Qt.Key.Key_Return)
    assert list(opened[0]) == [run_id(1)]


def test_remove_now_is_offered_with_what_would_go(qtbot: QtBot, used: StorageUse) -> None:
    """The list is the preview; without files the button is disabled."""
    wanted = QSignalSpy(used.model.prune_wanted)
    assert used.page.lists.next.model() is used.model.next_rows
    assert used.model.next_rows.rowCount() == 5
    qtbot.mouseClick(used.page.lists.prune, LEFT)
    assert list(wanted[0]) == [[]]
    used.model.take_plan(plan(0, files=0))
    assert not used.page.lists.prune.isEnabled()


def test_the_files_of_one_run_can_be_removed_alone(qtbot: QtBot, used: StorageUse) -> None:
    """The button says how many, and how large."""
    wanted = QSignalSpy(used.model.prune_wanted)
    qtbot.mouseClick(used.page.map.viewport(), LEFT, pos=used.place_of(2))
    assert used.page.side.prune.text() == "Remove 1 file now: 3.0 MiB"
    qtbot.mouseClick(used.page.side.prune, LEFT)
    assert list(wanted[0]) == [[run_id(2)]]


def test_selected_files_of_the_trash_are_brought_back(qtbot: QtBot, used: StorageUse) -> None:
    """Each has the time that is left; without a selection all come back."""
    wanted = QSignalSpy(used.model.undo_wanted)
    used.page.lists.show_list("trash")
    rows = used.model.trash_rows
    assert rows.data(rows.index(0, 4)) == "in 22 h"
    qtbot.mouseClick(used.page.lists.restore, LEFT)
    used.page.lists.trash.selectRow(1)
    qtbot.mouseClick(used.page.lists.restore, LEFT)
    assert [list(wanted[n]) for n in range(len(wanted))] == [[[]], [[4]]]


def test_progress_is_shown_and_nothing_else_is_started(used: StorageUse) -> None:
    """A removal goes on; its buttons are disabled until it has ended."""
    used.model.take_progress("Removing files …", 3, 7)
    assert used.page._strip.isVisible()
    assert not used.page.lists.prune.isEnabled()
    used.model.end_progress()
    assert not used.page._strip.isVisible()


def test_an_empty_stack_says_how_to_begin(qtbot: QtBot, used: StorageUse) -> None:
    """Instead of a picture of nothing."""
    used.page.train_wanted.disconnect()
    wanted = QSignalSpy(used.page.train_wanted)
    used.model.take_report(report(0))
    assert used.page.first.isVisible()
    qtbot.mouseClick(used.page.first, LEFT)
    assert len(wanted) == 1


def test_a_problem_is_said_and_can_be_tried_again(qtbot: QtBot, used: StorageUse) -> None:
    """Where nothing was read, the page says why."""
    used.model.forget()
    used.model.take_problem("The scheduler is away.")
    again = used.page.findChild(QPushButton, "storage.again")
    assert again is not None
    wanted = QSignalSpy(used.model.wanted)
    qtbot.mouseClick(again, LEFT)
    assert len(wanted) == 1
    assert "The scheduler is away." in used.page._words.text()


def test_screen_readers_hear_each_tile(used: StorageUse) -> None:
    """Name, size and kinds of a run are the text of its item."""
    assert used.page.map.accessibleName() == "Runs by size"
    words = used.model.tiles.data(used.model.tiles.index(0, 0), Qt.ItemDataRole.AccessibleTextRole)
    assert "Checkpoints: " in words
    assert "\n" not in words
    assert "Videos: " in used.page.legend.accessibleDescription()


def test_two_thousand_runs_have_some_hundred_tiles(used: StorageUse) -> None:
    """The rest is one tile, and a point of the picture finds its tile."""
    used.model.take_report(report(2_000, rows=500))
    used.page.groupings.choose("run")
    QApplication.processEvents()
    assert used.model.tiles.rowCount() < 450
    for number in (0, 5, used.model.tiles.rowCount() - 1):
        index = used.model.tiles.index(number, 0)
        assert used.page.map.indexAt(used.page.map.visualRect(index).center()) == index


def test_the_model_keeps_qts_rules(used: StorageUse) -> None:
    """Rows that are replaced are announced."""
    mode = QAbstractItemModelTester.FailureReportingMode.Fatal
    tester = QAbstractItemModelTester(used.model.tiles, mode)
    for count in (3, 0, 9):
        used.model.take_report(report(count))
    assert tester.model() is used.model.tiles
    assert used.model.tiles.rowCount(QModelIndex()) == 9


@pytest.mark.parametrize("name", sorted(THEMES))
@pytest.mark.parametrize("kind", KINDS)
def test_words_on_a_slice_can_be_read(name: str, kind: str) -> None:
    """Text has a contrast of 4.5 at least on the colour of every kind."""
    tokens = THEMES[name]
    assert contrast(tokens.text, slice_tone(kind, tokens)) >= 4.5


def test_the_profile_of_a_run_is_chosen_from_a_menu(qtbot: QtBot, used: StorageUse) -> None:
    """The one in force is ticked; the default one is taken by name, not for ever."""
    side = used.page.side
    qtbot.mouseClick(used.page.map.viewport(), LEFT, pos=used.place_of(2))
    assert side.profile.text() == "Storage profile: default"
    asked = QSignalSpy(used.model.profiles_wanted)
    qtbot.mouseClick(side.profile, LEFT)
    assert len(asked) == 1
    wanted = QSignalSpy(used.model.profile_wanted)
    used.model.profiles_known.emit(["default", "lean"])
    menu = side.findChild(QMenu, "storage.profiles")
    assert menu is not None
    actions = menu.actions()
    assert [action.text() for action in actions] == ["default (the default profile)", "lean"]
    assert [action.isChecked() for action in actions] == [True, False]
    actions[1].trigger()
    actions[0].trigger()
    assert [list(wanted[n]) for n in range(2)] == [[run_id(2), "lean"], [run_id(2), None]]
    menu.close()
