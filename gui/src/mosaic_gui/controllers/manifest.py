"""Keeps files and links of the watched run as they are: asks for its manifest at each event, and regularly."""

from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.manifest import RunManifest
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiReply
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.watch import WatchModel

LOOK_EVERY_MS = 800
"""Interval between requests while the page of a live run is shown: no event names a file that a user deletes."""


class ManifestController(Controller):
    """Asks for one manifest at a time; what changes meanwhile is asked for afterwards."""

    def __init__(self, model: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._reply: ApiReply | None = None
        self._is_due = False
        self._is_shown = False
        self._announced: object = None
        self._timer = interval_timer(self, LOOK_EVERY_MS, self._read)
        model.run_replaced.connect(self._on_replaced)

    def show_page(self, shown: bool) -> None:
        """Note whether the page is visible."""
        self._is_shown = shown
        if shown:
            self._read()
        self._set_timer()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        run_id = self._model.run_id
        if run_id in changes.runs | changes.ended:
            self._set_timer()
        announced = self._newest_announcement()
        if run_id in changes.ended or announced != self._announced:
            self._announced = announced
            self._read()

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._timer.stop()
        self._drop()

    def _on_replaced(self) -> None:
        self._drop()
        self._announced = self._newest_announcement()
        self._read()
        self._set_timer()

    def _newest_announcement(self) -> object:
        """What changes with each event about files or the tracker of the run."""
        session = self.session
        followed = None if session is None else session.store.followed.get(self._model.run_id)
        return (
            None if followed is None else (self._model.run_id, followed.artifacts, followed.tracked)
        )

    def _set_timer(self) -> None:
        is_live = self.session is not None and self._model.is_live
        run_while(self._timer, is_live and self._is_shown)

    def _read(self) -> None:
        if self.session is None or not self._model.run_id:
            return
        if self._reply is not None:
            self._is_due = True
            return
        self._is_due = False
        self._reply = self.session.api.manifest(self._model.run_id)
        self._reply.done.connect(partial(self._on_manifest, self._model.run_id))
        self._reply.failed.connect(self._on_failed)

    def _on_manifest(self, run_id: str, manifest: RunManifest) -> None:
        self._reply = None
        if run_id == self._model.run_id:
            self._model.take_manifest(manifest)
        if self._is_due:
            self._read()

    def _on_failed(self, _problem: object) -> None:
        # A run that has just begun, or a gateway that restarts: the next event or look asks again.
        self._reply = None

    def _drop(self) -> None:
        if self._reply is not None:
            self._reply.drop()
            self._reply = None
        self._is_due = False
