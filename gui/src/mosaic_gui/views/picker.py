"""A popup to choose from a list by a few letters."""

from collections.abc import Sequence
from dataclasses import dataclass

from PyQt6.QtCore import QModelIndex, QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QStandardItem
from PyQt6.QtWidgets import QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.views.popup import open_popup
from mosaic_gui.views.search_popup import SearchPopup
from mosaic_gui.views.text import label

WIDTH, HEIGHT = 460, 320
_KEY = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True)
class PickerEntry:
    """One thing to choose."""

    key: str
    text: str


class Picker(SearchPopup):
    """Return or a click chooses; Escape or a click outside closes it."""

    chosen = pyqtSignal(str)

    def __init__(self, parent: QWidget, title: str, name: str) -> None:
        super().__init__(parent, name, WIDTH, HEIGHT)
        self.title = label(title, "section")
        self._empty = label("", "muted", wraps=True)
        self._inner.insertWidget(0, self.title)
        self._inner.insertWidget(2, self._empty)
        self.field.setPlaceholderText(tr("Search …"))
        self.field.returnPressed.connect(lambda: self._choose(self.list.currentIndex()))
        self.list.clicked.connect(self._choose)
        self.offer([], tr("Reading …"))

    def offer(self, entries: Sequence[PickerEntry], words_if_none: str) -> None:
        """Fill the list."""
        self._items.clear()
        for entry in entries:
            item = QStandardItem(entry.text)
            item.setData(entry.key, _KEY)
            item.setEditable(False)
            self._items.appendRow(item)
        self._empty.setText(words_if_none)
        self._empty.setVisible(not entries)
        self.list.setVisible(bool(entries))
        self.field.clear()
        self._filter("")

    def open_at(self, place: QPoint) -> None:
        """Open with the focus in the field."""
        open_popup(self, place)
        self.field.setFocus()

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(str(index.data(_KEY)))
