"""A list to choose from by a few letters, in a popup."""

from collections.abc import Sequence
from dataclasses import dataclass

from PyQt6.QtCore import QModelIndex, QPoint, QSortFilterProxyModel, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QStandardItem, QStandardItemModel
from PyQt6.QtWidgets import QLineEdit, QListView, QVBoxLayout, QWidget

from mosaic_gui.views.text import frame, label

WIDTH, HEIGHT = 460, 320
_KEY = Qt.ItemDataRole.UserRole + 1


@dataclass(frozen=True)
class Entry:
    """One thing to choose."""

    key: str
    text: str


class Picker(QWidget):
    """Return or a click chooses; Escape or a click beside it goes away."""

    chosen = pyqtSignal(str)

    def __init__(self, parent: QWidget, title: str, name: str) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName(name)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedSize(WIDTH, HEIGHT)
        self._items = QStandardItemModel(self)
        self._shown = QSortFilterProxyModel(self)
        self._shown.setSourceModel(self._items)
        self._shown.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.title = label(title, "section")
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.tr("Search …"))
        self.list = QListView()
        self.list.setModel(self._shown)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._empty = label("", "muted", wraps=True)
        panel = frame("panel")
        outer, inner = QVBoxLayout(self), QVBoxLayout(panel)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(panel)
        for part in (self.title, self.field, self._empty):
            inner.addWidget(part)
        inner.addWidget(self.list, 1)
        self.field.textChanged.connect(self._filter)
        self.field.returnPressed.connect(lambda: self._choose(self.list.currentIndex()))
        self.list.clicked.connect(self._choose)
        self.offer([], self.tr("Reading …"))

    def offer(self, entries: Sequence[Entry], words_if_none: str) -> None:
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
        """Open with the field ready to type in; whole, also near the edge of the screen."""
        screen = self.screen()
        if screen is not None:
            area = screen.availableGeometry()
            x = min(place.x(), area.right() - self.width())
            y = min(place.y(), area.bottom() - self.height())
            place = QPoint(max(area.left(), x), max(area.top(), y))
        self.move(place)
        self.show()
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            row = (self.list.currentIndex().row() + step) % max(1, self._shown.rowCount())
            self.list.setCurrentIndex(self._shown.index(row, 0))
        else:
            super().keyPressEvent(event)

    def _filter(self, words: str) -> None:
        escaped = [_escaped(word) for word in words.split()]
        self._shown.setFilterRegularExpression(".*".join(escaped))
        self.list.setCurrentIndex(self._shown.index(0, 0))

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            self.chosen.emit(str(index.data(_KEY)))


def _escaped(word: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else f"\\{c}" for c in word)
