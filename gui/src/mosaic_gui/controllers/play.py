"""Sends what a person does in the watched run, and reports what became of it."""

from PyQt6.QtCore import QObject

from mosaic_contracts.play import Act
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Changes
from mosaic_gui.viewmodels.play import PlayModel


class PlayController(Controller):
    """Inputs go over the connection for frames, which is open while the stage is visible."""

    def __init__(self, model: PlayModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        model.act_wanted.connect(self._on_act)

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`. It is not connected yet."""
        super().attach(session)
        frames, model = session.frames, self._model
        frames.acted.connect(model.take_acted)
        frames.refused.connect(model.take_refused)
        frames.promised.connect(model.take_back)
        frames.lost.connect(self._on_lost)

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        if self.session is not None:
            frames, model = self.session.frames, self._model
            frames.acted.disconnect(model.take_acted)
            frames.refused.disconnect(model.take_refused)
            frames.promised.disconnect(model.take_back)
            frames.lost.disconnect(self._on_lost)
        super().detach()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._model.consume(changes)

    def _on_act(self, act: Act) -> None:
        if self.session is None or not self.session.frames.act(act):
            words = tr("This input did not reach the run.")
            self._model.take_loss(act.run_id, self._model.loss or words)

    def _on_lost(self, words: str) -> None:
        run = self._model.run
        if run is not None and self._model.takes_keys:
            self._model.take_loss(run.run_id, words)
