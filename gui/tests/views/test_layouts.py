from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6 import sip
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QApplication, QComboBox, QPushButton
from pytestqt.qtbot import QtBot
from tests.play_specimen import PLAYED, fill_play
from tests.specimen import run, worker

from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.agents import Mode, Way
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.apply import current
from mosaic_gui.views import dock_area
from mosaic_gui.views.arrangement import COMPARE, HUMAN, REPLAY, TRAIN
from mosaic_gui.views.layout_menu import LayoutMenu
from mosaic_gui.views.main_window import PLAY, RUNS, SETTINGS, WATCH

LEFT = Qt.MouseButton.LeftButton


def started(home: Path) -> DesktopClient:
    """A client that is connected, on the page with the panels."""
    made = DesktopClient(home)
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    made.window.show_page(WATCH)
    QApplication.processEvents()
    return made


def end(client: DesktopClient) -> None:
    """Close it as a person does."""
    if not sip.isdeleted(client.window):
        client.window.close()
        client.window.deleteLater()


@pytest.fixture
def client(qtbot: QtBot, tmp_path: Path) -> Iterator[DesktopClient]:
    """The client at its first start."""
    made = started(tmp_path)
    yield made
    end(made)


def seen(client: DesktopClient) -> dict[str, bool]:
    """Which parts can be seen."""
    area = client.window.watch.area
    parts = {name: dock.isVisible() for name, dock in area.docks.items()}
    return parts | {"stage": client.window.watch.stage.isVisible()}


@pytest.mark.nightly(by_day=["Train", "Replay"])
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (HUMAN, {"stage"}),
        (TRAIN, {"stage", "curves", "run"}),
        (REPLAY, {"stage", "run"}),
        (COMPARE, {"curves"}),
    ],
)
def test_each_layout_shows_its_panels(client: DesktopClient, name: str, shown: set[str]) -> None:
    """A layout is one key away, whichever holds before."""
    for before in (COMPARE, REPLAY, HUMAN, TRAIN):
        client.layouts.apply(before)
        client.layouts.apply(name)
        assert {part for part, on in seen(client).items() if on} == shown


def test_curves_keep_their_share_of_a_wider_window(client: DesktopClient) -> None:
    """On a large screen the curves are not left at the width of a small one."""
    area = client.window.watch.area
    client.layouts.apply(TRAIN)
    QApplication.processEvents()
    client.window.resize(1900, 1000)
    QApplication.processEvents()
    assert area.docks["curves"].width() / area.width() == pytest.approx(0.66, abs=0.03)


