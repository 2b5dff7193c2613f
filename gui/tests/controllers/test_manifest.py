"""The files and links of the watched run follow its manifest."""

from typing import Any, cast

from PyQt6.QtCore import QObject, pyqtSignal
from pytestqt.qtbot import QtBot
from tests.specimen import run, run_id

from mosaic_contracts.manifest import ManifestEntry, ManifestLink, RunManifest
from mosaic_contracts.manifest_words import FileState, LinkKind
from mosaic_contracts.states import RunState
from mosaic_contracts.tracking import TrackedRun
from mosaic_gui.controllers.manifest import LOOK_EVERY_MS, ManifestController
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.watch import WatchModel

CHECKPOINT = ManifestEntry(path="a.pt", kind="checkpoint", bytes=3, announced=True)
LOG = ManifestEntry(path="logs/worker.log", kind="log", bytes=3)


class Reply(QObject):
    """A request that is answered when the test says so."""

    done = pyqtSignal(object)
    failed = pyqtSignal(object)

    def drop(self) -> None:
        """Nobody waits for it any more."""
        self.blockSignals(True)


class Asked:
    """Replaces session and API: notes each request for a manifest."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.api = self
        self.replies: list[Reply] = []

    def manifest(self, _run_id: str) -> Reply:
        """Take a request."""
        self.replies.append(Reply())
        return self.replies[-1]

    def answer(self, *entries: ManifestEntry, links: Any = ()) -> None:
        """Answer the newest request."""
        self.replies[-1].done.emit(
            RunManifest(run_id=run_id(0), entries=list(entries), links=list(links))
        )


def test_files_follow_events_and_looks(qtbot: QtBot) -> None:
    """An event asks at once, one request at a time; a live run that is shown is looked at within a second."""
    store = Store()
    store.replace_runs([run(0)])
    model, asked = WatchModel(store), Asked(store)
    controller = ManifestController(model)
    controller.attach(cast("StreamSession", asked))
    store.follow(run_id(0))
    model.watch(run_id(0))
    asked.answer(CHECKPOINT, LOG)
    assert [file.path for file in model.files.files] == ["a.pt"]
    controller.consume(Changes())
    assert len(asked.replies) == 1
    for _ in range(3):  # two of them while the first is not answered
        store.followed[run_id(0)].artifacts += 1
        controller.consume(Changes(events=frozenset({run_id(0)})))
    assert len(asked.replies) == 2
    asked.answer(CHECKPOINT, CHECKPOINT.model_copy(update={"path": "b.pt"}))
    assert [file.path for file in model.files.files] == ["a.pt", "b.pt"]
    assert len(asked.replies) == 3
    asked.answer(CHECKPOINT)
    assert LOOK_EVERY_MS < 1000
    controller.show_page(True)
    asked.answer(CHECKPOINT)
    qtbot.waitUntil(lambda: len(asked.replies) == 5)
    asked.answer(CHECKPOINT.model_copy(update={"state": FileState.MISSING}))
    assert model.files.files == []
    store.replace_runs([run(0, RunState.SUCCEEDED)])
    controller.consume(Changes(ended=frozenset({run_id(0)})))
    assert not controller._timer.isActive()
    controller.detach()


def test_links_follow_the_manifest(qtbot: QtBot) -> None:
    """The run at its tracker and an open TensorBoard are known without the run's history; another run has neither."""
    store = Store()
    store.replace_runs([run(0), run(1)])
    model = WatchModel(store)
    model.watch(run_id(0))
    page = TrackedRun(tracker="wandb", mode="online", url="https://wandb.ai/a/b")
    links = [
        ManifestLink(kind=LinkKind.TRACKER, tracked=page),
        ManifestLink(kind=LinkKind.DASHBOARD, run_id=run_id(5)),
    ]
    with qtbot.waitSignal(model.links_changed):
        model.take_manifest(RunManifest(run_id=run_id(0), entries=[], links=links))
    assert model.tracker.url == page.url
    assert model.tensorboard.is_open
    model.watch(run_id(1))
    assert (model.tracker.url, model.tensorboard.is_open) == ("", False)
