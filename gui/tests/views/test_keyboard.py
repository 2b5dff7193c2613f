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
from tests.beliefs_specimen import CONFIG, EMITTED, STEPS, event
from tests.specimen import episodes, metrics, report, run, run_id, worker
from tests.themes import back_to_dark

from mosaic_contracts.runs import ArtifactRow, EpisodeRow
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.follow import EventBatch
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import LIGHT
from mosaic_gui.views.main_window import (
    ALERTS,
    CONNECTION,
    PAGES,
    RUNS,
    SETTINGS,
    TRAIN,
    TRAINED,
    WATCH,
    MainWindow,
)

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
FILE = ArtifactRow(path="checkpoints/a.pt", kind="checkpoint", bytes=2048, step=100)


@pytest.fixture
def client(qtbot: QtBot, qapp: QApplication, tmp_path: Path) -> Iterator[DesktopClient]:
    """The client with a run that is watched, agents and a form that is filled."""
    made = DesktopClient(tmp_path)
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
    back_to_dark(qapp)


def open_page(qtbot: QtBot, client: DesktopClient, page: str) -> MainWindow:
    """Show a page, and nothing has the focus."""
    if page != CONNECTION:
        client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
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


@pytest.mark.nightly(by_day=["runs", "train", "watch"])
@pytest.mark.parametrize("page", [CONNECTION, *PAGES])
def test_everything_is_reached_with_tab_and_has_a_name(
    qtbot: QtBot, client: DesktopClient, page: str
) -> None:
    """A user with the keyboard alone reaches everything, sees where the focus is, and hears what it is."""
    window = open_page(qtbot, client, page)
    steps = walk(qtbot, window)
    wanted = interactive(window)
    found = {
        "not reached": [said(w) for w in wanted if not reached_by(steps, w)],
        "without a name": [said(w) for w in {*wanted, *steps} if not name_of(w)],
        "without a ring": without_ring(qtbot, client, steps),
    }
    assert found == {"not reached": [], "without a name": [], "without a ring": []}


def without_ring(qtbot: QtBot, client: DesktopClient, steps: list[QWidget]) -> list[str]:
    """Those that do not show the focus, in each theme: the same window wears one after the other."""
    found = [f"{current().name}: {said(w)}" for w in steps if not shows_focus(w)]
    client.theme.toggle()
    qtbot.waitUntil(lambda: current() is LIGHT)
    return found + [f"{current().name}: {said(w)}" for w in steps if not shows_focus(w)]


def shows_focus(widget: QWidget) -> bool:
    """Whether it looks another way with the focus than without."""
    widget.setFocus(Qt.FocusReason.TabFocusReason)
    with_it = _look(widget)
    widget.clearFocus()
    return bool(with_it != _look(widget))


def _look(widget: QWidget) -> QImage:
    QApplication.processEvents()
    return widget.grab().toImage()


@pytest.mark.nightly(by_day=["train"])
@pytest.mark.parametrize("page", [RUNS, TRAIN, WATCH])
def test_shortcuts_are_shown_where_they_are_offered(
    qtbot: QtBot, client: DesktopClient, page: str
) -> None:
    """The palette has every command with its keys, and the tool tip of a command names them, too."""
    window = open_page(qtbot, client, page)
    actions: list[QAction] = [*window.actions(), *window._page_actions()]
    with_keys = [action for action in actions if action.shortcut().toString()]
    assert with_keys
    assert [a.text() for a in with_keys if a.shortcut().toString() not in a.toolTip()] == []


def fill_beliefs(client: DesktopClient) -> None:
    """An agent that emitted its mind, with one recorded episode."""
    client.store.apply(EventBatch(run_id(0), EMITTED, {}, "1.worker.13"))
    client.beliefs.take_events(run_id(0), EMITTED, "1.worker.13")
    row = EpisodeRow(attempt=1, env=0, episode=3, length=2, start_seq=5, recorded_steps=2)
    client.beliefs.take_episodes(run_id(0), [row])
    client.beliefs.take_steps(run_id(0), (1, 0, 3), STEPS)  # type: ignore[arg-type]


def open_panel(qtbot: QtBot, client: DesktopClient, name: str) -> QWidget:
    """A panel of the watch page that has something to show."""
    watch = open_page(qtbot, client, WATCH).watch
    if name == "card":
        client.store.follow(run_id(2))
        client.watch.watch(run_id(2))
        return watch.card
    if name == "beliefs":
        fill_beliefs(client)
        watch.views.setCurrentWidget(watch.beliefs)
        return watch.beliefs
    client.watch.take_files([FILE])
    panels: dict[str, QWidget] = {
        "files": watch.files,
        "details": watch.details,
        "log": watch.log,
    }
    watch.tabs.setCurrentWidget(panels[name])
    return panels[name]


@pytest.mark.nightly(by_day=["log"])
@pytest.mark.parametrize("name", ["files", "details", "log", "beliefs", "card"])
def test_every_panel_of_the_watch_page_is_reached(
    qtbot: QtBot, client: DesktopClient, name: str
) -> None:
    """A tab that is chosen with the keyboard is used with it, too, and so is the card of a run that failed."""
    panel = open_panel(qtbot, client, name)
    assert panel.isVisible()
    steps = walk(qtbot, client.window)
    wanted = interactive(panel)
    assert wanted
    found = {
        "not reached": [said(w) for w in wanted if not reached_by(steps, w)],
        "without a name": [said(w) for w in wanted if not name_of(w)],
        "without a ring": without_ring(qtbot, client, [w for w in steps if panel.isAncestorOf(w)]),
    }
    assert found == {"not reached": [], "without a name": [], "without a ring": []}


