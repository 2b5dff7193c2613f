"""Every action by a few letters of its name (Ctrl+K)."""

from PyQt6.QtCore import QModelIndex, QSortFilterProxyModel, Qt
from PyQt6.QtGui import QAction, QKeyEvent, QStandardItem, QStandardItemModel
from PyQt6.QtWidgets import QLineEdit, QListView, QVBoxLayout, QWidget

from mosaic_gui.views.text import frame

WIDTH, HEIGHT = 520, 340
_ACTION = Qt.ItemDataRole.UserRole + 1


class CommandPalette(QWidget):
    """A field and a list; Return does what is marked, Escape goes away."""

    def __init__(self, parent: QWidget, actions: list[QAction]) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("palette")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setFixedSize(WIDTH, HEIGHT)
        self._items = QStandardItemModel(self)
        for action in actions:
            self._add(action)
        self._shown = QSortFilterProxyModel(self)
        self._shown.setSourceModel(self._items)
        self._shown.setFilterCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.field = QLineEdit()
        self.field.setPlaceholderText(self.tr("What do you want to do?"))
        self.list = QListView()
        self.list.setModel(self._shown)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        panel = frame("panel")
        outer, inner = QVBoxLayout(self), QVBoxLayout(panel)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(panel)
        inner.addWidget(self.field)
        inner.addWidget(self.list, 1)
        self.field.textChanged.connect(self._filter)
        self.field.returnPressed.connect(self._act)
        self.list.clicked.connect(self._on_clicked)
        self._filter("")

    def open_over(self, window: QWidget) -> None:
        """Open in the upper middle of a window."""
        place = window.mapToGlobal(window.rect().center())
        self.move(place.x() - WIDTH // 2, window.mapToGlobal(window.rect().topLeft()).y() + 80)
        self.show()
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            row = (self.list.currentIndex().row() + step) % max(1, self._shown.rowCount())
            self.list.setCurrentIndex(self._shown.index(row, 0))
        else:
            super().keyPressEvent(event)

    def _add(self, action: QAction) -> None:
        keys = action.shortcut().toString()
        item = QStandardItem(action.text() + (f"      {keys}" if keys else ""))
        item.setData(action, _ACTION)
        item.setEnabled(action.isEnabled())
        item.setEditable(False)
        self._items.appendRow(item)

    def _filter(self, words: str) -> None:
        self._shown.setFilterRegularExpression(".*".join(words.split()))
        self.list.setCurrentIndex(self._shown.index(0, 0))

    def _act(self) -> None:
        self._on_clicked(self.list.currentIndex())

    def _on_clicked(self, index: QModelIndex) -> None:
        action = index.data(_ACTION)
        self.close()
        if isinstance(action, QAction):
            action.trigger()
