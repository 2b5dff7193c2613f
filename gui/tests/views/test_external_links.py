from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from PyQt6.QtCore import QUrl
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot
from tests.controllers.test_run_actions import FakeSession
from tests.specimen import run, run_id
from tests.state.test_external_links import GATEWAY, tracking

from mosaic_contracts.preflight import PreflightLine
from mosaic_contracts.runs import DashboardEntry
from mosaic_contracts.services import WorkerEntries
from mosaic_contracts.states import RunState
from mosaic_contracts.syncs import SyncPlan, SyncStatus
from mosaic_contracts.tracking import TrackedRun, TrackedUpload, UploadState
from mosaic_gui.app.client import DesktopClient
from mosaic_gui.controllers.dashboards import WAIT_S
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.location import StackLocation
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.connection import ConnectionStatus, LinkState
from mosaic_gui.state.store import Changes
from mosaic_gui.views.main_window import WATCH
from mosaic_gui.views.tracker_popup import TrackerPopup


class Shown:
    """The window of a tracked run, and what it opened."""

    def __init__(self, client: DesktopClient) -> None:
        self.client, self.links = client, client.window.watch.links
        self.opened: list[str] = []
        self.has_browser = True
        client.open_externally = self._open

    def _open(self, url: QUrl) -> bool:
        self.opened.append(url.toString())
        return self.has_browser

    def report(self, reported: TrackedRun) -> None:
        """The run reports its tracker."""
        self.client.store.followed[run_id(0)].tracked = reported
        self.client.watch.consume(Changes(events=frozenset({run_id(0)})))


@pytest.fixture
def shown(qtbot: QtBot, tmp_path: Path) -> Iterator[Shown]:
    """Connected to a stack that offers nothing of the kind."""
    client = DesktopClient(tmp_path)
    client.connection.take(ConnectionStatus(LinkState.LIVE, GATEWAY))
    client.window.show()
    client.launch.take_catalogue(WorkerEntries(workers=[tracking()[0]]))
    client.store.replace_runs([run(0, spec={"parameters": {"track": True}})])
    client.store.follow(run_id(0))
    client.watch.watch(run_id(0))
    client.window.show_page(WATCH)
    yield Shown(client)
    client.sync_controller.detach()
    client.launch._settle.stop()
    client.window.close()
    client.window.deleteLater()


def test_ways_that_lead_nowhere_are_grey_and_say_why(shown: Shown) -> None:
    """Neither is hidden: what is missing can be read."""
    made = shown.links.tracker
    assert made.isVisible()
    assert not made.isEnabled()
    assert made.toolTip().startswith("The run's W&B address is not known yet.")


def test_tensorboard_opens_in_the_browser(shown: Shown) -> None:
    """The watched run's, as soon as it answers; without a browser its address can be copied, and a refusal in words."""
    session = FakeSession()
    session.location = StackLocation(GATEWAY, "token")  # type: ignore[attr-defined]  # as much as is used
    shown.client.dashboards.session = cast(StreamSession, session)
    notices = shown.client.window.notices
    shown.links.tensorboard.click()
    shown.links.tensorboard.click()  # it is starting
    assert session.api.asked == [("open_tensorboard", ([run_id(0)],))]
    assert not shown.links.tensorboard.isEnabled()
    waits = run(5, waiting_reason="behind other TensorBoards")
    session.api.replies[-1].succeed(DashboardEntry(run=waits))
    assert "behind other TensorBoards" in notices.text
    assert session.api.asked[-1] == ("tensorboard", (run_id(5), WAIT_S))
    ready = DashboardEntry(run=run(5), is_ready=True, url="/dashboards/x/?ticket=1")
    session.api.replies[-1].succeed(ready)
    assert shown.opened == [f"{GATEWAY}/dashboards/x/?ticket=1"]
    assert shown.links.tensorboard.isEnabled()
    shown.has_browser = False
    shown.links.tensorboard.click()
    session.api.replies[-1].succeed(ready)
    assert notices.text == "No program here opens web pages."
    notices._act.click()
    assert QGuiApplication.clipboard().text() == shown.opened[0]  # type: ignore[union-attr]
    shown.links.tensorboard.click()
    session.api.replies[-1].fail(ApiProblem("No worker has TensorBoard."))
    assert "No worker has TensorBoard." in notices.text
    assert shown.links.tensorboard.isEnabled()
    shown.client.dashboards.session = None


def test_the_tracker_opens_in_the_browser(shown: Shown) -> None:
    """It opens as soon as the run has reported its page."""
    url = "https://wandb.ai/a/b/runs/c"
    shown.report(TrackedRun(tracker="wandb", mode="online", url=url))
    shown.links.tracker.click()
    assert shown.opened == [url]


def test_offline_there_is_a_summary(shown: Shown) -> None:
    """Nothing is opened outside: what is known is shown here."""
    shown.report(TrackedRun(tracker="wandb", mode="offline", folder="wandb/offline-run-1"))
    shown.links.tracker.click()
    popup = shown.links.findChild(TrackerPopup)
    assert popup is not None
    texts = [words.text() for words in popup.findChildren(QLabel)]
    assert f"./mosaic wandb sync {run_id(0)}" in texts
    assert shown.opened == []
    assert not popup.page.isVisible()
    popup.close()


