"""Every action by a few letters of its name (Ctrl+K)."""

from PyQt6.QtCore import QModelIndex, Qt
from PyQt6.QtGui import QAction, QStandardItem
from PyQt6.QtWidgets import QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.views.search_popup import SearchPopup

WIDTH, HEIGHT = 520, 340
_ACTION = Qt.ItemDataRole.UserRole + 1


class CommandPalette(SearchPopup):
    """A field and a list; Return does what is marked, Escape goes away."""

    def __init__(self, parent: QWidget, actions: list[QAction]) -> None:
        super().__init__(parent, "palette", WIDTH, HEIGHT)
        for action in actions:
            self._add(action)
        self.field.setPlaceholderText(tr("What do you want to do?"))
        self.field.returnPressed.connect(self._act)
        self.list.clicked.connect(self._on_clicked)
        self._filter("")

    def open_over(self, window: QWidget) -> None:
        """Open in the upper middle of a window."""
        place = window.mapToGlobal(window.rect().center())
        self.move(place.x() - WIDTH // 2, window.mapToGlobal(window.rect().topLeft()).y() + 80)
        self.show()
        self.field.setFocus()

    def _add(self, action: QAction) -> None:
        keys = action.shortcut().toString()
        item = QStandardItem(action.text() + (f"      {keys}" if keys else ""))
        item.setData(action, _ACTION)
        item.setEnabled(action.isEnabled())
        item.setEditable(False)
        self._items.appendRow(item)

    def _act(self) -> None:
        self._on_clicked(self.list.currentIndex())

    def _on_clicked(self, index: QModelIndex) -> None:
        action = index.data(_ACTION)
        self.close()
        if isinstance(action, QAction):
            action.trigger()
