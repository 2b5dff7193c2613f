"""Starts plays: by a person, or by a checkpoint of a run."""

from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import RunState
from mosaic_gui.controllers.base import Controller
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.play import PlayModel
from mosaic_gui.viewmodels.play_start import PlayStartModel

_FAILED = (RunState.FAILED, RunState.CRASHED, RunState.TIMED_OUT)


class PlayStartController(Controller):
    """Sends the start, and gives a refusal back to the form."""

    started = pyqtSignal(object)
    """The new RunView."""
    failed = pyqtSignal(object, str)
    """RunView of a play that ended before its first step, and the id of the play that goes on; empty: none does."""

    def __init__(
        self, model: PlayStartModel, play: PlayModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._model, self._play = model, play
        self._beginning: dict[str, str] = {}
        """Plays that have not made a step yet, with the play that was watched when they were started."""
        model.start_wanted.connect(self._on_start)
        model.play_wanted.connect(self._on_play)
        play.again_wanted.connect(self._on_again)
        play.map_edited.connect(self._on_map_edited)
        play.remembered_keys = model.keys_of

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick: a play may fail while it loads its checkpoint."""
        if self.session is None:
            return
        runs = self.session.store.runs
        for run_id in changes.runs & self._beginning.keys():
            run = runs[run_id]
            if run.step or run.state.is_final:
                before = runs.get(self._beginning.pop(run_id))
                if run.state in _FAILED and not run.step:
                    goes_on = before is not None and not before.state.is_final
                    self.failed.emit(run, before.run_id if goes_on and before is not None else "")

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._beginning.clear()

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
        watched = self._play.run
        is_play = watched is not None and watched.spec.kind is RunKind.PLAY
        self._beginning[run.run_id] = watched.run_id if is_play and watched is not None else ""
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
