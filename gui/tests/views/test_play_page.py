"""The page `Play`: found by a few letters, started by one key."""

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot
from tests.play_specimen import CART, INSTALL, LAKE, PONG, play_worker
from tests.viewmodels.test_play_start import agents, trained

from mosaic_contracts.runs import ArtifactRow
from mosaic_gui.state.play_form import OPTIONS
from mosaic_gui.state.play_memory import AGENT
from mosaic_gui.state.store import Store
from mosaic_gui.viewmodels.play_start import PlayStartModel
from mosaic_gui.views.play_page import PlayPage

LEFT = Qt.MouseButton.LeftButton


class Shown:
    """The page in a window."""

    def __init__(self) -> None:
        self.store = Store()
        self.model = PlayStartModel(self.store)
        self.model.take_workers([agents(), play_worker()])
        self.page = PlayPage(self.model)
        self.page.resize(1000, 700)
        self.page.show()
        self.specs = QSignalSpy(self.model.start_wanted)
        self.plays = QSignalSpy(self.model.play_wanted)


@pytest.fixture
def shown(qtbot: QtBot) -> Shown:
    """The page with the worker's default chosen."""
    made = Shown()
    qtbot.addWidget(made.page)
    made.page.activateWindow()
    qtbot.waitUntil(made.page.isActiveWindow)
    return made


def test_a_few_letters_and_return_start_a_play(qtbot: QtBot, shown: Shown) -> None:
    """The search has the focus when the page is shown; arrows move in the list."""
    search = shown.page.list.search
    assert QApplication.focusWidget() is search
    qtbot.keyClicks(search, "frozen")
    assert shown.model.environment == LAKE
    assert [name for part, name in shown.page.rows if part == OPTIONS] == [
        "map_name", "is_slippery", "size",
    ]  # fmt: skip
    search.clear()
    qtbot.keyClick(search, Qt.Key.Key_Up)
    assert shown.model.environment == CART
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert shown.specs[0][0]["environment"] == CART


def test_the_list_grows_while_a_search_is_open(qtbot: QtBot, shown: Shown) -> None:
    """What was chosen among the matches stays chosen."""
    search = shown.page.list.search
    qtbot.keyClicks(search, "-v1")
    qtbot.keyClick(search, Qt.Key.Key_Down)
    assert shown.model.environment == LAKE
    shown.model.consume(shown.store.replace_runs([trained(0, spec={"environment": "Another-v1"})]))
    assert "Another-v1" in [entry.id for entry in shown.model.entries]
    assert shown.model.environment == LAKE


def test_an_environment_of_ones_own_is_named_by_its_module(qtbot: QtBot, shown: Shown) -> None:
    """It is in no list; the worker says whether its module is there."""
    search = shown.page.list.search
    qtbot.keyClicks(search, "mine:Own-v0")
    qtbot.keyClick(search, Qt.Key.Key_Return)
    assert shown.specs[0][0]["environment"] == "mine:Own-v0"


def test_what_is_not_installed_names_its_command(qtbot: QtBot, shown: Shown) -> None:
    """It can be copied, and looked for again; nothing starts."""
    shown.model.choose_environment(PONG)
    command = shown.page.findChild(QLabel, "play.install")
    assert command is not None
    assert (command.text(), command.isVisible()) == (INSTALL, True)
    assert not shown.page.start.isEnabled()
    wanted = QSignalSpy(shown.page.reload_wanted)
    again = shown.page.findChild(QPushButton, "play.install.again")
    qtbot.mouseClick(again, LEFT)
    assert len(wanted) == 1


def test_a_refusal_is_said_and_the_button_comes_back(qtbot: QtBot, shown: Shown) -> None:
    """What was typed stays."""
    qtbot.mouseClick(shown.page.start, LEFT)
    assert not shown.page.start.isEnabled()
    shown.model.take_refusal("The queue is full.", [])
    assert shown.page._why.text() == "The queue is full."
    assert shown.page.start.isEnabled()


def test_a_checkpoint_acts_in_the_same_panel(qtbot: QtBot, shown: Shown) -> None:
    """At the environment's own rate, greedy unless the user asks for sampled actions."""
    shown.model.consume(shown.store.replace_runs([trained(0)]))
    rows = [ArtifactRow(path="checkpoints/final.pt", kind="checkpoint", bytes=1, step=1)]
    shown.model.take_checkpoints(shown.model.run_id, rows)
    shown.page.actor.choose(AGENT)
    assert shown.page.runs.currentText().startswith("PPO · CartPole-v1")
    assert shown.page.how.checkpoint.currentText() == "final.pt"
    shown.page.how.sampled.choose("sampled")
    qtbot.mouseClick(shown.page.start, LEFT)
    fields = {"episodes": 10, "seed": 1, "pace": 50.0, "parameters": {"sampled": True}}
    assert shown.plays[0] == [shown.model.run_id, "checkpoints/final.pt", fields]
