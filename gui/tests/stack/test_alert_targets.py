"""Targets of alerts set in the window of a real stack: a webhook and a command take the test, and go again."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot
from tests.real_stack import RealStack, absent, connected_window, starts_stacks

from mosaic_contracts.alert_words import TARGETS_DIR
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.views.main_window import ALERTS
from mosaic_gui.views.targets_popup import TargetsPopup

LEFT = Qt.MouseButton.LeftButton
WAIT_MS = 90_000
TEST = "alert.test"

pytestmark = [
    pytest.mark.stack,
    pytest.mark.timeout(300),
    pytest.mark.skipif(bool(absent()), reason=absent()),
]


class Receiver:
    """A server that takes webhooks."""

    def __init__(self) -> None:
        self.taken: list[tuple[str | None, dict[str, Any]]] = []
        taken = self.taken

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                taken.append((self.headers["Authorization"], json.loads(body)))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/secret"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """The receiver of webhooks."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def client(
    qtbot: QtBot, stack: RealStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[DesktopClient]:
    """The window, opened by `./mosaic gui`, connected, on the page of alerts; behind it there are no targets."""
    starts_stacks(stack, tmp_path / "mosaic", monkeypatch)
    with connected_window(stack.home) as made:
        qtbot.waitUntil(lambda: made.connection.is_live, timeout=WAIT_MS)
        made.window.show_page(ALERTS)
        qtbot.waitUntil(lambda: made.alerts.is_read, timeout=WAIT_MS)
        yield made
    for path in (stack.home / TARGETS_DIR).iterdir():
        path.unlink()


def press(qtbot: QtBot, popup: TargetsPopup, name: str) -> None:
    """Press a button of the popup when it is there."""
    qtbot.waitUntil(lambda: popup.findChild(QPushButton, name) is not None, timeout=WAIT_MS)
    qtbot.mouseClick(popup.findChild(QPushButton, name), LEFT)


def add(qtbot: QtBot, popup: TargetsPopup, kind: str, name: str, value: str) -> None:
    """Enter a target, and agree."""
    press(qtbot, popup, f"targets.kind.{kind}")
    qtbot.keyClicks(popup.name, name)
    qtbot.keyClicks(popup.value, value)
    assert popup.add.isEnabled(), popup.words.text()


def said(qtbot: QtBot, popup: TargetsPopup, words: str) -> None:
    """Wait for a result in words."""
    qtbot.waitUntil(lambda: words in popup._said.text(), timeout=WAIT_MS)


def test_a_webhook_is_added_tested_and_removed(
    qtbot: QtBot, client: DesktopClient, stack: RealStack, receiver: Receiver
) -> None:
    """The consent names the host; the test arrives with its header; the address is not shown."""
    popup = client.window.alerts.open_targets()
    assert not popup.add.isEnabled()
    add(qtbot, popup, "webhook", "chat", receiver.url)
    assert "to 127.0.0.1." in popup.words.text()
    qtbot.keyClicks(popup.authorization, "Bearer x")
    qtbot.mouseClick(popup.add, LEFT)
    said(qtbot, popup, "chat gets all alerts from now on.")
    assert popup.value.text() == ""
    press(qtbot, popup, "targets.test.chat")
    said(qtbot, popup, "chat took the test.")
    (header, body) = receiver.taken[0]
    assert (header, body["event"]) == ("Bearer x", TEST)
    assert "secret" not in client.window.alerts._targets.text()
    assert "chat (http://127.0.0.1" in client.window.alerts._targets.text()
    press(qtbot, popup, "targets.remove.chat")
    assert len(client.alerts.targets) == 1  # the first press asks
    press(qtbot, popup, "targets.remove.chat")
    said(qtbot, popup, "chat gets no more alerts.")
    qtbot.waitUntil(lambda: client.alerts.targets == [], timeout=WAIT_MS)
    assert list((stack.home / TARGETS_DIR).glob("chat*")) == []


@pytest.mark.nightly
def test_a_command_is_added_on_the_machine_of_the_stack(
    qtbot: QtBot, client: DesktopClient, tmp_path: Path
) -> None:
    """The consent names the program; what it gets is the alert."""
    taken = tmp_path / "taken"
    popup = client.window.alerts.open_targets()
    add(qtbot, popup, "command", "desk", f"tee '{taken}'")
    assert popup.words.text().startswith("Each alert starts tee as you")
    assert not popup.authorization.isVisible()
    qtbot.mouseClick(popup.add, LEFT)
    said(qtbot, popup, "desk gets all alerts from now on.")
    press(qtbot, popup, "targets.test.desk")
    said(qtbot, popup, "desk took the test.")
    assert json.loads(taken.read_text())["event"] == TEST


@pytest.mark.nightly
def test_a_target_that_does_not_take_the_test_says_why(
    qtbot: QtBot, client: DesktopClient, tmp_path: Path
) -> None:
    """A program that is not there is named; what is wrong with the words is said before."""
    popup = client.window.alerts.open_targets()
    popup.name.setText("Desk")
    popup.value.setText("x")
    assert "small letters" in popup.words.text()
    popup.name.setText("desk")
    assert "https://" in popup.words.text()
    assert not popup.add.isEnabled()
    popup.name.clear()
    popup.value.clear()
    add(qtbot, popup, "command", "desk", "false")
    qtbot.mouseClick(popup.add, LEFT)
    said(qtbot, popup, "desk gets all alerts from now on.")
    press(qtbot, popup, "targets.test.desk")
    said(qtbot, popup, "desk did not take the test")
