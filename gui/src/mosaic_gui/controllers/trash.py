"""Requests of the trash: which deleted runs the stack still has."""

from PyQt6.QtCore import QObject

from mosaic_contracts.runs import RunPage, RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, single_shot_timer
from mosaic_gui.viewmodels.trash import TrashModel

AGAIN_MS = 30_000
"""Interval between requests while the trash is visible: the stack reports no final deletion."""
SETTLE_MS = 200
"""Delay before a request, so that many deletions cause one request."""


class TrashController(Controller):
    """Reads the list of deleted runs while the trash is shown."""

    def __init__(self, model: TrashModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._reading: list[RunView] = []
        self._reply: ApiReply | None = None
        self._settle = single_shot_timer(self, self._look, SETTLE_MS)
        self._again = interval_timer(self, AGAIN_MS, self._look)
        model.wanted.connect(self._on_wanted)

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`."""
        super().attach(session)
        if self._model.shown:
            self._on_wanted()

    def detach(self) -> None:
        """Stop all requests, and forget the deleted runs of this stack."""
        super().detach()
        self._settle.stop()
        self._again.stop()
        self._reply, self._reading = None, []
        self._model.forget()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)

    def _on_wanted(self) -> None:
        if self.session is not None:
            self._settle.start()

    def _look(self) -> None:
        if not self._model.shown:
            self._again.stop()
        elif self.session is not None:
            self._again.start()
            self._reading = []
            self._read_page(None)

    def _read_page(self, cursor: str | None) -> None:
        if self.session is None:
            return
        reply = self._reply = self.session.api.runs(cursor, deleted=True)
        reply.done.connect(lambda page: self._on_page(reply, page))
        reply.failed.connect(lambda problem: self._on_problem(reply, problem))

    def _on_page(self, reply: ApiReply, page: RunPage) -> None:
        if reply is not self._reply:
            return  # a newer question is under way
        self._reading += page.runs
        if page.next_cursor and page.runs:
            self._read_page(page.next_cursor)
        else:
            self._reply = None
            self._model.take(self._reading)

    def _on_problem(self, reply: ApiReply, problem: ApiProblem) -> None:
        if reply is self._reply:
            self._reply = None
            self._model.take_problem(problem.message)
