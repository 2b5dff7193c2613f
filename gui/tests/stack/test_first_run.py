"""The whole way on a real stack, by clicks: launch from the form, see the curve grow, stop, read the card."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from pytestqt.qtbot import QtBot
from tests.real_stack import RealStack, absent, click_button, connected_window

from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.program.screenshot import Screenshots
from mosaic_gui.state.curves import EPISODE_RETURN
from mosaic_gui.views.main_window import TRAIN, WATCH

LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 120_000
"""Torch is imported three times on the way, perhaps on a busy machine."""

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent("worker_cleanrl")), reason=absent("worker_cleanrl")),
]


@pytest.fixture
def client(stack: RealStack) -> Iterator[DesktopClient]:
    """The client as a person starts it on the stack's machine, whose list is empty."""
    stack.delete_runs()
    with connected_window(stack.home) as made:
        yield made


def click(qtbot: QtBot, client: DesktopClient, name: str) -> None:
    """Press a button when it can be pressed."""
    click_button(qtbot, client, name, WAIT_MS)


def fetch_checkpoint(qtbot: QtBot, client: DesktopClient, folder: Path) -> None:
    """Bring what the watched run learned into a folder, and compare."""
    client.downloads.folder = lambda: folder
    panel = client.window.watch.files
    qtbot.waitUntil(
        lambda: panel.file is not None and panel.file.kind == "checkpoint", timeout=WAIT_MS
    )
    client.window.watch.tabs.setCurrentWidget(panel)
    file, run = panel.file, client.watch.run
    assert file is not None
    assert run is not None
    click(qtbot, client, "files.save")
    qtbot.waitUntil(lambda: str(folder) in client.window.notices.text, timeout=WAIT_MS)
    (fetched,) = folder.iterdir()
    assert fetched.read_bytes() == (client.home / run.run_dir / file.path).read_bytes()


def replay_best(qtbot: QtBot, client: DesktopClient) -> None:
    """See the best episode of the watched run again: every step equal, and a picture of each."""
    click(qtbot, client, "nav.replay")
    click(qtbot, client, "replay.best")
    qtbot.waitUntil(lambda: client.player.main is not None, timeout=WAIT_MS)
    model = client.player.main
    assert model is not None
    qtbot.waitUntil(lambda: model.image is not None, timeout=WAIT_MS)
    assert model.verdict.word.startswith(f"Verified {model.last} of {model.last} · ")
    click(qtbot, client, "replay.last")
    qtbot.waitUntil(lambda: not model.is_late and model.step == model.last, timeout=WAIT_MS)
    assert model.frame is not None
    assert model.frame.flags
    client.player.close_all()


def verify_checkpoint(qtbot: QtBot, client: DesktopClient) -> None:
    """Find what the run has learned in the browser, with its returns; a file that was cut off is no checkpoint."""
    click(qtbot, client, "nav.checkpoints")
    model = client.all_checkpoints
    qtbot.waitUntil(lambda: model.row is not None, timeout=WAIT_MS)
    row, run = model.row, model.run
    assert row is not None
    assert run is not None
    qtbot.waitUntil(
        lambda: bool((trend := model.trend(row.run_id)) and trend.values), timeout=WAIT_MS
    )
    click(qtbot, client, "checkpoints.check")
    qtbot.waitUntil(lambda: model.checked(row) is not None, timeout=WAIT_MS)
    words = client.window.checkpoints.side._file
    assert words.text().startswith("Verified at")
    file = client.home / run.run_dir / row.path
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    click(qtbot, client, "checkpoints.check")
    qtbot.waitUntil(lambda: words.text().startswith("Altered"), timeout=WAIT_MS)
    click(qtbot, client, "checkpoints.play")
    click(qtbot, client, "play.start")
    qtbot.waitUntil(lambda: "is truncated" in client.play_start.refusal, timeout=WAIT_MS)
    file.write_bytes(whole)


def play_checkpoint(qtbot: QtBot, client: DesktopClient) -> None:
    """Watch what the run has learned act, and stop it: a run of PPO plays as the README says."""
    click(qtbot, client, "play.start")
    qtbot.waitUntil(lambda: client.play.is_played, timeout=WAIT_MS)
    play = client.watch.run_id
    qtbot.waitUntil(lambda: client.store.runs[play].step > 0, timeout=WAIT_MS)
    assert client.store.runs[play].spec.kind is RunKind.PLAY
    click(qtbot, client, "watch.stop")
    qtbot.waitUntil(lambda: client.store.runs[play].state.is_final, timeout=WAIT_MS)


def test_a_first_run_by_clicks(qtbot: QtBot, client: DesktopClient, tmp_path: Path) -> None:
    """From an empty list to the card of a stopped run, with nothing but clicks, and every view as a picture."""
    click(qtbot, client, "runs.first")
    assert client.window.page == TRAIN
    click(qtbot, client, "preflight.view.plan")
    click(qtbot, client, "preflight.launch")
    qtbot.waitUntil(lambda: client.window.page == WATCH, timeout=WAIT_MS)
    run_id = client.watch.run_id
    qtbot.waitUntil(lambda: bool(client.store.runs[run_id].dry_run), timeout=WAIT_MS)
    plan = client.store.runs[run_id].dry_run
    assert "mosaic_worker_cleanrl train" in plan.replace("\\\n  ", "")
    assert "# Network\neverything that this machine reaches" in plan
    assert client.store.runs[run_id].note == ""
    followed = client.store.followed[run_id]

    def points() -> int:
        series = followed.curves.series.get(EPISODE_RETURN)
        return len(series) if series else 0

    qtbot.waitUntil(lambda: points() > 5, timeout=WAIT_MS)
    seen = points()
    qtbot.waitUntil(lambda: points() > seen, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: bool(client.window.watch.charts.charts), timeout=WAIT_MS)
    chart = client.window.watch.charts.charts[0]
    qtbot.waitUntil(lambda: chart.curve_count == 1, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: client.stage.image is not None, timeout=WAIT_MS)
    assert client.window.watch.stage.facts.facts[0][0] == "Episode"
    click(qtbot, client, "watch.stop")
    assert client.window.watch.stop.text() == "Stopping …"
    qtbot.waitUntil(lambda: client.store.runs[run_id].state.is_final, timeout=WAIT_MS)
    assert client.store.runs[run_id].state is RunState.CANCELLED
    qtbot.waitUntil(client.window.watch.card.isVisible, timeout=WAIT_MS)
    assert client.window.watch.card._title.text() == "Stopped on request"
    qtbot.waitUntil(lambda: followed.ended, timeout=WAIT_MS)
    summary = client.store.runs[run_id].summary
    assert summary is not None
    qtbot.waitUntil(lambda: points() == client.store.runs[run_id].summary.episodes, timeout=WAIT_MS)  # type: ignore[union-attr]
    qtbot.waitUntil(lambda: bool(client.feed.text.lines), timeout=WAIT_MS)
    fetch_checkpoint(qtbot, client, tmp_path / "Downloads")
    replay_best(qtbot, client)
    verify_checkpoint(qtbot, client)
    play_checkpoint(qtbot, client)
    client.navigator.open_runs([run_id])
    pictures = Screenshots(client, tmp_path)
    with qtbot.waitSignal(pictures.done, timeout=WAIT_MS) as done:
        pictures.start()
    assert done.args == [0], pictures.late
    assert {path.stem for path in pictures.taken} >= {
        "runs",
        "train",
        "palette",
        "checkpoints",
        "watch_ended",
        "replay",
    }
