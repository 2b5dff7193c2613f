"""The command palette: finds a command by a few letters, and shows its keys (Ctrl+K, F1 or ?)."""

from PyQt6.QtCore import QModelIndex, QPoint, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QStandardItem
from PyQt6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.theme.apply import current
from mosaic_gui.views.command import Command
from mosaic_gui.views.popup import open_popup
from mosaic_gui.views.search_popup import SearchPopup

WIDTH, HEIGHT = 520, 420
ROW_HEIGHT = 30
KEYS_MARGIN = 12
_BETWEEN = "      "
"""A command's name and its keys: both are one text, so that either is found by typing and read to who listens."""
_COMMAND = Qt.ItemDataRole.UserRole + 1


class CommandPalette(SearchPopup):
    """A search field and a list of commands; Return runs the chosen one."""

    def __init__(self, parent: QWidget, commands: list[Command]) -> None:
        super().__init__(parent, "palette", WIDTH, HEIGHT)
        self.list.setItemDelegate(_Row(self.list))
        self.list.setUniformItemSizes(True)
        for command in commands:
            self._add(command)
        self.field.setPlaceholderText(tr("What do you want to do?"))
        self.field.returnPressed.connect(self._act)
        self.list.clicked.connect(self._on_clicked)
        self._filter("")

    def open_over(self, window: QWidget) -> None:
        """Open in the upper middle of a window."""
        place = window.mapToGlobal(window.rect().center())
        top = window.mapToGlobal(window.rect().topLeft()).y() + 80
        open_popup(self, QPoint(place.x() - WIDTH // 2, top))
        self.field.setFocus()

    def _add(self, command: Command) -> None:
        item = QStandardItem(_BETWEEN.join(filter(None, (command.text, command.keys))))
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


class _Row(QStyledItemDelegate):
    """Name on the left, keys on the right."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        return QSize(super().sizeHint(option, index).width(), ROW_HEIGHT)

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if option is not None:
            option.text = (option.text or "").partition(_BETWEEN)[0]

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        super().paint(painter, option, index)
        keys = str(index.data(Qt.ItemDataRole.DisplayRole)).partition(_BETWEEN)[2]
        if painter is not None and keys:
            painter.save()
            painter.setPen(QColor(current().muted))
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(option.rect.adjusted(0, 0, -KEYS_MARGIN, 0), right, keys)
            painter.restore()
