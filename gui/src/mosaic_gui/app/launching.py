"""The train page's questions to the stack: catalogue, preflight, launch."""

from functools import partial
from typing import Any

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_contracts.preflight import PreflightReport
from mosaic_contracts.runs import RunView
from mosaic_gui.app.session import Session
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.viewmodels.launch import LaunchModel


class Launching(QObject):
    """Between the launch model and the API."""

    launched = pyqtSignal(object)
    """The new RunView."""

    def __init__(self, model: LaunchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self.session: Session | None = None
        model.preflight_wanted.connect(self._on_preflight_wanted)
        model.launch_wanted.connect(self._on_launch_wanted)

    def read_catalogue(self) -> None:
        """Ask for the workers."""
        if self.session is not None:
            self.session.api.workers().done.connect(self._model.take_catalogue)

    def _on_preflight_wanted(self, spec: dict[str, Any]) -> None:
        if self.session is None:
            return
        reply = self.session.api.preflight(spec)
        reply.done.connect(partial(self._on_report, spec))
        reply.failed.connect(partial(self._on_refused, spec))

    def _on_report(self, spec: dict[str, Any], report: PreflightReport) -> None:
        self._model.take_report(spec, report)

    def _on_launch_wanted(self, spec: dict[str, Any]) -> None:
        if self.session is None:
            return
        reply = self.session.api.submit(spec)
        reply.done.connect(self._on_launched)
        reply.failed.connect(partial(self._on_refused, spec))

    def _on_launched(self, run: RunView) -> None:
        self._model.take_launched()
        if self.session is not None:
            self.session.note(self.session.store.take_runs([run]))
        self.launched.emit(run)

    def _on_refused(self, spec: dict[str, Any], problem: ApiProblem) -> None:
        self._model.take_refusal(spec, problem.message, problem.fields)
