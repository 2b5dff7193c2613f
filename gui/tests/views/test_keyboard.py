from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QAction, QImage
from PyQt6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QSlider,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot
from tests.mind_specimen import CONFIG, event
from tests.specimen import episodes, metrics, report, run, run_id, worker

from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import Client
from mosaic_gui.state.connection import Connection, Link
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.state.roster import Mode
from mosaic_gui.theme.apply import apply_theme
from mosaic_gui.theme.tokens import DARK, THEMES
from mosaic_gui.views.main_window import PAGES, RUNS, TRAIN, WATCH, MainWindow

INTERACTIVE = (
    QAbstractButton,
    QLineEdit,
    QComboBox,
    QAbstractSpinBox,
    QAbstractItemView,
    QPlainTextEdit,
    QSlider,
    QTabBar,
)
INSIDE = (QAbstractSpinBox, QComboBox, QLineEdit, QTabBar, QAbstractItemView)
"""What is in one of these is its own part: it is used through it."""
MOST_STEPS = 400
CONNECTION = "connection"


@pytest.fixture(params=sorted(THEMES))
def client(qtbot: QtBot, qapp: QApplication, tmp_path: Path, request: object) -> Iterator[Client]:
    """The client with a run that is watched, a roster and a form that is filled."""
    apply_theme(qapp, THEMES[request.param])  # type: ignore[attr-defined]
    made = Client(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    runs = [run(0), run(1, RunState.SUCCEEDED), run(2, RunState.FAILED)]
    made.table.consume(made.store.replace_runs(runs))
    made.store.follow(run_id(0))
    made.watch.watch(run_id(0))
    config = EventBatch(run_id(0), [event(1, "config", data=CONFIG)], {}, "1.worker.1")
    for batch in (config, episodes(2, [1.0, 2.0]), metrics(9, "losses/a", [1.0, 2.0])):
        made._on_tick(made.store.apply(batch))
    made.agents.set_mode(Mode.AGENT)
    made.launch.preflight_wanted.connect(lambda spec: made.launch.take_report(spec, report()))
    made.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    made.window.activateWindow()
    qtbot.waitUntil(made.window.isActiveWindow)
    yield made
    made.launch._settle.stop()
    made.window.close()
    made.window.deleteLater()
    apply_theme(qapp, DARK)


def open_page(qtbot: QtBot, client: Client, page: str) -> MainWindow:
    """Show a page, and nothing has the focus."""
    if page != CONNECTION:
        client.connection.take(Connection(Link.LIVE, "http://127.0.0.1:1"))
        client.window.show_page(page)
    if page == TRAIN:
        qtbot.waitUntil(lambda: client.launch.report is not None)
    client.launch._settle.stop()
    if (focused := QApplication.focusWidget()) is not None:
        focused.clearFocus()
    return client.window


def walk(qtbot: QtBot, window: QWidget) -> list[QWidget]:
    """Where Tab leads, until it comes back to where it began."""
    steps: list[QWidget] = []
    while len(steps) < MOST_STEPS:
        at = QApplication.focusWidget()
        qtbot.keyClick(at if at is not None else window, Qt.Key.Key_Tab)
        focused = QApplication.focusWidget()
        if focused is None or focused in steps:
            break
        steps.append(focused)
    return steps


def interactive(window: QWidget) -> list[QWidget]:
    """Everything that can be used with a pointer and that is no part of something else."""
    return [
        w
        for w in window.findChildren(QWidget)
        if isinstance(w, INTERACTIVE)
        and w.isVisible()
        and w.isEnabled()
        and not isinstance(w, QHeaderView)
        and not _is_part(w)
    ]


def _is_part(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    while parent is not None:
        if isinstance(parent, INSIDE):
            return True
        parent = parent.parentWidget()
    return False


def reached_by(steps: list[QWidget], widget: QWidget) -> bool:
    """Tab stops there, or at one of its group, from which the arrows go on."""
    if widget in steps or widget.focusProxy() in steps:
        return True
    group = widget.group() if isinstance(widget, QAbstractButton) else None
    return group is not None and group.exclusive() and any(b in steps for b in group.buttons())


def name_of(widget: QWidget) -> str:
    """What a screen reader says of it."""
    text = widget.text() if isinstance(widget, QAbstractButton) else ""
    return widget.accessibleName() or text.strip()


def said(widget: QWidget) -> str:
    """How a test says which one it is."""
    parent = widget.parentWidget()
    return f"{type(widget).__name__} {widget.objectName() or name_of(widget)!r} in {type(parent).__name__}"


@pytest.mark.parametrize("page", [CONNECTION, *PAGES])
def test_everything_is_reached_with_tab_and_has_a_name(
    qtbot: QtBot, client: Client, page: str
) -> None:
    """Who uses the keyboard alone comes to everything, sees where the focus is, and hears what it is."""
    window = open_page(qtbot, client, page)
    steps = walk(qtbot, window)
    wanted = interactive(window)
    found = {
        "not reached": [said(w) for w in wanted if not reached_by(steps, w)],
        "without a name": [said(w) for w in {*wanted, *steps} if not name_of(w)],
        "without a ring": [said(w) for w in steps if not shows_focus(w)],
    }
    assert found == {"not reached": [], "without a name": [], "without a ring": []}


def shows_focus(widget: QWidget) -> bool:
    """Whether it looks another way with the focus than without."""
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    with_it = _look(widget)
    widget.clearFocus()
    return bool(with_it != _look(widget))


def _look(widget: QWidget) -> QImage:
    QApplication.processEvents()
    return widget.grab().toImage()


@pytest.mark.parametrize("page", [RUNS, TRAIN, WATCH])
def test_shortcuts_are_shown_where_they_are_offered(
    qtbot: QtBot, client: Client, page: str
) -> None:
    """The palette has every command with its keys, and the tool tip of a command names them, too."""
    window = open_page(qtbot, client, page)
    actions: list[QAction] = [*window.actions(), *window._page_actions()]
    with_keys = [action for action in actions if action.shortcut().toString()]
    assert with_keys
    assert [a.text() for a in with_keys if a.shortcut().toString() not in a.toolTip()] == []
