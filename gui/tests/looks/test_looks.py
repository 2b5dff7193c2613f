"""Pictures of every view in both themes, of which facts are asserted; they are kept for a person to look at."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtGui import QColor, QFontMetrics, QImage
from PyQt6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot
from tests.replay_specimen import fill_replay
from tests.specimen import episodes, machine_sample, metrics, report, run, run_id, summary, worker
from tests.themes import back_to_dark, wear

from mosaic_contracts.machine import MachineHistory, MachineSample
from mosaic_contracts.runs import RunEnd, RunView
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import EndCause, RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import DARK, LIGHT, THEMES
from mosaic_gui.views.main_window import REPLAY, RUNS, TRAIN, WATCH
from mosaic_gui.views.text import ElidedLabel

PICTURES = os.environ.get("MOSAIC_TEST_PICTURES")
"""A folder in which the pictures are left."""


@pytest.fixture(
    scope="module", params=[DARK.name, pytest.param(LIGHT.name, marks=pytest.mark.nightly)]
)
def client(
    qapp: QApplication, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DesktopClient]:
    """The client with runs in many states, at the smallest size that is promised; one for all views of a theme."""
    wear(qapp, THEMES[request.param])
    made = DesktopClient(tmp_path_factory.mktemp("home"))
    made.window.resize(1280, 800)
    made.window.show()
    made.table.consume(made.store.replace_runs(runs_in_every_state()))
    made.hardware.take(MachineHistory(interval_s=2.0, samples=[busy(t) for t in range(40)]))
    yield made
    made.window.close()
    made.window.deleteLater()
    back_to_dark(qapp)


@pytest.fixture(autouse=True)
def _live(client: DesktopClient) -> Iterator[None]:
    """Connected, and quiet again after each view."""
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    yield
    client.launch._settle.stop()


def busy(t: int) -> MachineSample:
    """A machine with a GPU on which the run that goes on has all its memory."""
    gpu = {"uuid": "GPU-a", "index": 0, "name": "A100", "utilization_percent": 90.0 + t % 10}
    memory = {"memory_used_bytes": 70 * 2**30, "memory_total_bytes": 80 * 2**30}
    use = {"run_id": run_id(list(RunState).index(RunState.RUNNING)), "cpu_percent": 1200.0 + t}
    held = {"rss_bytes": 120 * 2**30, "processes": 17, "gpus": [{"uuid": "GPU-a"}]}
    return machine_sample(t=float(t), cpu_percent=100.0, gpus=[gpu | memory], runs=[use | held])


def runs_in_every_state() -> list[RunView]:
    """One run for each state."""
    end = RunEnd(
        cause=EndCause.EXIT_CODE,
        message="The worker ended by itself with exit code 1: RuntimeError: out of luck",
        exit_code=1,
        last_lines=["Traceback (most recent call last):", "RuntimeError: out of luck"],
    )
    return [
        run(
            n,
            state,
            summary=summary(n, last_return=100.0 * n, best_return=500.0, mean_return=1.5),
            progress={"step": 500 * (n + 1), "total": 5000},
            end=end if state is RunState.FAILED else None,
        )
        for n, state in enumerate(RunState)
    ]


def picture(client: DesktopClient, name: str) -> QImage:
    """The window as it is seen once all charts have had their turn."""
    QApplication.processEvents()
    client.window.watch.charts.redraw()
    image = client.window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    if PICTURES:
        folder = Path(PICTURES)
        folder.mkdir(parents=True, exist_ok=True)
        image.save(str(folder / f"{name}-{current().name}.png"))
    return image


def count_pixels(image: QImage, widget: QWidget, window: QWidget, colour: str) -> int:
    """How many pixels of a widget are nearly of a colour."""
    corner = widget.mapTo(window, widget.rect().topLeft())
    part = image.copy(corner.x(), corner.y(), widget.width(), widget.height())
    bits = part.constBits()
    assert bits is not None
    bits.setsize(part.sizeInBytes())
    pixels = np.frombuffer(bits.asstring(), np.uint8).reshape(part.height(), -1, 4)[:, :, 2::-1]
    wanted = QColor(colour)
    rgb = np.array([wanted.red(), wanted.green(), wanted.blue()])
    return int((np.abs(pixels.astype(int) - rgb).max(2) < 24).sum())


def clipped_texts(window: QWidget, padding: int = 0) -> list[str]:
    """Texts of labels and buttons that do not fit where they stand; a button may use so much of its `padding`."""
    found = []
    for shown in window.findChildren(QLabel):
        if isinstance(shown, ElidedLabel) or shown.textFormat() is Qt.TextFormat.RichText:
            continue
        if shown.isVisible() and shown.text() and not _fits(shown):
            found.append(shown.text())
    for pressed in window.findChildren(QPushButton):
        if pressed.isVisible() and pressed.width() + padding < pressed.sizeHint().width():
            found.append(pressed.text())
    return found


def _fits(shown: QLabel) -> bool:
    if shown.wordWrap():
        return shown.height() >= shown.heightForWidth(shown.width())
    return _width(shown, shown.text()) <= shown.width() + 1


def _width(widget: QWidget, text: str) -> int:
    return max(QFontMetrics(widget.font()).horizontalAdvance(line) for line in text.split("\n"))


def test_the_list(client: DesktopClient) -> None:
    """Each state has a badge of its tone, no text is cut, and the accent is on the one main button."""
    client.window.show_page(RUNS)
    image = picture(client, "runs")
    table = client.window.runs.table
    for tone in ("ok", "warn", "bad", "accent", "neutral"):
        assert count_pixels(image, table, client.window, current().tone(tone)) > 20, tone
    assert count_pixels(image, client.window.runs.train, client.window, current().accent) > 1000
    assert clipped_texts(client.window) == []


def test_the_form(qtbot: QtBot, client: DesktopClient) -> None:
    """At 1280x800 the form, its help and the checklist stand side by side without cut texts."""
    client.launch.preflight_wanted.connect(
        lambda spec: client.launch.take_report(spec, report("warning"))
    )
    client.launch.take_catalogue(WorkerEntries(workers=[worker()]))
    client.window.show_page(TRAIN)
    qtbot.waitUntil(lambda: client.launch.report is not None, timeout=60_000)
    image = picture(client, "train")
    launch = client.window.train.preflight.launch
    assert launch.isEnabled()
    assert count_pixels(image, launch, client.window, current().accent) > 1000
    assert count_pixels(image, client.window.train.preflight, client.window, current().warn) > 10
    assert clipped_texts(client.window) == []


def test_curves_are_drawn(client: DesktopClient) -> None:
    """The curve is there in its colour, the raw line fainter beneath it."""
    live = run_id(list(RunState).index(RunState.RUNNING))
    number = list(RunState).index(RunState.RUNNING)
    client.store.follow(live)
    client.store.apply(episodes(1, [float(n % 50) for n in range(200)], number))
    client.store.apply(metrics(201, "losses/a", [1.0, float("nan"), 2.0], number))
    client.watch.watch(live)
    client.window.show_page(WATCH)
    image = picture(client, "watch")
    charts = client.window.watch.charts.charts
    assert len(charts) == 3
    assert count_pixels(image, charts[0], client.window, current().series[0]) > 150
    assert count_pixels(image, charts[2], client.window, current().bad) > 4
    assert clipped_texts(client.window) == []


def test_the_end_card(client: DesktopClient) -> None:
    """A failure is shown in the colour of faults, with everything readable and the charts below still there."""
    failed = run_id(list(RunState).index(RunState.FAILED))
    client.watch.watch(failed)
    client.window.show_page(WATCH)
    image = picture(client, "ended")
    card = client.window.watch.card
    assert card.isVisible()
    assert count_pixels(image, card, client.window, current().bad) > 100
    assert clipped_texts(client.window) == []


def test_a_replay(client: DesktopClient) -> None:
    """Verified and different side by side, each in its tone, and no text is cut."""
    client.window.show_page(REPLAY)
    fill_replay(client)
    image = picture(client, "replay")
    first, second = client.window.replay.panes()
    assert count_pixels(image, first.badge, client.window, current().ok) > 20
    assert count_pixels(image, second.badge, client.window, current().bad) > 20
    assert count_pixels(image, client.window.replay.timeline, client.window, current().accent) > 200
    cut = [text for text in clipped_texts(client.window) if text]  # the rail has icons alone
    assert cut == []
    assert first.title.text() == first.title.whole()
    client.player.close_all()
    client.window.show_page(RUNS)


def test_the_first_page(client: DesktopClient) -> None:
    """Without a stack the way to one is in the middle of the window."""
    client.connection.take(
        ConnectionStatus(reason="No stack has been started for /home/a/var yet.")
    )
    picture(client, "connection")
    assert client.window.start._detail.isVisible()
    assert clipped_texts(client.window) == []
