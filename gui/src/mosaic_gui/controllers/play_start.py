"""Starts plays: by a person, or by a checkpoint of a run."""

from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.viewmodels.play_start import PlayStartModel


class PlayStartController(Controller):
    """Sends the start, and gives a refusal back to the form."""

    started = pyqtSignal(object)
    """The new RunView."""

    def __init__(
        self, model: PlayStartModel, play: PlayModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._model, self._play = model, play
        model.start_wanted.connect(self._on_start)
        model.play_wanted.connect(self._on_play)
        play.again_wanted.connect(self._on_again)
        play.map_edited.connect(self._on_map_edited)
        play.remembered_keys = model.keys_of

    def _on_start(self, spec: dict[str, Any]) -> None:
        if self.session is not None:
            self._await(self.session.api.submit(spec))

    def _on_play(self, run_id: str, checkpoint: str, fields: dict[str, Any]) -> None:
        if self.session is not None:
            self._await(self.session.api.play_run(run_id, checkpoint, fields))

    def _await(self, reply: ApiReply) -> None:
        reply.done.connect(self._on_started)
        reply.failed.connect(self._on_refused)

    def _on_started(self, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))
        self._model.take_started()
        self.started.emit(run)

    def _on_refused(self, problem: ApiProblem) -> None:
        self._model.take_refusal(problem.message, problem.fields)

    def _on_again(self) -> None:
        """Stop the play that goes on, and start the next one: it takes the place of the first in the queue."""
        run = self._play.run
        if run is None or self.session is None:
            return
        if not run.state.is_final:
            self.session.api.stop_run(run.run_id)
        if not self._model.start_again(run):
            self._await(self.session.api.retry_run(run.run_id))

    def _on_map_edited(self, text: str) -> None:
        run = self._play.run
        if run is not None:
            self._model.keep_keys(run, text)
