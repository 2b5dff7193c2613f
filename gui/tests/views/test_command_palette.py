"""The palette over the real window: finds runs, algorithms, environments, curves, files, settings and help."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import QPoint, Qt, QUrl
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.specimen import metrics, run, run_id, worker

from mosaic_contracts.runs import ArtifactRow
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.apply import apply_theme
from mosaic_gui.theme.tokens import DARK, LIGHT
from mosaic_gui.viewmodels.palette import RESULT
from mosaic_gui.views.command_palette import CommandPalette
from mosaic_gui.views.help_window import HelpWindow
from mosaic_gui.views.main_window import RUNS, SETTINGS, TRAIN

PAGE = "# Keep the disk small\n\nSee [runs](runs.md) and [the web](https://example.org).\n"


@pytest.fixture
def client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, qtbot: QtBot
) -> Iterator[DesktopClient]:
    """The window with runs, a catalogue, a watched run and help pages."""
    docs = tmp_path / "root" / "docs"
    docs.mkdir(parents=True)
    (docs / "storage.md").write_text(PAGE)
    (docs / "runs.md").write_text("# About runs\n\nRuns are runs.\n")
    monkeypatch.setenv("MOSAIC_ROOT", str(tmp_path / "root"))
    made = DesktopClient(tmp_path / "home")
    made.window.resize(1280, 800)
    made.window.show()
    made.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    runs = [
        run(0, RunState.SUCCEEDED, spec={"parameters": {"learning_rate": 0.001}}),
        run(1, RunState.FAILED, name="the long one", spec={"name": "the long one"}),
    ]
    made._on_tick(made.store.take_runs(runs))
    made.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    yield made
    made.launch._settle.stop()
    made.window.close()
    made.window.deleteLater()


def search(client: DesktopClient, qtbot: QtBot, words: str) -> CommandPalette:
    """Type into the palette, and wait until all was searched."""
    palette = client.window.open_palette()
    qtbot.keyClicks(palette.field, words)
    qtbot.waitUntil(lambda: palette._model.is_settled)
    return palette


def open_first(client: DesktopClient, qtbot: QtBot, words: str) -> None:
    """Type, and press Return."""
    palette = search(client, qtbot, words)
    qtbot.keyClick(palette.field, Qt.Key.Key_Return)


def test_a_run_is_found_by_what_it_was_given(
    client: DesktopClient, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parameters, names and ids; Return opens it, and the next palette lists it first."""
    opened: list[list[str]] = []
    monkeypatch.setattr(client.navigator, "open_runs", opened.append)  # watching needs a stack
    open_first(client, qtbot, "lr=0.001")
    open_first(client, qtbot, "long one")
    assert opened == [[run_id(0)], [run_id(1)]]
    palette = search(client, qtbot, "")
    first = palette.list.model().index(0, 0).data(RESULT)  # type: ignore[union-attr]
    assert (first.entry.key, first.is_recent) == (run_id(1), True)
    palette.close()
    assert client.preferences.memory.found[:2] == [f"run:{run_id(1)}", f"run:{run_id(0)}"]


def test_an_algorithm_and_an_environment_open_the_form(client: DesktopClient, qtbot: QtBot) -> None:
    """The form has what was found."""
    open_first(client, qtbot, "what dqn is")
    assert client.window.page == TRAIN
    assert client.agents.key == ("cleanrl", "dqn")
    open_first(client, qtbot, "lunarlander")
    assert client.window.page == TRAIN
    assert client.launch.draft is not None
    assert client.launch.draft.spec()["environment"] == "LunarLander-v2"


def test_a_curve_and_a_file_of_the_watched_run_are_shown(
    client: DesktopClient, qtbot: QtBot
) -> None:
    """The chart is on the page, the file is chosen."""
    client.store.follow(run_id(0))
    client.watch.watch(run_id(0))
    client._on_tick(client.store.apply(metrics(1, "losses/value", [1.0, 2.0])))
    client.watch.take_files(
        [ArtifactRow(path="checkpoints/step-9.pt", kind="checkpoint", bytes=1, exists=True)]
    )
    open_first(client, qtbot, "losses/value")
    assert "losses/value" in client.watch.charts
    open_first(client, qtbot, "step-9")
    chosen = client.window.watch.files.file
    assert chosen is not None
    assert chosen.path == "checkpoints/step-9.pt"


def test_a_setting_gets_the_focus(client: DesktopClient, qtbot: QtBot) -> None:
    """What is found can be changed at once."""
    open_first(client, qtbot, "smoothing")
    assert client.window.page == SETTINGS
    assert client.window.settings.fields["smoothing"].hasFocus()


def test_a_help_page_opens_in_a_window_that_follows_its_links(
    client: DesktopClient, qtbot: QtBot
) -> None:
    """Pages of this installation; a link to another one stays in the window."""
    open_first(client, qtbot, "disk small")
    (page,) = client.window.findChildren(HelpWindow)
    assert "Keep the disk small" in page.windowTitle()
    page.text.anchorClicked.emit(QUrl("runs.md"))
    assert "About runs" in page.windowTitle()
    page.text.anchorClicked.emit(QUrl("../../secret.md"))
    assert "About runs" in page.windowTitle()
    page.close()


def test_what_matches_nothing_says_so(client: DesktopClient, qtbot: QtBot) -> None:
    """No empty list without a word."""
    palette = search(client, qtbot, "zzzz no such thing")
    assert palette._none.isVisible()
    assert not palette.list.isVisible()
    qtbot.keyClick(palette.field, Qt.Key.Key_Escape)
    assert client.window.page == RUNS


@pytest.mark.nightly(by_day=["dark"])
@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_matched_letters_are_marked(client: DesktopClient, qtbot: QtBot, theme: object) -> None:
    """In the colour of links, in both themes."""
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    apply_theme(app, theme)  # type: ignore[arg-type]
    palette = search(client, qtbot, "storage")
    picture = palette.list.grab().toImage()
    accent = getattr(theme, "accent")  # noqa: B009 - both themes are tokens
    row = palette.list.visualRect(palette.list.model().index(0, 0))  # type: ignore[union-attr]
    colours = {
        picture.pixelColor(QPoint(x, y)).name()
        for x in range(row.left(), row.left() + 80)
        for y in range(row.top(), row.bottom())
    }
    palette.close()
    apply_theme(app, DARK)
    assert accent in colours