def test_a_share_outlasts_a_small_window_a_restart_and_a_drawn_edge(
    client: DesktopClient, tmp_path: Path
) -> None:
    """A user who makes the window small and large again, today or tomorrow, finds the panels as they were."""
    area = client.window.watch.area

    def share(of: dock_area.DockArea) -> float:
        return of.docks["curves"].width() / of.width()

    client.layouts.apply(TRAIN)
    for width in (1000, 1400):
        client.window.resize(width, 800)
        QApplication.processEvents()
    assert share(area) == pytest.approx(0.66, abs=0.03)
    area.resizeDocks([area.docks["curves"]], [area.width() // 2], Qt.Orientation.Horizontal)
    QApplication.processEvents()
    end(client)
    again = started(tmp_path)
    again.window.resize(1600, 900)
    QApplication.processEvents()
    assert share(again.window.watch.area) == pytest.approx(0.5, abs=0.03)
    end(again)


def test_ones_own_layout_comes_back_at_the_next_start(
    client: DesktopClient, tmp_path: Path
) -> None:
    """What was closed as it stood opens as it stood; a saved one is there by its name."""
    client.layouts.apply(COMPARE)
    client.layouts.save("Two monitors/left")
    client.layouts.apply(REPLAY)
    end(client)
    again = started(tmp_path)
    assert {part for part, on in seen(again).items() if on} == {"stage", "run"}
    assert again.window.agents_dock.folded
    assert again.layouts.own == ["Two monitors/left"]
    again.layouts.apply("Two monitors/left")
    assert {part for part, on in seen(again).items() if on} == {"curves"}
    again.layouts.remove("Two monitors/left")
    assert again.layouts.own == []
    end(again)


def test_a_play_gives_the_layout_back_when_it_ends(client: DesktopClient) -> None:
    """Its log is looked for when it has failed; a layout that was chosen meanwhile stays."""
    client.layouts.apply(TRAIN)
    before = seen(client)
    fill_play(client)
    assert [name for name, shown in seen(client).items() if shown] == ["stage"]
    spec = client.watch.run.spec.model_dump(mode="json")  # type: ignore[union-attr]
    failed = run(PLAYED, RunState.FAILED, revision=5, spec=spec)
    client._on_tick(client.store.take_runs([failed]))
    assert seen(client) == before
    client.layouts.apply(REPLAY)
    chosen = seen(client)
    client._on_tick(client.store.take_runs([failed.model_copy(update={"revision": 6})]))
    assert seen(client) == chosen


def test_a_layout_of_other_panels_is_refused_and_said(
    client: DesktopClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Qt refuses what another version arranged; the built-in layout holds, and the bar says so."""
    client.layouts.apply(COMPARE)
    end(client)
    monkeypatch.setattr(dock_area, "PLACES_VERSION", dock_area.PLACES_VERSION + 1)
    again = started(tmp_path)
    assert {part for part, on in seen(again).items() if on} == {"stage", "curves", "run"}
    assert "The panels have changed" in again.window.notices.text
    end(again)


def test_a_built_in_name_is_not_taken(client: DesktopClient) -> None:
    """The built-in layout stays what it is."""
    client.layouts.save(TRAIN)
    assert "built in" in client.window.notices.text
    assert client.layouts.own == []


def test_the_menu_offers_everything(qtbot: QtBot, client: DesktopClient) -> None:
    """Layouts, panels, moving, saving and the way back, without a dialog."""
    button = client.window.findChild(QPushButton, "rail.layout")
    assert button is not None
    qtbot.mouseClick(button, LEFT)
    menu = client.window.findChild(LayoutMenu)
    assert menu is not None
    texts = [action.text().split("\t")[0] for action in menu.actions() if action.text()]
    assert texts[:4] == ["Human", "Train", "Replay", "Compare"]
    assert {"Curves", "Run", "Environment", "Move panels", "Save as …"} <= set(texts)
    move = next(action for action in menu.actions() if action.text() == "Move panels")
    move.trigger()
    assert client.window.watch.area.movable
    menu.close()


def test_a_setting_holds_at_once_and_after_a_restart(
    qtbot: QtBot, client: DesktopClient, tmp_path: Path
) -> None:
    """The page is made of the declaration; a choice needs no confirmation."""
    before = current().name
    client.window.show_page(SETTINGS)
    field = client.window.settings.fields["theme"]
    assert isinstance(field, QComboBox)
    field.setCurrentText("light")
    qtbot.waitUntil(lambda: current().name == "light")
    assert client.window.page == SETTINGS
    end(client)
    again = started(tmp_path)
    assert again.preferences.settings.theme == "light"
    again.preferences.change("theme", before)
    qtbot.waitUntil(lambda: current().name == before)
    end(again)


def test_mode_way_and_preset_are_remembered(client: DesktopClient, tmp_path: Path) -> None:
    """The next start begins where the last one ended, for each agent apart."""
    client.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    client.agents.set_mode(Mode.AGENT)
    client.launch.set_text("run", "seed", "17")
    client.agents.choose(("cleanrl", "dqn"))
    client.agents.set_way(Way.TRAINED)
    client.launch._settle.stop()
    end(client)
    again = started(tmp_path)
    again.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    assert again.agents.mode is Mode.AGENT
    assert (again.agents.way, again.launch.text("run", "seed")) == (Way.NEW, "17")
    again.agents.choose(("cleanrl", "dqn"))
    assert (again.agents.way, again.launch.text("run", "seed")) == (Way.TRAINED, "1")
    again.launch._settle.stop()
    end(again)


def test_the_human_layout_without_a_run_says_how_to_begin(
    qtbot: QtBot, client: DesktopClient
) -> None:
    """Words and two buttons: a play, or a run of the list. With a run they are gone."""
    client.layouts.apply(HUMAN)
    stage = client.window.watch.stage
    QApplication.processEvents()
    assert "Start a play" in stage._how.text()
    qtbot.mouseClick(stage.begin, LEFT)
    assert client.window.page == PLAY
    client.window.show_page(WATCH)
    qtbot.mouseClick(stage.choose, LEFT)
    assert client.window.page == RUNS
    client._on_tick(client.store.replace_runs([run(0, RunState.SUCCEEDED)]))
    client.watch.watch(run(0).run_id)
    client.window.show_page(WATCH)
    assert not stage.begin.isVisible()
