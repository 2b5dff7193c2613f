"""Every command by a few letters of its name, with its keys (Ctrl+K, F1 or ?)."""

from PyQt6.QtCore import QModelIndex, Qt
from PyQt6.QtGui import QStandardItem
from PyQt6.QtWidgets import QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.views.command import Command
from mosaic_gui.views.search_popup import SearchPopup

WIDTH, HEIGHT = 520, 340
_COMMAND = Qt.ItemDataRole.UserRole + 1


class CommandPalette(SearchPopup):
    """A field and a list; Return does what is marked, Escape goes away."""

    def __init__(self, parent: QWidget, commands: list[Command]) -> None:
        super().__init__(parent, "palette", WIDTH, HEIGHT)
        for command in commands:
            self._add(command)
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

    def _add(self, command: Command) -> None:
        item = QStandardItem(command.text + (f"      {command.keys}" if command.keys else ""))
        item.setData(command, _COMMAND)
        item.setEnabled(command.enabled)
        item.setEditable(False)
        self._items.appendRow(item)

    def _act(self) -> None:
        self._on_clicked(self.list.currentIndex())

    def _on_clicked(self, index: QModelIndex) -> None:
        command = index.data(_COMMAND)
        self.close()
        if isinstance(command, Command) and command.enabled:
            command.act()
