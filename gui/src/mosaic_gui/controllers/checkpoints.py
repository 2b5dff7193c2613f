"""Checkpoints of a run, listed for the form and for the page `Use trained`."""

from functools import partial

from PyQt6.QtCore import QObject

from mosaic_gui.controllers.base import Controller
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.viewmodels.trained import TrainedModel


class CheckpointController(Controller):
    """Requests the artifacts of the run that was chosen."""

    def __init__(
        self, launch: LaunchModel, trained: TrainedModel, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._launch, self._trained = launch, trained
        launch.checkpoints_wanted.connect(self._read_for_form)
        trained.checkpoints_wanted.connect(self._read_for_trained)

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._trained.consume(changes)

    def _read_for_form(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.artifacts(run_id)
            reply.done.connect(partial(self._launch.take_checkpoints, run_id))
            reply.failed.connect(lambda _problem: self._launch.take_checkpoints(run_id, []))

    def _read_for_trained(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.artifacts(run_id)
            reply.done.connect(partial(self._trained.take_checkpoints, run_id))