def test_the_state_of_an_upload_and_its_last_error_are_shown(shown: Shown) -> None:
    """While all goes well the page is one click away; what goes wrong is shown first, and followed."""
    url = "https://wandb.ai/a/b/runs/c"
    shown.report(TrackedRun(tracker="wandb", mode="online", url=url, project="cart"))
    followed = shown.client.store.followed[run_id(0)]

    def upload(state: UploadState, error: str | None = None) -> None:
        followed.upload = TrackedUpload(tracker="wandb", state=state, error=error)
        shown.client.watch.consume(Changes(events=frozenset({run_id(0)})))

    upload(UploadState.UPLOADING)
    button = shown.links.tracker
    assert (button.toolTip(), button.property("tone")) == ("Uploading", None)
    upload(UploadState.RETRYING, "503 from the proxy")
    assert (button.toolTip(), button.property("tone")) == ("Retrying: 503 from the proxy", "warn")
    button.click()
    popup = shown.links.findChild(TrackerPopup)
    assert popup is not None
    assert (popup._badge.text(), popup._error.text()) == ("Retrying", "503 from the proxy")
    upload(UploadState.INCOMPLETE, "401: the key is not known")
    assert (popup._badge.text(), popup._error.text()) == ("Incomplete", "401: the key is not known")
    popup.page.click()
    assert shown.opened == [url]


def test_an_ended_run_is_sent_after_consent(qtbot: QtBot, shown: Shown) -> None:
    """The plan is shown first; what is agreed to is what is sent; the sync is followed to its end."""
    session = FakeSession()
    client, api = shown.client, session.api
    client.sync_controller.session = cast(StreamSession, session)
    client._on_tick(client.store.take_runs([run(0, RunState.SUCCEEDED, revision=9)]))
    assert shown.links.tracker.isEnabled()
    shown.links.tracker.click()
    popup = shown.links.findChild(TrackerPopup)
    assert popup is not None
    assert popup._note.text() == "This run was not tracked with W&B."
    assert api.asked == [("syncs", (run_id(0),))]
    popup.sync.begin.click()
    assert api.asked[-1] == ("plan_sync", (run_id(0), {}))
    popup.sync.project.setText("cart")
    popup.sync.project.editingFinished.emit()
    asked = {"project": "cart"}
    assert api.asked[-1] == ("plan_sync", (run_id(0), asked))
    for reply, project in ((api.replies[1], "mosaic"), (api.replies[2], "cart")):
        reply.succeed(plan(project))
    assert popup.sync._needs.text() == "•  sending metrics to project cart"
    popup.sync.agree.click()
    assert api.asked[-1] == ("sync_run", (run_id(0), asked | {"consent": "digest of cart"}))
    sync = run(5, RunState.RUNNING, notes=["3 of 7 files"])
    api.replies[-1].succeed(sync)
    assert (popup.sync.agree.isVisible(), popup.sync._words.text()) == (False, "3 of 7 files")
    qtbot.waitUntil(lambda: api.asked[-1] == ("syncs", (run_id(0),)))
    ended = run(5, RunState.FAILED, end={"cause": "exit_code", "message": "401: no such key"})
    api.replies[-1].succeed(SyncStatus(syncs=[ended]))
    assert "401: no such key" in client.window.notices.text
    assert "401: no such key" in popup.sync._words.text()
    assert (popup.sync.begin.isVisible(), popup.sync.project.isVisible()) == (True, False)
    popup.close()


def test_the_page_of_a_sent_run_is_one_click_away(qtbot: QtBot, shown: Shown) -> None:
    """It is recorded a moment after the sync has ended, when the run itself is followed no longer."""
    session = FakeSession(shown.client.store)
    client, api = shown.client, session.api
    client.sync_controller.session = cast(StreamSession, session)
    client._on_tick(client.store.take_runs([run(0, RunState.SUCCEEDED, revision=9)]))
    client.sync.run_id = run_id(0)
    client.sync_controller._on_started(run_id(0), run(5))
    sent = run(5, RunState.SUCCEEDED)
    url = "https://wandb.ai/a/b/runs/c"
    tracked = TrackedRun(tracker="wandb", mode="online", url=url)
    upload = TrackedUpload(tracker="wandb", state=UploadState.UPLOADED)
    for status in (
        SyncStatus(syncs=[sent]),
        SyncStatus(syncs=[sent], tracked=tracked, upload=upload),
    ):
        asked = len(api.asked)
        qtbot.waitUntil(lambda asked=asked: len(api.asked) > asked)  # type: ignore[misc]
        api.replies[-1].succeed(status)
    assert client.window.notices.text == "Sent to W&B."
    client._on_tick(session.reported[-1])
    shown.links.tracker.click()
    assert shown.opened == [url]


def plan(project: str) -> SyncPlan:
    """What would be sent to a project."""
    needs = [f"sending metrics to project {project}"]
    return SyncPlan(
        run_id=run_id(0),
        way="store",
        address="https://api.wandb.ai",
        project=project,
        entity=None,
        files=0,
        file_bytes=0,
        lines=[PreflightLine(id="reach", title="W&B", level="ok", message="It answers.")],
        needs=needs,
        digest=f"digest of {project}",
    )
