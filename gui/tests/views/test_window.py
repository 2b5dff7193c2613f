import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtTest import QSignalSpy
from PyQt6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from mosaic_contracts.runs import ArtifactRow
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.program import warm_up
from mosaic_gui.program.run import FRAME, fits
from mosaic_gui.program.warm_up import WarmUp
from mosaic_gui.state.agents import Mode
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.apply import current
from mosaic_gui.views.agents_dock import FOLDED_WIDTH, WIDTH
from mosaic_gui.views.arrangement import BUILT_IN, HUMAN
from mosaic_gui.views.main_window import PAGES, RUNS, TRAIN, WATCH

LEFT = Qt.MouseButton.LeftButton
URL = "http://127.0.0.1:1"


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """The whole client without a stack."""
    made = DesktopClient(tmp_path)
    made.window.resize(1280, 800)
    made.window.show()
    yield made
    made.window.close()
    made.window.deleteLater()


def button(client: DesktopClient, name: str) -> QPushButton:
    """A button by its object name."""
    found = client.window.findChild(QPushButton, name)
    assert found is not None, name
    return found


def test_without_a_stack_the_first_page_says_so(client: DesktopClient) -> None:
    """Where it looked, and what can be done; nothing else can be pressed."""
    client.stack.connect_local()
    assert client.window.page == "connection"
    assert "No stack has been started" in client.window.start._detail.text()
    assert not button(client, "nav.runs").isEnabled()


def test_a_live_stack_opens_the_list_and_a_lost_one_keeps_it(client: DesktopClient) -> None:
    """Old data stays readable while the connection is tried again, and the badge says that it is old."""
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    assert client.window.page == RUNS
    client.connection.take(ConnectionStatus(LinkState.STALE, URL, "gone", retry_in_s=2.0))
    assert client.window.page == RUNS
    badge = client.window.notices.badge
    assert (badge.text(), badge.tone) == ("Connection lost", "warn")
    assert "tried again in 2 s" in badge.toolTip()


def test_a_refused_token_is_not_tried_for_ever(client: DesktopClient) -> None:
    """What only the user can put right is said as such."""
    client.connection.take(ConnectionStatus(LinkState.IDLE, URL, "401", refused=True))
    assert client.window.page == "connection"
    assert client.window.start._title.text() == "The stack refused the connection"


def test_pages_are_reached_by_key_and_by_click(qtbot: QtBot, client: DesktopClient) -> None:
    """Every page has a shortcut, and the rail shows where one is."""
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    qtbot.mouseClick(button(client, "nav.watch"), LEFT)
    assert client.window.page == WATCH
    qtbot.mouseClick(button(client, "runs.train"), LEFT)
    assert client.window.page == TRAIN
    assert not button(client, "nav.watch").isChecked()


def test_every_action_is_in_the_palette(qtbot: QtBot, client: DesktopClient) -> None:
    """A few letters and Return do what is meant."""
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    palette = client.window.open_palette()
    qtbot.keyClicks(palette.field, "tra ne")
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)
    assert client.window.page == TRAIN


def test_a_notice_can_be_undone_and_goes_by_itself(qtbot: QtBot, client: DesktopClient) -> None:
    """No dialog asks whether one is sure; what was done can be taken back."""
    undone: list[bool] = []
    client.window.notices.say("1 run deleted.", "Undo", lambda: undone.append(True))
    assert client.window.notices.text == "1 run deleted."
    qtbot.mouseClick(button(client, "notices.act"), LEFT)
    assert undone == [True]
    assert client.window.notices.text == ""


def test_the_theme_changes_in_place(qtbot: QtBot, client: DesktopClient) -> None:
    """Light and dark are one key apart, the page stays, and nothing is sent to the window of before."""
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    client.window.show_page(TRAIN)
    before = current().name
    client.theme.toggle()
    qtbot.waitUntil(lambda: current().name != before)
    assert client.window.isVisible()
    assert client.window.page == TRAIN
    client.watch.take_files([ArtifactRow(path="a.pt", kind="checkpoint", bytes=1)])
    client.hardware.changed.emit()
    client.agents.set_mode(Mode.HUMAN)
    client.theme.toggle()
    qtbot.waitUntil(lambda: current().name == before)


def test_an_address_is_tried_or_explained(qtbot: QtBot, client: DesktopClient) -> None:
    """A wrong address or a missing token is said on the page."""
    start = client.window.start
    wanted = QSignalSpy(start.connect_wanted)
    start.url.setText("http://gpu-box:8420")
    qtbot.mouseClick(button(client, "connection.connect"), LEFT)
    assert wanted[0] == ["http://gpu-box:8420", "", ""]
    assert "another machine" in start._detail.text()


