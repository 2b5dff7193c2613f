"""Faults that people found in the window (trials, section 5), each tried again in the real window of a real stack.

Those of the form, keys, popups, themes and charts are in `views` and `looks`, with the real client.
"""

import re
import time
from collections.abc import Callable, Iterator

import pytest
from PyQt6.QtCore import QRect, Qt
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.client_process import ClientProcess, Report
from tests.real_stack import RealStack, absent, connected_window

from mosaic_contracts.states import RunState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.theme.current import current
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.views.main_window import RUNS, WATCH
from mosaic_gui.views.run_rows import ROW_HEIGHT

LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 90_000
FLOOD = 12_000
"""Events a second, nearly all of them metrics."""

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent("workerkit")), reason=absent("workerkit")),
]


@pytest.fixture
def client(qtbot: QtBot, stack: RealStack) -> Iterator[DesktopClient]:
    """The window, connected."""
    with connected_window(stack.home) as made:
        qtbot.waitUntil(lambda: made.run_list.is_read, timeout=WAIT_MS)
        yield made


def wait_state(qtbot: QtBot, client: DesktopClient, run_id: str, state: RunState) -> None:
    """Wait until the window knows that a run is in this state."""
    qtbot.waitUntil(
        lambda: run_id in client.store.runs and client.store.runs[run_id].state is state,
        timeout=WAIT_MS,
    )


@pytest.mark.nightly
def test_a_state_passes_the_events_of_a_flood(stack: RealStack) -> None:
    """Row 34: a window with a backlog shows the end before the last events, and never more time than the run took."""
    client = ClientProcess(stack.home)
    try:
        client.wait_link("live")
        run_id = stack.submit(rate=FLOOD, events=10**7, metrics=1.0)
        client.order("open", run_id)
        client.wait_points(run_id, 50)
        stored = stack.stored(run_id)
        with client.asleep():
            _wait(lambda: stack.stored(run_id) > stored + FLOOD)
            stack.ask(f"/runs/{run_id}/stop", {})
            _wait(lambda: bool(stack.ask(f"/runs/{run_id}")["ended_at"]))
        client.wait_ended(run_id)
        lines = client.reported
        shown = next(n for n, one in enumerate(lines) if _shows(one, run_id, "Cancelled"))
        ended = next(
            n for n, one in enumerate(lines) if one["what"] == "ended" and one["run"] == run_id
        )
        assert shown < ended
        took = stack.ask(f"/runs/{run_id}")["elapsed_s"]
        assert max(one["elapsed_s"] for one in lines if _is_of(one, run_id)) <= took + 1.0
    finally:
        assert client.close() == 0


def _is_of(line: Report, run_id: str) -> bool:
    return bool(line["what"] == "badge" and line["run"] == run_id)


def _shows(line: Report, run_id: str, word: str) -> bool:
    return _is_of(line, run_id) and line["word"] == word


def test_an_episode_is_cut_off_with_its_run(
    qtbot: QtBot, client: DesktopClient, stack: RealStack
) -> None:
    """Row 42: the table of a stopped run says so of the episode that was open."""
    run_id = stack.submit(rate=300, events=10**6)
    client.navigator.open_runs([run_id])
    table = client.window.watch._episodes
    client.window.watch.tabs.setCurrentWidget(client.window.watch.episodes)

    def texts() -> str:
        model = table.model()
        assert model is not None
        rows, columns = range(model.rowCount()), range(model.columnCount())
        return " ".join(str(model.index(r, c).data()) for r in rows for c in columns)

    qtbot.waitUntil(lambda: "goes on" in texts(), timeout=WAIT_MS)
    qtbot.mouseClick(client.window.watch.stop, LEFT)
    wait_state(qtbot, client, run_id, RunState.CANCELLED)
    qtbot.waitUntil(lambda: "cut off by the run's end" in texts(), timeout=WAIT_MS)
    assert "goes on" not in texts()


