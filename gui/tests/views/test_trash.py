from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtTest import QAbstractItemModelTester, QSignalSpy
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeSession
from tests.specimen import BEGAN, run, run_id

from mosaic_contracts.runs import RunPage, RunView
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.controllers.trash import SETTLE_MS
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.main_window import RUNS

LEFT = Qt.MouseButton.LeftButton


def deleted(n: int, hours: float = 0.0, **fields: Any) -> RunView:
    """An ended run that was deleted so many hours after the others began."""
    return run(n, RunState.SUCCEEDED, deleted_at=BEGAN + timedelta(hours=hours), **fields)


class Used:
    """A client, and the stack's part played by the test."""

    def __init__(self, folder: Path) -> None:
        self.client = DesktopClient(folder)
        self.window = self.client.window
        self.window.resize(1280, 800)
        self.window.show()
        self.client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
        self.session = FakeSession(store=self.client.store)
        session = cast(StreamSession, self.session)
        self.client.run_actions.attach(session)
        self.client.trash_controller.attach(session)
        self.tick([run(5), run(6, RunState.SUCCEEDED)])

    def tick(self, runs: list[RunView]) -> None:
        """Records of runs, as the live connection brings them."""
        self.client._on_tick(self.client.store.take_runs(runs))

    def answer(self, qtbot: QtBot, *runs: RunView, cursor: str | None = None) -> None:
        """Answer the next question for deleted runs."""
        known = len(self.session.api.replies)
        if not known or self.session.api.asked[-1][0] != "runs":
            qtbot.waitUntil(lambda: self.asked == "runs", timeout=SETTLE_MS * 20)
        self.session.api.replies[-1].succeed(RunPage(runs=list(runs), next_cursor=cursor))

    @property
    def asked(self) -> str:
        """What was asked last."""
        return self.session.api.asked[-1][0] if self.session.api.asked else ""

    @property
    def listed(self) -> list[str]:
        """Ids of the deleted runs that are shown."""
        return [run.run_id for run in self.client.trash_runs.runs]


@pytest.fixture
def used(qtbot: QtBot, tmp_path: Path) -> Iterator[Used]:
    """A client with two runs."""
    made = Used(tmp_path)
    made.window.activateWindow()
    qtbot.waitUntil(made.window.isActiveWindow)
    yield made
    made.client.trash_controller.detach()
    made.window.close()
    made.window.deleteLater()


def test_deleted_runs_are_listed_the_newest_first(qtbot: QtBot, used: Used) -> None:
    """All pages of the stack's list, by when each was deleted."""
    qtbot.mouseClick(used.window.runs.trash_button, LEFT)
    assert used.window.runs.trash._none.text() == "Reading the deleted runs …"
    used.answer(qtbot, deleted(1, 1), deleted(2, 3), cursor="x")
    used.answer(qtbot, deleted(3, 2))
    assert used.listed == [run_id(2), run_id(3), run_id(1)]
    assert used.window.runs._title.text() == "Trash"
    assert "kept for a day" in used.window.runs.trash._words.text()
    tester = QAbstractItemModelTester(
        used.client.trash_runs.rows, QAbstractItemModelTester.FailureReportingMode.Fatal
    )
    assert tester.model() is used.client.trash_runs.rows


def test_runs_are_restored_by_mouse(qtbot: QtBot, used: Used) -> None:
    """Several at once; each is in the list again, and gone from the trash."""
    runs = used.window.runs
    qtbot.mouseClick(runs.trash_button, LEFT)
    used.answer(qtbot, deleted(1), deleted(2), deleted(3))
    runs.trash.table.selectAll()
    qtbot.mouseClick(runs.trash.restore, LEFT)
    asked = [args[0] for name, args in used.session.api.asked if name == "restore_run"]
    assert sorted(asked) == [run_id(1), run_id(2), run_id(3)]
    for reply, one in zip(used.session.api.replies[-3:], asked, strict=True):
        n = next(n for n in (1, 2, 3) if run_id(n) == one)
        reply.succeed(run(n, RunState.SUCCEEDED, revision=2))
    assert set(used.client.store.runs) >= set(asked)
    assert used.window.notices.text.startswith("Restored: ")
    used.client._on_tick(used.session.reported[-1])
    qtbot.waitUntil(lambda: used.asked == "runs", timeout=SETTLE_MS * 20)
    used.answer(qtbot)
    assert runs.trash._none.text() == "No deleted runs"
    qtbot.mouseClick(runs.trash.back, LEFT)
    assert not runs.shows_trash
    assert runs.table.hasFocus()