def test_it_is_added_to_the_applications_menu_and_removed(
    qtbot: QtBot, client: DesktopClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the palette; each way has its Undo."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    entry = tmp_path / "share" / "applications" / "mosaic.desktop"
    for typed, is_there in (("add applications menu", True), ("remove applications menu", False)):
        palette = client.window.open_palette()
        qtbot.keyClicks(palette.field, typed)
        qtbot.keyClick(palette.field, Qt.Key.Key_Return)
        assert entry.exists() is is_there
        qtbot.mouseClick(button(client, "notices.act"), LEFT)
        assert entry.exists() is not is_there
        qtbot.mouseClick(button(client, "notices.act"), LEFT)
        assert entry.exists() is is_there


def test_any_sign_can_be_typed_into_the_palette(client: DesktopClient, qtbot: QtBot) -> None:
    """What is typed is looked for as it stands: a sign of patterns finds what has it, or nothing."""
    palette = client.window.open_palette()
    everything = palette.list.model()
    assert everything is not None
    before = everything.rowCount()
    qtbot.keyClicks(palette.field, "(")
    assert everything.rowCount() == 0
    palette.field.setText("light dark")
    nothing_in_that_order = everything.rowCount()
    palette.field.clear()
    assert everything.rowCount() == before > nothing_in_that_order
    palette.close()


def test_a_narrow_window_folds_the_roster_to_a_drawer(qtbot: QtBot, client: DesktopClient) -> None:
    """Half of a common screen is enough for every page; the agents panel comes when it is asked for, and goes again."""
    client.connection.take(ConnectionStatus(LinkState.LIVE, URL))
    window, dock = client.window, client.window.agents_dock
    window.resize(window.minimumSize())
    assert window.minimumWidth() == 960
    for name in PAGES:
        window.show_page(name)
        QApplication.processEvents()
        assert window.minimumSizeHint().width() <= window.width(), name
    assert dock.width() == FOLDED_WIDTH
    qtbot.mouseClick(dock.fold, LEFT)
    assert dock.width() == WIDTH
    qtbot.mouseClick(button(client, "nav.runs"), LEFT)
    assert dock.width() == FOLDED_WIDTH
    window.resize(1280, 800)
    assert dock.width() == WIDTH
    assert not client.layouts.snapshot().folded


def test_the_first_window_is_all_on_the_screen(client: DesktopClient) -> None:
    """A window that fits only without the desktop's frame is opened maximized instead."""
    screen = client.window.screen()
    assert screen is not None
    client.window.setMinimumSize(1, 1)
    client.window.resize(screen.availableSize())
    assert not fits(client.window)
    client.window.resize(screen.availableSize() - FRAME)
    assert fits(client.window)


@pytest.mark.nightly(by_day=["runs", "train", "watch"])
@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_made_without_another_window(client: DesktopClient, page: str) -> None:
    """While a page is made for a window that is there, no part of it is a window for a moment and takes the focus."""
    client.window.show()
    QApplication.processEvents()
    shown: list[str] = []

    class Shows(QObject):
        """Hears of every window that appears."""

        def eventFilter(self, target: QObject | None, event: QEvent | None) -> bool:
            is_show = event is not None and event.type() == QEvent.Type.Show
            if is_show and isinstance(target, QWidget) and target.isWindow():
                shown.append(f"{type(target).__name__} {target.objectName()}")
            return False

    shows = Shows()
    app = QApplication.instance()
    assert app is not None
    app.installEventFilter(shows)
    getattr(client.window, page)
    app.removeEventFilter(shows)
    assert shown == []


def test_a_program_opens_its_window_without_numpy_and_charts(tmp_path: Path) -> None:
    """What only charts need is imported after the first paint: it is as much as all the rest of a start."""
    script = (
        "import sys; from pathlib import Path; from PyQt6.QtWidgets import QApplication; app = QApplication([]);"
        "from mosaic_gui.program.run import DesktopClient;"
        "client = DesktopClient(Path(sys.argv[1])); client.window.show();"
        "app.processEvents();"
        "late = ('numpy', 'pyqtgraph', 'keyring', 'mosaic_gui.views.watch_page');"
        "print([name for name in late if name in sys.modules])"
    )
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.strip() == "[]"


def test_the_page_for_charts_is_made_once_the_window_was_painted(
    qtbot: QtBot, client: DesktopClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody who opens a run waits for its imports and its page; layouts that were kept are applied to it then."""
    monkeypatch.setattr(warm_up, "REST_MS", 0)
    client.layouts.apply(HUMAN, go=False)
    warm = WarmUp(client)
    warm.start()
    was_made = client.window.has_watch
    with qtbot.waitSignal(warm.done, timeout=10_000):
        client.window.show()
    assert (was_made, client.window.has_watch) == (False, True)
    assert client.window.page != WATCH
    assert client.window.watch.stage.is_large == BUILT_IN[HUMAN].stage_is_large
    warm.stop()