@pytest.mark.nightly
def test_a_run_that_ended_early_has_no_full_bar(
    qtbot: QtBot, client: DesktopClient, stack: RealStack
) -> None:
    """Row 43: the bar and its words show what was reached of what was asked for."""
    spec = {
        "worker": "synthetic",
        "algorithm": "synthetic",
        "environment": "Synthetic-v0",
        "steps": 10_000,
        "parameters": {"rate": 1_000, "seconds": 2},
    }
    run_id = str(stack.ask("/runs", spec)["run_id"])
    wait_state(qtbot, client, run_id, RunState.SUCCEEDED)
    client.window.show_page(RUNS)
    page, model = client.window.runs, client.table
    qtbot.waitUntil(lambda: model.row_of(run_id) is not None, timeout=WAIT_MS)
    row = model.row_of(run_id)
    assert row is not None
    words = str(model.index(row, Column.PROGRESS).data())
    assert re.fullmatch(r"[\d.]+k? of 10k", words), words
    QApplication.processEvents()
    table = page.table
    left = table.columnViewportPosition(Column.PROGRESS)
    place = QRect(
        left, table.rowViewportPosition(row), table.columnWidth(Column.PROGRESS), ROW_HEIGHT
    )
    viewport = table.viewport()
    assert viewport is not None
    picture = viewport.grab(place).toImage()
    ok = current().ok
    inked = {
        x
        for x in range(picture.width())
        for y in range(picture.height())
        if picture.pixelColor(x, y).name() == ok
    }
    assert 0 < len(inked) < 0.5 * picture.width()


@pytest.mark.nightly
def test_curves_are_given_back_after_the_page_was_left(
    qtbot: QtBot, client: DesktopClient, stack: RealStack
) -> None:
    """Row 41: nothing is kept of a run that is not looked at; it is opened again with all of it."""
    run_id = stack.submit(rate=2_000, events=4_000, metrics=0.5)
    client.navigator.open_runs([run_id])
    qtbot.waitUntil(lambda: len(client.window.watch.charts.charts) > 1, timeout=WAIT_MS)
    wait_state(qtbot, client, run_id, RunState.SUCCEEDED)
    client.window.show_page(RUNS)
    qtbot.waitUntil(lambda: not client.store.followed, timeout=WAIT_MS)
    client.window.show_page(WATCH)
    charts = client.window.watch.charts
    qtbot.waitUntil(lambda: charts.charts[0].curve_count > 0, timeout=WAIT_MS)
    followed = client.store.followed[run_id]
    qtbot.waitUntil(lambda: "losses/m1" in followed.curves.series, timeout=WAIT_MS)
    stored = stack.points(run_id, "losses/m1")
    qtbot.waitUntil(
        lambda: len(followed.curves.series["losses/m1"]) == len(stored), timeout=WAIT_MS
    )


def test_a_deleted_run_comes_back_from_the_trash(
    qtbot: QtBot, client: DesktopClient, stack: RealStack
) -> None:
    """Row 46: long after the notice has gone, the trash has it."""
    run_id = stack.submit(events=10)
    wait_state(qtbot, client, run_id, RunState.SUCCEEDED)
    runs = client.window.runs
    client.window.show_page(RUNS)
    qtbot.waitUntil(lambda: client.table.row_of(run_id) is not None, timeout=WAIT_MS)
    runs.select_run(run_id)
    qtbot.keyClick(runs.table, Qt.Key.Key_Delete)
    qtbot.waitUntil(lambda: run_id not in client.store.runs, timeout=WAIT_MS)
    client.window.notices.clear()
    qtbot.mouseClick(runs.trash_button, LEFT)
    deleted = client.trash_runs
    qtbot.waitUntil(lambda: run_id in [run.run_id for run in deleted.runs], timeout=WAIT_MS)
    row = [run.run_id for run in deleted.runs].index(run_id)
    runs.trash.table.selectRow(row)
    qtbot.mouseClick(runs.trash.restore, LEFT)
    wait_state(qtbot, client, run_id, RunState.SUCCEEDED)
    qtbot.mouseClick(runs.trash.back, LEFT)
    qtbot.waitUntil(lambda: client.table.row_of(run_id) is not None, timeout=WAIT_MS)


def _wait(claim: Callable[[], bool]) -> None:
    """Wait for what happens in other processes."""
    ends = time.monotonic() + 60
    while not claim():
        assert time.monotonic() < ends
        time.sleep(0.05)  # it lies in another process, which has no event for us