def key(qtbot: QtBot, keys: str) -> None:
    """Press keys where the focus is, as the window gets them."""
    at = QApplication.focusWidget()
    assert at is not None
    qtbot.keySequence(at, keys)


POPUPS = {
    "palette": (RUNS, "Ctrl+K"),
    "palette by F1": (TRAIN, "F1"),
    "tag": (RUNS, "Ctrl+T"),
    "note": (RUNS, "Ctrl+E"),
    "curves": (WATCH, "charts.choose"),
    "copy": (TRAIN, "form.copy"),
    "layouts": (WATCH, "rail.layout"),
    "targets": (ALERTS, "alerts.targets"),
}


def open_popup(qtbot: QtBot, client: DesktopClient, name: str) -> tuple[QWidget, QWidget]:
    """A popup that is opened with the keyboard; and what had the focus before."""
    page, way = POPUPS[name]
    window = open_page(qtbot, client, page)
    if page == RUNS:
        window.runs.table.setFocus()
        window.runs.select_run(run_id(0))
    else:
        qtbot.keyClick(window, Qt.Key.Key_Tab)
    if "." in way:
        made = window.findChild(QAbstractButton, way)
        assert made is not None, way
        made.setFocus(Qt.FocusReason.TabFocusReason)
    before = QApplication.focusWidget()
    assert before is not None
    if "." in way:
        qtbot.keyClick(before, Qt.Key.Key_Space)
    else:
        key(qtbot, way)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is not None)
    popup = QApplication.activePopupWidget()
    assert popup is not None
    return popup, before


@pytest.mark.nightly(by_day=["palette", "curves", "note"])
@pytest.mark.parametrize("name", sorted(POPUPS))
def test_a_popup_is_used_and_left_with_the_keyboard(
    qtbot: QtBot, client: DesktopClient, name: str
) -> None:
    """It can be used at once, everything in it is reached and named, and Escape gives the focus back."""
    popup, before = open_popup(qtbot, client, name)
    inside = interactive(popup)
    focused = QApplication.focusWidget()
    if inside:
        assert focused is not None
        assert popup.isAncestorOf(focused)
        steps = walk(qtbot, popup)
        # a list below a field is moved in with up and down while the field has the focus
        aside = [w for w in inside if isinstance(w, QAbstractItemView)]
        left = [said(w) for w in inside if w not in aside and not reached_by([*steps, focused], w)]
        assert left == []
        assert [said(w) for w in inside if not name_of(w)] == []
    qtbot.keyClick(popup, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: QApplication.activePopupWidget() is None)
    assert QApplication.focusWidget() is before


def test_escape_goes_back_one_thing(qtbot: QtBot, client: DesktopClient) -> None:
    """Out of what is typed first, then to the page before, then to the list; never further than that."""
    window = open_page(qtbot, client, RUNS)
    window.show_page(WATCH)
    window.show_page(SETTINGS)
    window._stack.setFocus()
    seen = [window.page]
    for _ in range(4):
        key(qtbot, "Esc")
        seen.append(window.page)
    assert seen == [SETTINGS, WATCH, RUNS, RUNS, RUNS]
    window.show_connection()
    window._stack.setFocus()
    key(qtbot, "Esc")
    assert window.page == RUNS
    key(qtbot, "Ctrl+F")
    qtbot.keyClicks(window.runs.search, "dqn")
    key(qtbot, "Esc")
    assert (window.runs.search.text(), window.runs.search.hasFocus()) == ("", True)
    key(qtbot, "Esc")
    assert window.runs.table.hasFocus()


def test_no_shortcut_fires_while_somebody_types(qtbot: QtBot, client: DesktopClient) -> None:
    """Letters, signs and Delete are what they are in a field, whatever they do elsewhere."""
    window = open_page(qtbot, client, WATCH)
    window.watch.tabs.setCurrentWidget(window.watch.log)
    field = window.watch.log.search
    field.setFocus()
    follow = client.watch.following
    for sign in ("f", "F", "?"):
        qtbot.keySequence(field, sign)
    assert QApplication.activePopupWidget() is None
    assert (field.text().lower(), client.watch.following) == ("ff?", follow)
    window.show_page(RUNS)
    window.runs.select_run(run_id(1))
    window.runs.search.setFocus()
    qtbot.keyClicks(window.runs.search, "d")
    qtbot.keyClick(window.runs.search, Qt.Key.Key_Home)
    key(qtbot, "Del")
    assert window.runs.search.text() == ""
    assert client.window.notices.text == ""


@pytest.mark.nightly(by_day=["train"])
@pytest.mark.parametrize("page", [RUNS, TRAIN, TRAINED, WATCH, SETTINGS])
def test_the_palette_has_every_key_of_the_page(
    qtbot: QtBot, client: DesktopClient, page: str
) -> None:
    """Nobody has to know a key by heart: F1 lists those of the window, and those of what is in sight."""
    window = open_page(qtbot, client, page)
    qtbot.keyClick(window, Qt.Key.Key_Tab)
    key(qtbot, "F1")
    palette = QApplication.activePopupWidget()
    assert palette is not None
    model = palette.list.model()  # type: ignore[attr-defined]
    lines = [model.index(row, 0).data() for row in range(model.rowCount())]
    wanted = {RUNS: ["Ctrl+T", "Ctrl+."], TRAIN: ["Ctrl+Return", "Ctrl+L"], WATCH: ["F"]}
    for keys in ["Ctrl+K", "Ctrl+1", *wanted.get(page, [])]:
        assert [line for line in lines if line.split("      ")[-1] == keys], keys
    assert [line for line in lines if not line.split("      ")[0].strip()] == []
    palette.close()
