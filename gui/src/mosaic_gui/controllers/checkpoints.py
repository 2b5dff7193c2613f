"""Checkpoints of a run, listed for the form and for the pages `Use trained` and `Play`."""

from collections.abc import Sequence
from functools import partial

from PyQt6.QtCore import QObject

from mosaic_gui.controllers.base import Controller
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.checkpoint_choice import CheckpointChoice
from mosaic_gui.viewmodels.launch import LaunchModel


class CheckpointController(Controller):
    """Requests the artifacts of the run that was chosen."""

    def __init__(
        self,
        launch: LaunchModel,
        choices: Sequence[CheckpointChoice],
        parent: QObject | None = None,
    ) -> None:
        """`choices`: what offers the checkpoints of a chosen run to be played."""
        super().__init__(parent)
        self._launch, self._choices = launch, choices
        launch.checkpoints_wanted.connect(self._read_for_form)
        for choice in choices:
            choice.checkpoints_wanted.connect(partial(self._read_for, choice))

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        for choice in self._choices:
            choice.consume(changes)

    def _read_for_form(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.artifacts(run_id)
            reply.done.connect(partial(self._launch.take_checkpoints, run_id))
            reply.failed.connect(lambda _problem: self._launch.take_checkpoints(run_id, []))

    def _read_for(self, choice: CheckpointChoice, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.artifacts(run_id)
            reply.done.connect(partial(choice.take_checkpoints, run_id))
