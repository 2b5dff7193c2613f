"""Requests of the stage: live frames of a running run, while somebody looks at it."""

from PyQt6.QtCore import QObject
from PyQt6.QtGui import QImage

from mosaic_contracts.frames import EnvironmentFrame
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.pictures import PictureDecoder
from mosaic_gui.viewmodels.stage import StageModel


class LiveFramesController(Controller):
    """Watches one sub-environment of the watched run, and none while the stage is hidden or minimised."""

    def __init__(self, model: StageModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._shown = False
        self._asked = ""
        self._decoder = PictureDecoder(self)
        self._decoder.decoded.connect(self._on_decoded)
        model.wanted_changed.connect(self._ask)

    def show(self, shown: bool) -> None:
        """Note whether the stage is visible."""
        self._shown = shown
        self._ask()

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`. It is not connected yet."""
        super().attach(session)
        session.frames.received.connect(self._on_frame)
        session.frames.failed.connect(self._model.take_problem)
        session.frames.promised.connect(self._on_promised)
        self._ask()

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        if self.session is not None:
            self.session.frames.received.disconnect(self._on_frame)
            self.session.frames.failed.disconnect(self._model.take_problem)
            self.session.frames.promised.disconnect(self._on_promised)
        self._decoder.stop()
        self._asked = ""
        super().detach()

    def _ask(self) -> None:
        if self.session is None:
            return
        model, frames = self._model, self.session.frames
        wanted = model.run_id if self._shown and model.wants_frames else ""
        before, self._asked = self._asked, wanted
        if wanted:
            frames.watch(model.request)
        if before and wanted != before:
            self._decoder.clear()
            frames.unwatch(before)  # last, because without a watched run the connection closes

    def _on_frame(self, frame: EnvironmentFrame) -> None:
        if frame.run_id == self._asked and frame.env == self._model.env:
            self._decoder.take(frame)

    def _on_decoded(self, frame: EnvironmentFrame, image: QImage | None, fault: str) -> None:
        self._model.take_frame(frame, image, fault)

    def _on_promised(self, run_id: str) -> None:
        self._model.take_problem(run_id, "")
