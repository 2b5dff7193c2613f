"""Requests of a takeover: checkpoints that can go on, and the new run itself."""

from functools import partial

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.checkpoints import CheckpointPage
from mosaic_contracts.runs import RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.viewmodels.takeover import Fork, TakeoverModel


class TakeoverController(Controller):
    """Starts runs that go on from a step of a recorded episode."""

    opened = pyqtSignal(object, bool)
    """The new RunView, and whether a person acts in it."""

    def __init__(self, model: TakeoverModel, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        model.checkpoints_wanted.connect(self._read_checkpoints)
        model.fork_wanted.connect(self._on_fork)

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        self._model.clear()
        super().detach()

    def _read_checkpoints(self, environment: str) -> None:
        if self.session is None:
            return
        reply = self.session.api.checkpoints_in(environment)
        reply.done.connect(partial(self._on_page, environment))
        reply.failed.connect(partial(self._on_no_page, environment))

    def _on_page(self, environment: str, page: CheckpointPage) -> None:
        self._model.take_checkpoints(environment, page.checkpoints)

    def _on_no_page(self, environment: str, problem: ApiProblem) -> None:
        self._model.take_no_checkpoints(environment, problem.message)

    def _on_fork(self, fork: Fork) -> None:
        if self.session is not None:
            reply = self.session.api.fork_run(fork.run_id, fork.body)
            reply.done.connect(partial(self._on_started, fork.by_person))
            reply.failed.connect(self._on_refused)

    def _on_started(self, by_person: bool, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))
        self._model.take_started()
        self.opened.emit(run, by_person)

    def _on_refused(self, problem: ApiProblem) -> None:
        self._model.take_refusal(problem.message)
        if not self._model.is_open:
            self._say(problem.message, "", None)
