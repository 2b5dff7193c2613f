"""Requests of the panel of texts, histograms and images: names, values of one name, and images."""

from functools import partial

from PyQt6.QtCore import QObject
from PyQt6.QtGui import QImage

from mosaic_contracts.media import MediaName, MediaValues
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.pictures import FileDecoder
from mosaic_gui.net.reply import ApiProblem
from mosaic_gui.state.language import tr
from mosaic_gui.state.store import Changes
from mosaic_gui.timers import interval_timer, run_while
from mosaic_gui.viewmodels.media import MediaModel

LOOK_EVERY_MS = 3_000
"""Interval between requests for the names while the run is live and its page is visible."""
MOST_VALUES = {"text": 200, "histogram": 300, "image": 200}
"""Values of one name that are read, by kind."""
KEPT_IMAGE_BYTES = 32 * 2**20
"""Files of images that are kept, for a slider that moves back."""


class MediaController(Controller):
    """Reads names while the page of a run is visible, and values of the chosen name while the panel is."""

    def __init__(self, model: MediaModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model = model
        self._page_shown = self._panel_shown = False
        self._run_id = ""
        self._unread = False
        """Whether values of the chosen name are asked for as soon as the panel is visible."""
        self._images: dict[tuple[str, str], bytes] = {}
        self._reading_image: str | None = None
        self._next_image: str | None = None
        self._decoder = FileDecoder(self)
        self._decoder.decoded.connect(self._on_decoded)
        self._timer = interval_timer(self, LOOK_EVERY_MS, self._look)
        model.values_wanted.connect(self._on_values_wanted)
        model.image_wanted.connect(self._on_image_wanted)

    def attach(self, session: StreamSession) -> None:
        """Read again when the session joins."""
        super().attach(session)
        session.stream.joined.connect(self._begin)

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        super().detach()
        self._timer.stop()
        self._decoder.stop()
        self._images.clear()
        self._reading_image = self._next_image = None

    def show_page(self, shown: bool) -> None:
        """Note whether the page of the run is visible."""
        self._page_shown = shown
        self._begin()

    def show_panel(self, shown: bool) -> None:
        """Note whether the panel is visible."""
        self._panel_shown = shown
        if shown and self._unread and self._model.key is not None:
            self._on_values_wanted(*self._model.key)
        if not shown:
            self._images.clear()

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        run_id = self._model.run_id
        if run_id != self._run_id:
            self._begin()
        elif run_id in changes.ended | changes.runs:
            self._set_timer()
            if run_id in changes.ended:
                self._look()

    def _begin(self) -> None:
        self._run_id = self._model.run_id
        self._images.clear()
        self._look()
        self._set_timer()

    def _set_timer(self) -> None:
        is_wanted = self.session is not None and self._page_shown and self._model.is_live
        run_while(self._timer, is_wanted)

    def _look(self) -> None:
        run_id = self._model.run_id
        if self.session is None or not self._page_shown or not run_id:
            return
        reply = self.session.api.media_names(run_id)
        reply.done.connect(partial(self._on_names, run_id))

    def _on_names(self, run_id: str, names: list[MediaName]) -> None:
        self._model.take_names(run_id, names)

    def _on_values_wanted(self, kind: str, name: str) -> None:
        self._unread = not self._panel_shown
        if self.session is None or self._unread:
            return
        run_id = self._model.run_id
        reply = self.session.api.media_values(run_id, kind, name, MOST_VALUES[kind])
        reply.done.connect(partial(self._on_values, run_id))

    def _on_values(self, run_id: str, found: MediaValues) -> None:
        self._model.take_values(run_id, found)

    def _on_image_wanted(self, path: str) -> None:
        """Read an image; while one is read, only the newest of those that are wanted meanwhile is next."""
        run_id = self._model.run_id
        if (known := self._images.get((run_id, path))) is not None:
            self._decoder.take(path, known)
        elif self._reading_image is not None:
            self._next_image = path
        elif self.session is not None:
            self._reading_image, self._next_image = path, None
            reply = self.session.api.file(run_id, path)
            reply.done.connect(partial(self._on_image, run_id, path))
            reply.failed.connect(partial(self._on_no_image, run_id, path))

    def _on_image(self, run_id: str, path: str, file: bytes) -> None:
        self._images[run_id, path] = file
        while sum(map(len, self._images.values())) > KEPT_IMAGE_BYTES and len(self._images) > 1:
            del self._images[next(iter(self._images))]
        self._decoder.take(path, file)
        self._read_next()

    def _on_decoded(self, path: str, image: QImage) -> None:
        fault = tr("The file of this image cannot be read.") if image.isNull() else ""
        self._model.take_image(self._run_id, path, None if fault else image, fault)

    def _on_no_image(self, run_id: str, path: str, problem: ApiProblem) -> None:
        is_gone = problem.problem is not None and problem.problem.status == 404
        words = tr("The file of this image is no longer there.") if is_gone else problem.message
        self._model.take_image(run_id, path, None, words)
        self._read_next()

    def _read_next(self) -> None:
        self._reading_image = None
        if (path := self._next_image) is not None:
            self._next_image = None
            self._on_image_wanted(path)
