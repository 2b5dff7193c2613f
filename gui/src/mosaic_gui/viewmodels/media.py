"""Texts, histograms and images of the watched run: their names, the chosen one, and the chosen step of it."""

from __future__ import annotations

from collections.abc import Sequence

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QImage

from mosaic_contracts.media import MediaName, MediaValue, MediaValues
from mosaic_gui.viewmodels.watch import WatchModel

MediaKey = tuple[str, str]
"""Kind and name."""


class MediaModel(QObject):
    """What the panel shows. It follows the newest value until the user chooses another."""

    offered_changed = pyqtSignal()
    """Whether the run has any changed."""
    names_changed = pyqtSignal()
    values_changed = pyqtSignal()
    place_changed = pyqtSignal()
    image_changed = pyqtSignal()
    values_wanted = pyqtSignal(str, str)
    """Kind and name whose values are to be read."""
    image_wanted = pyqtSignal(str)
    """Path of an image that is to be read."""

    def __init__(self, watch: WatchModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._watch = watch
        self.names: list[MediaName] = []
        self.key: MediaKey | None = None
        self.values: list[MediaValue] = []
        self.count = 0
        """Recorded values of the chosen name; those that are here are spread over them."""
        self.place = 0
        self.following = True
        self.image: QImage | None = None
        """The chosen image; None: it is being read."""
        self.image_fault = ""
        """Why the image cannot be shown."""
        self._run_id = ""
        watch.run_replaced.connect(self._on_replaced)

    @property
    def run_id(self) -> str:
        """The watched run."""
        return self._watch.run_id

    @property
    def is_live(self) -> bool:
        """Whether the run may send more."""
        return self._watch.is_live

    @property
    def is_offered(self) -> bool:
        """Whether the run has a text, a histogram or an image."""
        return bool(self.names)

    @property
    def value(self) -> MediaValue | None:
        """The chosen value."""
        return self.values[self.place] if self.place < len(self.values) else None

    @property
    def steps(self) -> list[int | None]:
        """Steps of the values that are here."""
        return [one.step for one in self.values]

    def take_names(self, run_id: str, names: Sequence[MediaName]) -> None:
        """Take the names that a run has now; its values are asked for where there are more of them."""
        if run_id != self.run_id or list(names) == self.names:
            return
        was_offered, before = self.is_offered, self._name(self.key)
        self.names = list(names)
        if self.key is None or self._name(self.key) is None:
            self.key = (names[0].kind, names[0].name) if names else None
        self.names_changed.emit()
        if was_offered is not self.is_offered:
            self.offered_changed.emit()
        if self.key is not None and self._name(self.key) != before:
            self.values_wanted.emit(*self.key)

    def choose(self, key: MediaKey) -> None:
        """Show another name."""
        if key == self.key:
            return
        self.key, self.values, self.count, self.place = key, [], 0, 0
        self.following, self.image, self.image_fault = True, None, ""
        self.values_changed.emit()
        self.place_changed.emit()
        self.values_wanted.emit(*key)

    def take_values(self, run_id: str, found: MediaValues) -> None:
        """Take the values of a name; the chosen step stays unless the newest is followed."""
        if run_id != self.run_id or (found.kind, found.name) != self.key:
            return
        before = self.value
        self.values, self.count = list(found.values), found.count
        last = max(0, len(self.values) - 1)
        kept = next((n for n, one in enumerate(self.values) if one == before), None)
        self.place = last if self.following or kept is None else kept
        self.values_changed.emit()
        self._show_place()

    def choose_place(self, place: int) -> None:
        """Show the value at a place; the last one follows the newest."""
        place = min(max(place, 0), max(0, len(self.values) - 1))
        self.following = place == len(self.values) - 1
        if place != self.place:
            self.place = place
            self._show_place()

    def take_image(self, run_id: str, path: str, image: QImage | None, fault: str = "") -> None:
        """Take an image, or why there is none."""
        value = self.value
        if run_id == self.run_id and value is not None and value.path == path:
            self.image, self.image_fault = image, fault
            self.image_changed.emit()

    def _show_place(self) -> None:
        self.image, self.image_fault = None, ""
        self.place_changed.emit()
        value = self.value
        if value is not None and value.path:
            self.image_wanted.emit(value.path)

    def _name(self, key: MediaKey | None) -> MediaName | None:
        return next((one for one in self.names if (one.kind, one.name) == key), None)

    def _on_replaced(self) -> None:
        if self.run_id == self._run_id:
            return
        self._run_id = self.run_id
        was_offered = self.is_offered
        self.names, self.key, self.values, self.count, self.place = [], None, [], 0, 0
        self.following, self.image, self.image_fault = True, None, ""
        self.names_changed.emit()
        self.values_changed.emit()
        self.place_changed.emit()
        if was_offered:
            self.offered_changed.emit()