def test_runs_are_restored_by_keyboard(qtbot: QtBot, used: Used) -> None:
    """Ctrl+Shift+Del opens the trash, arrows and Return restore, Escape leads back to the list."""
    runs = used.window.runs
    runs.table.setFocus()
    qtbot.keySequence(runs.table, "Ctrl+Shift+Del")
    used.answer(qtbot, deleted(1, 1), deleted(2, 2))
    assert runs.trash.table.hasFocus()
    qtbot.keyClick(runs.trash.table, Qt.Key.Key_Down)
    qtbot.keyClick(runs.trash.table, Qt.Key.Key_Return)
    assert used.session.api.asked[-1] == ("restore_run", (run_id(1),))
    qtbot.keyClick(runs.trash.table, Qt.Key.Key_Escape)
    assert (used.window.page, runs.shows_trash, runs.table.hasFocus()) == (RUNS, False, True)


def test_keys_of_the_list_do_nothing_to_runs_that_are_not_seen(qtbot: QtBot, used: Used) -> None:
    """While the trash is shown, Del deletes no run that is selected in the list behind it."""
    runs = used.window.runs
    runs.select_run(run_id(6))
    wanted = QSignalSpy(runs.commands.delete_wanted)
    runs.show_trash(True)
    used.answer(qtbot, deleted(1))
    for keys in ("Del", "Ctrl+.", "Ctrl+D", "Ctrl+T"):
        qtbot.keySequence(runs.trash.table, keys)
    assert len(wanted) == 0
    assert QApplication.activePopupWidget() is None
    assert used.window.page == RUNS


def test_what_is_chosen_stays_chosen_as_time_goes_by(qtbot: QtBot, used: Used) -> None:
    """The list is written again with each second, and when the stack is asked again."""
    runs = used.window.runs
    runs.show_trash(True)
    used.answer(qtbot, deleted(1, 1), deleted(2, 2), deleted(3, 3))
    runs.trash.table.clearSelection()
    runs.trash.table.selectRow(1)
    assert runs.trash.chosen == [1]
    used.client.trash_runs.rows.replace([("a", "b", "c", str(n)) for n in range(3)])
    used.client.trash_runs.pass_time()
    assert runs.trash.chosen == [1]
    used.client.trash_runs.take([deleted(4, 4), deleted(3, 3), deleted(2, 2)])
    assert runs.trash.chosen == [2]


def test_trash_follows_what_is_deleted_elsewhere(qtbot: QtBot, used: Used) -> None:
    """A run that is deleted or restored by somebody else is asked about at once, and only while it is seen."""
    asked = used.session.api.asked
    used.tick([deleted(6, revision=2)])
    assert asked == []
    used.window.runs.show_trash(True)
    used.answer(qtbot, deleted(6))
    before = len(asked)
    used.tick([run(7, RunState.SUCCEEDED)])
    used.tick([deleted(7, revision=2)])
    qtbot.waitUntil(lambda: len(asked) > before, timeout=SETTLE_MS * 20)
    used.window.show_page("settings")
    used.answer(qtbot, deleted(6), deleted(7))
    before = len(asked)
    used.tick([run(6, RunState.SUCCEEDED, revision=3)])
    qtbot.wait(SETTLE_MS * 2)
    assert len(asked) == before


def test_trash_that_cannot_be_read_says_why(qtbot: QtBot, used: Used) -> None:
    """The page does not say that the trash is empty while nobody knows."""
    used.window.runs.show_trash(True)
    qtbot.waitUntil(lambda: used.asked == "runs", timeout=SETTLE_MS * 20)
    used.session.api.replies[-1].fail(ApiProblem("The scheduler does not answer."))
    assert used.window.runs.trash._none.text() == "The scheduler does not answer."
    assert not used.window.runs.trash.restore.isEnabled()


def test_trash_is_reached_when_every_run_was_deleted(qtbot: QtBot, used: Used) -> None:
    """An empty list has no search, and the way to the trash all the same."""
    used.client._on_tick(used.client.store.replace_runs([]))
    assert not used.window.runs.search.isVisible()
    assert used.window.runs.trash_button.isVisible()


def test_ctrl_z_takes_a_deletion_back(qtbot: QtBot, used: Used) -> None:
    """While the notice with its Undo is there; later the key is the fields' own again."""
    runs = used.window.runs
    runs.select_run(run_id(6))
    qtbot.keySequence(runs.table, "Del")
    assert used.session.api.asked[-1] == ("delete_run", (run_id(6),))
    qtbot.keySequence(runs.table, "Ctrl+Z")
    assert used.session.api.asked[-1] == ("restore_run", (run_id(6),))
    before = len(used.session.api.asked)
    qtbot.keySequence(runs.table, "Ctrl+Z")
    assert len(used.session.api.asked) == before
    assert not runs.undo.isEnabled()
