"""Opens TensorBoard for a selection of runs in the user's browser."""

from collections.abc import Callable, Sequence

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import DashboardEntry
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.watch import WatchModel

WAIT_S = 5.0
"""Seconds that one request waits until TensorBoard answers."""


class DashboardController(Controller):
    """One at a time: starts TensorBoard, waits until it answers, and opens its link."""

    def __init__(
        self,
        model: WatchModel,
        say: Say,
        open_page: Callable[[str], bool],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._say, self._open = model, say, open_page
        self._reply: ApiReply | None = None

    def detach(self) -> None:
        """Forget the one that is being opened."""
        super().detach()
        self._end()

    def open(self, run_ids: Sequence[str]) -> None:
        """Open TensorBoard with these runs."""
        if self.session is None or self._reply is not None or not run_ids:
            return
        self._model.set_tensorboard_starting(True)
        self._say(tr("Starting TensorBoard …"), "", None)
        self._take(self.session.api.open_tensorboard(list(run_ids)))

    def _take(self, reply: ApiReply) -> None:
        self._reply = reply
        reply.done.connect(self._on_entry)
        reply.failed.connect(self._on_failed)

    def _on_entry(self, entry: DashboardEntry) -> None:
        if self.session is None:
            return
        if not entry.is_ready:
            if entry.run.waiting_reason:
                why = tr("TensorBoard waits: {why}", why=entry.run.waiting_reason)
                self._say(why, "", None)
            self._take(self.session.api.tensorboard(entry.run.run_id, WAIT_S))
            return
        self._end()
        url = self.session.location.url + entry.url
        if self._open(url):
            self._say(tr("TensorBoard is open in the browser."), "", None)

    def _on_failed(self, problem: ApiProblem) -> None:
        self._end()
        self._say(tr("TensorBoard: {why}", why=problem.message), "", None)

    def _end(self) -> None:
        if self._reply is not None:
            self._reply.drop()
            self._reply = None
        self._model.set_tensorboard_starting(False)
