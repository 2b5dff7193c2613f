"""Asks what the watched run has on the disk, for its details."""

from functools import partial

from PyQt6.QtCore import QObject

from mosaic_contracts.storage_reports import StorageReport
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiReply
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.watch import WatchModel

AGAIN_MS = 30_000
"""Interval between requests while the page is visible: a run grows, and files go when their time is over."""


class RunStorageController(Controller):
    """One request at a time, when another run is watched, at its end, and while its page is visible."""

    def __init__(self, model: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._reply: ApiReply | None = None
        self._is_shown = False
        self._known: tuple[bool, ...] = ()
        """How the run was when it was asked for last."""
        self._again = interval_timer(self, AGAIN_MS, self._read)
        model.run_replaced.connect(self._on_replaced)

    def show_page(self, shown: bool) -> None:
        """Note whether the page is visible."""
        self._is_shown = shown
        run_while(self._again, shown and self.session is not None)
        if shown:
            self._read()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        run_while(self._again, self._is_shown and self.session is not None)
        if self._model.run_id in changes.runs and self._stands() != self._known:
            self._read()

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._again.stop()
        self._drop()

    def _on_replaced(self) -> None:
        self._drop()
        self._read()

    def _read(self) -> None:
        if self.session is None or not self._model.run_id or not self._is_shown:
            return
        if self._reply is None:
            run_id, self._known = self._model.run_id, self._stands()
            self._reply = self.session.api.storage(run_id)
            self._reply.done.connect(partial(self._on_report, run_id))
            self._reply.failed.connect(self._on_failed)

    def _on_report(self, run_id: str, report: StorageReport) -> None:
        self._reply = None
        if run_id == self._model.run_id:
            self._model.take_storage(report.runs[0] if report.runs else None)

    def _on_failed(self, _problem: object) -> None:
        # the details show what was known; the next look asks again
        self._reply = None

    def _stands(self) -> tuple[bool, ...]:
        """What changes the files that a run has, or those that go."""
        run = self._model.run
        return () if run is None else (run.state.is_final, run.telemetry_pending, run.pinned)

    def _drop(self) -> None:
        if self._reply is not None:
            self._reply.drop()
            self._reply = None
