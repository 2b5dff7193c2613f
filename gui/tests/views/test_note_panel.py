"""The note on a watched run, written and saved through the real window."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeSession
from tests.specimen import run, run_id

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.main_window import WATCH


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """The window of the first of two runs, whose note is about to be written."""
    made = DesktopClient(tmp_path)
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made.window.show()
    made.store.replace_runs([run(0, note="before"), run(1)])
    made.run_actions.session = cast(StreamSession, FakeSession(store=made.store))
    made.watch.watch(run_id(0))
    made.window.show_page(WATCH)
    made.window.activateWindow()
    qtbot.waitUntil(made.window.isActiveWindow)
    qtbot.keySequence(made.window, "Ctrl+E")
    yield made
    made.window.close()
    made.close()
    made.window.deleteLater()


def api(client: DesktopClient) -> FakeSession:
    """The session that receives what the window asks for."""
    return cast(FakeSession, client.run_actions.session)


def test_a_note_is_saved_on_leaving_and_undone(qtbot: QtBot, client: DesktopClient) -> None:
    """Ctrl+E shows it, leaving the field saves it, and the notice puts the old one back."""
    note = client.window.watch.note
    assert note.isVisible()
    assert note.field.hasFocus()
    qtbot.keyClicks(note.field, " and after")
    assert not api(client).api.asked
    qtbot.keyClick(note.field, Qt.Key.Key_Escape)
    written = {"note": "before and after"}
    assert api(client).api.asked == [("patch_run", (run_id(0), written))]
    assert "Not saved yet" in note.state.text()
    saved = run(0, revision=2, note="before and after")
    api(client).api.replies[0].succeed(saved)
    client.watch.consume(api(client).reported[-1])
    assert "Not saved yet" not in note.state.text()
    assert client.window.notices._act.text() == "Undo"
    client.window.notices._act.click()
    assert api(client).api.asked[-1] == ("patch_run", (run_id(0), {"note": "before"}))


def test_what_was_typed_outlives_a_refusal_and_another_run(
    qtbot: QtBot, client: DesktopClient
) -> None:
    """Nothing typed is lost: it is there when the run is shown again, with a button that saves it."""
    note = client.window.watch.note
    qtbot.keyClicks(note.field, "!")
    client.watch.watch(run_id(1))
    assert api(client).api.asked == [("patch_run", (run_id(0), {"note": "before!"}))]
    api(client).api.replies[0].fail(ApiProblem("The stack is away."))
    assert note.field.toPlainText() == ""
    client.watch.watch(run_id(0))
    assert note.field.toPlainText() == "before!"
    note.again.click()
    assert api(client).api.asked[-1] == ("patch_run", (run_id(0), {"note": "before!"}))


def test_a_change_from_elsewhere_leaves_what_is_typed(qtbot: QtBot, client: DesktopClient) -> None:
    """A note that another person writes is shown, unless one is being typed here."""
    note = client.window.watch.note
    client.watch.consume(client.store.take_runs([run(0, revision=2, note="theirs")]))
    assert note.field.toPlainText() == "theirs"
    note.write()
    qtbot.keyClicks(note.field, " mine")
    client.watch.consume(client.store.take_runs([run(0, revision=3, note="theirs again")]))
    assert note.field.toPlainText() == "theirs mine"


def test_ctrl_z_in_the_note_undoes_typing(qtbot: QtBot, client: DesktopClient) -> None:
    """The zoom of the charts is undone by it only where nothing was typed."""
    note = client.window.watch.note
    qtbot.keyClicks(note.field, "x")
    qtbot.keySequence(QApplication.focusWidget(), "Ctrl+Z")
    assert note.field.toPlainText() == "before"


def test_closing_the_window_saves_the_note_first(qtbot: QtBot, client: DesktopClient) -> None:
    """The session is closed once the stack has answered, and the note is asked for once."""
    session, ended = api(client), list[bool]()
    client.closed.connect(lambda: ended.append(True))
    qtbot.keyClicks(client.window.watch.note.field, "!")
    client.window.close()
    assert session.api.asked == [("patch_run", (run_id(0), {"note": "before!"}))]
    assert not ended
    session.api.replies[0].succeed(run(0, revision=2, note="before!"))
    assert ended
