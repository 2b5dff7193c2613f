"""Keys of commands, changed in the settings of the real window."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QAction, QKeySequence, QShortcut
from PyQt6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.state.command_keys import COMMANDS, FIXED
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.chosen_keys import use_keys
from mosaic_gui.views.main_window import PAGES, RUNS, SETTINGS, STORAGE


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """The window at its settings, with two runs."""
    made = DesktopClient(tmp_path, PreferenceStore(tmp_path / "gui"))
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made.table.consume(made.store.replace_runs([run(0), run(1)]))
    made.window.show()
    made.window.show_page(SETTINGS)
    made.window.activateWindow()
    qtbot.waitUntil(made.window.isActiveWindow)
    yield made
    made.window.close()
    made.window.deleteLater()
    use_keys({})


def press(qtbot: QtBot, client: DesktopClient, name: str, keys: str) -> None:
    """Choose a command, press Change, and then its new keys."""
    panel = client.window.settings.keys
    panel.choose(name)
    panel.change.click()
    assert panel.change.text() == "Press the keys …"
    qtbot.keySequence(QApplication.focusWidget(), keys)


@pytest.mark.nightly
def test_a_command_gets_other_keys_at_once(
    qtbot: QtBot, client: DesktopClient, tmp_path: Path
) -> None:
    """The new keys act and the old ones do not; tool tip, palette and file have them; Reset takes them back."""
    window = client.window
    press(qtbot, client, "storage", "Ctrl+Shift+U")
    assert window.page == SETTINGS
    assert 'storage = "Ctrl+Shift+U"' in (tmp_path / "gui" / "settings.toml").read_text()
    assert window.agents_dock.page_buttons["storage"].toolTip() == "Storage (Ctrl+Shift+U)"
    qtbot.keySequence(window, "Ctrl+8")
    assert window.page == SETTINGS
    qtbot.keySequence(window, "Ctrl+Shift+U")
    assert window.page == STORAGE
    window.show_page(SETTINGS)
    window.settings.keys.choose("storage")
    window.settings.keys.reset.click()
    qtbot.keySequence(window, "Ctrl+8")
    assert window.page == STORAGE


def test_taken_keys_are_refused_with_the_command_that_has_them(
    qtbot: QtBot, client: DesktopClient
) -> None:
    """The pressed keys do not act, both commands keep theirs, and Escape cancels."""
    panel = client.window.settings.keys
    press(qtbot, client, "theme", "Ctrl+1")
    assert client.window.page == SETTINGS
    assert panel.state.text().startswith("Ctrl+1 is taken by Runs (every page).")
    assert client.preferences.settings.keys == {}
    panel.change.click()
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Escape)
    assert client.window.page == SETTINGS
    assert panel.change.text() == "Change …"


def test_pages_that_are_made_later_have_the_chosen_keys(
    qtbot: QtBot, client: DesktopClient
) -> None:
    """On a page as in the list; keys of the last session too."""
    press(qtbot, client, "watch.note", "Ctrl+J")
    press(qtbot, client, "runs.note", "Ctrl+J")
    client.watch.watch(run_id(0))
    client.window.show_page("watch")
    qtbot.keySequence(client.window, "Ctrl+J")
    assert client.window.watch.note.field.hasFocus()
    assert client.window.runs.commands.note_action.shortcut() == QKeySequence("Ctrl+J")
    assert client.window.runs.bar.buttons["note"].toolTip().endswith("(Ctrl+J)")
    client.window.show_page(RUNS)


def test_all_keys_of_the_window_are_known(client: DesktopClient) -> None:
    """A key with Ctrl or Alt of any page is one that can be changed, or one that cannot be given to a command."""
    window = client.window
    for page in PAGES:
        window.show_page(page)
    found: set[str] = set()
    for action in window.findChildren(QAction):
        found |= {keys.toString() for keys in action.shortcuts()}
    found |= {one.key().toString() for one in window.findChildren(QShortcut)}
    found |= {one.shortcut().toString() for one in window.findChildren(QAbstractButton)}
    modified = {keys for keys in found if re.match(r"(Ctrl|Alt)\+|(Shift\+)?F\d", keys)}
    known = {command.keys for command in COMMANDS} | {keys for keys, _ in FIXED}
    assert modified - known == set()
