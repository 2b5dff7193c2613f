"""Base of popups that search a list."""

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QKeyEvent, QStandardItemModel
from PyQt6.QtWidgets import QLineEdit, QListView, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.word_filter import WordFilter
from mosaic_gui.views.popup import PanelPopup


class SearchPopup(PanelPopup):
    """A field and a list below it: words narrow the list in their order, up and down choose. Lays out itself."""

    def __init__(self, parent: QWidget, name: str, width: int, height: int) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setFixedSize(width, height)
        self._items = QStandardItemModel(self)
        self._shown = WordFilter(self._items, self)
        self.field = QLineEdit()
        self.field.setAccessibleName(tr("Search"))
        self.list = QListView()
        self.list.setAccessibleName(tr("Matches"))
        self.list.setModel(self._shown)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._inner = QVBoxLayout(self.panel)
        self._inner.addWidget(self.field)
        self._inner.addWidget(self.list, 1)
        self.field.textChanged.connect(self._filter)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            row = (self.list.currentIndex().row() + step) % max(1, self._shown.rowCount())
            self.list.setCurrentIndex(self._shown.index(row, 0))
        else:
            super().keyPressEvent(event)

    def _filter(self, words: str) -> None:
        self._shown.narrow(words)
        self.list.setCurrentIndex(self._shown.index(0, 0))
