from collections.abc import Iterator
from pathlib import Path

import pytest
from PyQt6.QtWidgets import QPushButton, QToolButton
from pytestqt.qtbot import QtBot
from tests.net.gateway_stub import LiveStub

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.app.parts import KEPT_IN
from mosaic_gui.controllers.preferences import MEMORY_FILE, PreferenceStore
from mosaic_gui.state.connection import LinkState
from mosaic_gui.state.diagnosis import Diagnosis, Trouble
from mosaic_gui.state.memory import MOST_STACKS, KnownStack

WAIT_MS = 60_000


@pytest.fixture
def live() -> Iterator[LiveStub]:
    """A gateway's stream."""
    made = LiveStub()
    yield made
    made.close()


def test_stacks_stand_once_and_the_newest_first(tmp_path: Path) -> None:
    """A stack that is used again moves up; the list has an end; a new start finds it."""
    memory = PreferenceStore(tmp_path)
    for n in (*range(MOST_STACKS + 2), 5):
        memory.use_stack(KnownStack(url=f"http://h:{n}", token_file=f"/t{n}"))
    urls = [stack.url for stack in PreferenceStore(tmp_path).memory.stacks]
    assert urls[:2] == ["http://h:5", f"http://h:{MOST_STACKS + 1}"]
    assert len(urls) == len(set(urls)) == MOST_STACKS


def test_a_stack_that_was_connected_to_is_offered_again(
    qtbot: QtBot, tmp_path: Path, live: LiveStub
) -> None:
    """One click connects again; what is kept names the token's file, and not the token."""
    url = live.listen()
    token = tmp_path / "copy.token"
    token.write_text("very-secret")
    client = DesktopClient(tmp_path)
    client.window.show()
    client.stack.connect_named(url, token)
    qtbot.waitUntil(lambda: client.connection.connection.link is LinkState.LIVE, timeout=WAIT_MS)
    client.window.close()
    client.window.deleteLater()
    kept = (tmp_path / KEPT_IN / MEMORY_FILE).read_text()
    assert str(token) in kept
    assert "very-secret" not in kept

    later = DesktopClient(tmp_path)
    later.window.show()
    known = later.window.findChild(QPushButton, "connection.known.0")
    assert known is not None
    assert known.text() == url
    known.click()
    qtbot.waitUntil(lambda: later.connection.connection.link is LinkState.LIVE, timeout=WAIT_MS)
    later.window.show_connection()
    assert later.window.page == "connection"
    forget = later.window.findChild(QToolButton, "connection.forget.0")
    assert forget is not None
    forget.click()
    assert PreferenceStore(tmp_path / KEPT_IN).memory.stacks == []
    back = later.window.findChild(QPushButton, "connection.back")
    assert back is not None
    back.click()
    assert later.window.page == "runs"
    later.window.close()
    later.window.deleteLater()


def test_a_wrong_token_is_not_tried_for_ever(qtbot: QtBot, tmp_path: Path, live: LiveStub) -> None:
    """What only the user can put right stops the tries, in the colour of faults; a click tries again."""
    token = tmp_path / "t"
    token.write_text("t")
    client = DesktopClient(tmp_path)
    client.window.show()
    client.stack.connect_named("http://127.0.0.1:9", token)
    client.stack._on_diagnosis(Diagnosis(Trouble.TOKEN_WRONG, "The token is wrong", "Copy it."))
    assert client.connection.connection.refused
    assert client.connection.tone == "bad"
    start = client.window.start
    assert (start._title.text(), start._detail.text()) == ("The token is wrong", "Copy it.")
    start.retry.click()
    assert client.connection.connection.link is LinkState.CONNECTING
    client.window.close()
    client.window.deleteLater()


def test_why_there_is_no_connection_stands_on_the_page(qtbot: QtBot, tmp_path: Path) -> None:
    """The headline names the trouble, the line below what to do; this machine's stack is one click away."""
    token = tmp_path / "t"
    token.write_text("t")
    client = DesktopClient(tmp_path)
    client.window.show()
    client.stack.connect_named("http://127.0.0.1:9", token)
    start = client.window.start
    qtbot.waitUntil(
        lambda: start._title.text() == "Nothing listens at 127.0.0.1:9", timeout=WAIT_MS
    )
    assert "./mosaic up -d" in start._detail.text()
    assert start.local.isVisible()
    assert not start.start.isVisible()
    client.window.close()
    client.window.deleteLater()
