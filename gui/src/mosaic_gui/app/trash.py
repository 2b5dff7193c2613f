"""The trash's questions to the stack: which deleted runs it still has."""

from PyQt6.QtCore import QObject, QTimer

from mosaic_contracts.runs import RunPage, RunView
from mosaic_gui.app.session import Session
from mosaic_gui.net.reply import ApiProblem, Reply
from mosaic_gui.viewmodels.trash import TrashModel

AGAIN_MS = 30_000
"""While it is shown: the stack lets go of a run without saying so."""
SETTLE_MS = 200
"""Many runs that are deleted at once are one question."""


class Trash(QObject):
    """Between the model and the API."""

    def __init__(self, model: TrashModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._session: Session | None = None
        self._reading: list[RunView] = []
        self._reply: Reply | None = None
        self._settle = _timer(self, SETTLE_MS, self._look)
        self._settle.setSingleShot(True)
        self._again = _timer(self, AGAIN_MS, self._look)
        model.wanted.connect(self._on_wanted)

    @property
    def session(self) -> Session | None:
        """The connection that is asked; None: there is none."""
        return self._session

    @session.setter
    def session(self, session: Session | None) -> None:
        self._session = session
        self._settle.stop()
        self._again.stop()
        self._reply, self._reading = None, []
        self._model.forget()
        if session is not None and self._model.shown:
            self._on_wanted()

    def _on_wanted(self) -> None:
        if self._session is not None:
            self._settle.start()

    def _look(self) -> None:
        if not self._model.shown:
            self._again.stop()
        elif self._session is not None:
            self._again.start()
            self._reading = []
            self._read_page(None)

    def _read_page(self, cursor: str | None) -> None:
        if self._session is None:
            return
        reply = self._reply = self._session.api.runs(cursor, deleted=True)
        reply.done.connect(lambda page: self._on_page(reply, page))
        reply.failed.connect(lambda problem: self._on_problem(reply, problem))

    def _on_page(self, reply: Reply, page: RunPage) -> None:
        if reply is not self._reply:
            return  # a newer question is under way
        self._reading += page.runs
        if page.next_cursor and page.runs:
            self._read_page(page.next_cursor)
        else:
            self._reply = None
            self._model.take(self._reading)

    def _on_problem(self, reply: Reply, problem: ApiProblem) -> None:
        if reply is self._reply:
            self._reply = None
            self._model.take_problem(problem.message)


def _timer(parent: Trash, interval_ms: int, act: object) -> QTimer:
    timer = QTimer(parent)
    timer.setInterval(interval_ms)
    timer.timeout.connect(act)  # type: ignore[arg-type]
    return timer
