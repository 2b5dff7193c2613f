"""A group on a real stack, by clicks: seeds in the form, one launch, a comparison, and its differences."""

from collections.abc import Iterator

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QLineEdit
from pytestqt.qtbot import QtBot
from tests.real_stack import RealStack, absent, click_button, connected_window, real_stack

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.views.main_window import WATCH

LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 120_000

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent()), reason=absent()),
]


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealStack]:
    """A stack of its own: without another worker the form begins with the synthetic one."""
    with real_stack(tmp_path_factory.mktemp("stack")) as made:
        yield made


@pytest.fixture
def client(stack: RealStack) -> Iterator[DesktopClient]:
    """The window on the stack's machine."""
    with connected_window(stack.home) as made:
        yield made


def click(qtbot: QtBot, client: DesktopClient, name: str) -> None:
    """Press a button when it can be pressed."""
    click_button(qtbot, client, name, WAIT_MS)


@pytest.mark.nightly
def test_a_group_is_launched_and_compared(
    qtbot: QtBot, client: DesktopClient, stack: RealStack
) -> None:
    """Three seeds are one group, which opens as a comparison; its differences are those that the stack has."""
    click(qtbot, client, "runs.first")
    qtbot.waitUntil(lambda: client.launch.report is not None, timeout=WAIT_MS)
    seed = client.window.train.findChild(QLineEdit, "field.run.seed")
    assert seed is not None
    seed.clear()
    qtbot.keyClicks(seed, "1-3")
    panel = client.window.train.preflight
    assert panel.runs.text() == "3 runs"
    client.window.watch.views.setCurrentWidget(client.window.watch.differences)
    click(qtbot, client, "preflight.launch")
    qtbot.waitUntil(lambda: client.window.page == WATCH, timeout=WAIT_MS)
    model = client.watch
    qtbot.waitUntil(lambda: len(model.compared) == 3, timeout=WAIT_MS)
    (group,) = stack.ask("/groups")["groups"]
    assert model.ordered_ids == group["run_ids"]
    assert model.title == group["name"]
    assert client.window.watch.views.currentIndex() == 0  # whatever was looked at before
    assert sorted(run.spec.seed for run in model.compared) == [1, 2, 3]
    qtbot.waitUntil(lambda: all(run.state.is_final for run in model.compared), timeout=WAIT_MS)
    page = client.window.watch
    page.views.setCurrentWidget(page.differences)
    differences = client.differences

    def rows() -> dict[str, list[str]]:
        found = {}
        for section in range(differences.rowCount()):
            parent = differences.index(section, 0)
            for row in range(differences.rowCount(parent)):
                cells = [
                    differences.index(row, column, parent).data()
                    for column in range(differences.columnCount())
                ]
                found[cells[0]] = cells[1:]
        return found

    qtbot.waitUntil(lambda: rows().get("seed") == ["1", "2", "3"], timeout=WAIT_MS)
    differences.set_shows_equal(True)
    last = {one["name"]: one["last_value"] for one in stack.ask(f"/runs/{model.run_id}/metrics")}
    qtbot.waitUntil(lambda: set(last) <= set(rows()), timeout=WAIT_MS)
    before = model.legend
    page.chooser.runs.setFocus()
    qtbot.keyClick(page.chooser.runs, Qt.Key.Key_End)
    qtbot.waitUntil(lambda: model.run_id == group["run_ids"][-1], timeout=WAIT_MS)
    assert client.feed.run_id == model.run_id
    assert model.legend == before
