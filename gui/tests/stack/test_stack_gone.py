"""A window whose stack is stopped under it: it says so, and starts it again by one click."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot
from tests.real_stack import RealStack, absent, connected_window, starts_stacks

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.views.main_window import CONNECTION, RUNS

LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 90_000

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent("workerkit")), reason=absent("workerkit")),
]


@pytest.fixture(autouse=True)
def _program(stack: RealStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each window can start the stack, as one that was opened by `./mosaic gui`."""
    starts_stacks(stack, tmp_path / "mosaic", monkeypatch)


@pytest.fixture
def client(stack: RealStack) -> Iterator[DesktopClient]:
    """The window, connected."""
    with connected_window(stack.home) as made:
        yield made


def button(client: DesktopClient, name: str) -> QPushButton:
    """A button by its object name."""
    found = client.window.findChild(QPushButton, name)
    assert found is not None, name
    return found


def test_a_stopped_stack_is_named_and_started_again(
    qtbot: QtBot, client: DesktopClient, stack: RealStack
) -> None:
    """The list stays; the badge says what is true and leads to the page that starts the stack; the notice does too."""
    badge = client.window.notices.badge
    qtbot.waitUntil(lambda: badge.text() == "Live", timeout=WAIT_MS)
    stack.mosaic("down")
    qtbot.waitUntil(lambda: badge.text() == "Stack not running", timeout=WAIT_MS)
    assert badge.tone == "warn"
    assert client.window.page == RUNS
    assert "The stack of this machine is not running" in client.window.notices.text
    assert button(client, "notices.act").text() == "Start it"
    qtbot.mouseClick(badge, LEFT)
    assert client.window.page == CONNECTION
    start = client.window.start
    assert start._title.text() == "The stack of this machine is not running"
    qtbot.mouseClick(start.start, LEFT)
    qtbot.waitUntil(lambda: badge.text() == "Starting the stack", timeout=WAIT_MS)
    qtbot.waitUntil(lambda: badge.text() == "Live", timeout=WAIT_MS)
    qtbot.waitUntil(lambda: client.window.page == RUNS, timeout=WAIT_MS)


@pytest.mark.nightly
def test_a_service_that_is_restarted_is_no_stopped_stack(
    qtbot: QtBot, client: DesktopClient, stack: RealStack
) -> None:
    """While its supervisor lives, the stack is not ready, and nothing is offered that would do nothing."""
    badge = client.window.notices.badge
    qtbot.waitUntil(lambda: badge.text() == "Live", timeout=WAIT_MS)
    with stack.away("gateway"):
        qtbot.waitUntil(lambda: badge.text() == "Stack not ready", timeout=WAIT_MS)
        assert client.window.notices.text == ""
    qtbot.waitUntil(lambda: badge.text() == "Live", timeout=WAIT_MS)


@pytest.mark.nightly
def test_the_window_of_a_stopped_stack_says_so_from_its_start(
    qtbot: QtBot, stack: RealStack
) -> None:
    """The badge and the page agree; the button starts it."""
    stack.mosaic("down")
    with connected_window(stack.home) as client:
        badge = client.window.notices.badge
        qtbot.waitUntil(lambda: badge.text() == "Stack not running", timeout=WAIT_MS)
        assert client.window.start._title.text() == "The stack of this machine is not running"
        assert button(client, "connection.start").isVisible()
        qtbot.mouseClick(button(client, "connection.start"), LEFT)
        qtbot.waitUntil(lambda: badge.text() == "Live", timeout=WAIT_MS)
