"""Requests of the form of a sweep: check and start; and its files."""

from functools import partial
from pathlib import Path
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.runs import RunView
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.sweep_form import SweepFormModel


class SweepFormController(Controller):
    """Sends what the form wants, and reads and writes its files."""

    started = pyqtSignal(object)
    """The RunView of the new sweep."""

    def __init__(self, model: SweepFormModel, say: Say, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model, self._say = model, say
        model.check_wanted.connect(self._on_check)
        model.start_wanted.connect(self._on_start)
        model.metrics_wanted.connect(self._on_metrics_wanted)

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`; a check that it could not make is requested again when it joins."""
        super().attach(session)
        session.stream.joined.connect(self._model.check_again)

    def load(self, path: str) -> None:
        """Fill the form from a file of a sweep."""
        from mosaic_gui.state.sweep_file import read_sweep

        try:
            words = self._model.load(read_sweep(Path(path)))
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else str(error)
            words = tr("{file} cannot be read: {why}", file=path, why=why)
        if words:
            self._say(words, "", None)

    def save(self, path: str) -> None:
        """Write the form as a file that `./mosaic sweep` takes."""
        from mosaic_gui.state.sweep_file import write_sweep

        spec = self._model.spec
        if spec is None:
            self._say(tr("Correct the marked fields first."), "", None)
            return
        try:
            write_sweep(Path(path), spec)
        except OSError as error:
            words = tr("{file} cannot be written: {why}", file=path, why=error.strerror)
        else:
            words = tr("Saved. It can be started with: ./mosaic sweep {file}", file=path)
        self._say(words, "", None)

    def _on_check(self, spec: dict[str, Any]) -> None:
        if self.session is not None:
            reply = self.session.api.check_sweep(spec)
            reply.done.connect(partial(self._model.take_report, spec))
            reply.failed.connect(partial(self._on_refused, spec))

    def _on_start(self, spec: dict[str, Any]) -> None:
        if self.session is not None:
            reply = self.session.api.start_sweep(spec)
            reply.done.connect(self._on_started)
            reply.failed.connect(partial(self._on_refused, spec))

    def _on_metrics_wanted(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.curves(run_id, [], 1)
            reply.done.connect(lambda found: self._model.take_metrics(run_id, found.names))

    def _on_started(self, run: RunView) -> None:
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))
        self._model.take_started()
        self.started.emit(run)

    def _on_refused(self, spec: dict[str, Any], problem: ApiProblem) -> None:
        self._model.take_refusal(spec, problem.message, problem.fields)
