"""What is kept of a run that is watched, and when it is let go."""

from pathlib import Path
from typing import cast

import pytest
from PyQt6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from tests.specimen import episodes, run, run_id

from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.views.main_window import RUNS, WATCH


class Opened:
    """Replaces a session: it follows in the store alone, and records what was opened."""

    def __init__(self, client: DesktopClient) -> None:
        self.store = client.store
        self.opened: list[str] = []

    def follow(self, run_id: str) -> None:
        """Open a run."""
        self.opened.append(run_id)
        self.store.follow(run_id)

    def unfollow(self, run_id: str) -> None:
        """Let go of it."""
        self.store.unfollow(run_id)


def test_curves_are_let_go_after_the_page_was_left(qtbot: QtBot, tmp_path: Path) -> None:
    """Leaving the page frees the memory of a run's curves; on return the run is opened again."""
    client = DesktopClient(tmp_path)
    client.window.show()
    client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
    client.store.replace_runs([run(0)])
    session = Opened(client)
    client.window.show_page(WATCH)
    client.watch.watch(run_id(0))
    client.watch_controller.session = cast("StreamSession", session)
    session.follow(run_id(0))
    client.store.apply(episodes(1, [1.0, 2.0]))
    client.watch_controller._let_go.setInterval(0)
    client.window.show_page(RUNS)
    qtbot.waitUntil(lambda: not client.store.followed)
    client.window.show_page(WATCH)
    assert session.opened == [run_id(0)] * 2
    client.window.show_page(RUNS)
    client.window.show_page(WATCH)
    QApplication.processEvents()
    assert list(client.store.followed) == [run_id(0)]  # a short look elsewhere costs nothing
    client.watch_controller.session = None
    client.window.close()
    client.window.deleteLater()


@pytest.mark.usefixtures("qapp")
def test_the_runs_of_the_last_session_are_watched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The watch page is not empty after a restart: runs that are gone are left out, one that is opened comes first."""
    first = DesktopClient(tmp_path)
    first.store.replace_runs([run(n) for n in range(3)])
    first.watch.watch(run_id(2), [run_id(1), run_id(0)])
    first.window.close()
    first.window.deleteLater()
    for opened_before in (False, True):
        client = DesktopClient(tmp_path)
        client.window.show()
        client.connection.take(ConnectionStatus(LinkState.LIVE, "http://127.0.0.1:1"))
        client.store.replace_runs([run(0), run(2)])
        watched: list[list[str]] = []
        monkeypatch.setattr(client.watch_controller, "watch", watched.append)
        client.last_watched.session = cast("StreamSession", Opened(client))
        assert client.window.watch is not None  # made ahead, as by the warm-up
        if opened_before:
            client.watch.watch(run_id(0))
        client.window.show_page(WATCH)
        assert watched == ([] if opened_before else [[run_id(2), run_id(0)]])
        client.last_watched.session = None
        client.window.close()
        client.window.deleteLater()
