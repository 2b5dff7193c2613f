"""A popup to choose the curves that are shown, with a search."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.viewmodels.curves import CurveModel
from mosaic_gui.views.popup import PanelPopup, open_popup

WIDTH, MOST_HEIGHT, ROW = 320, 380, 26


class CurvePicker(PanelPopup):
    """Stays open while ticks are set; Escape or a click outside closes it."""

    toggled = pyqtSignal(str, bool)

    def __init__(self, parent: QWidget, model: CurveModel) -> None:
        super().__init__(parent)
        self.setObjectName("charts.picker")
        self.field = QLineEdit()
        self.field.setAccessibleName(tr("Search the curves"))
        self.field.setPlaceholderText(
            tr_n("Search {n} curve …", "Search {n} curves …", len(model.names))
        )
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Curves"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        for name in model.names:
            item = QListWidgetItem(name)
            shown = name in model.charts
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if shown else Qt.CheckState.Unchecked)
            self.list.addItem(item)
        inner = QVBoxLayout(self.panel)
        inner.addWidget(self.field)
        inner.addWidget(self.list, 1)
        self.setFixedSize(WIDTH, min(MOST_HEIGHT, 76 + ROW * max(3, len(model.names))))
        self.field.textChanged.connect(self._filter)
        self.field.returnPressed.connect(self._flip_current)
        self.list.itemChanged.connect(self._on_changed)
        self._filter("")

    def open_at(self, place: QPoint) -> None:
        """Open with its right upper corner there, the field ready to type in."""
        open_popup(self, place - QPoint(self.width(), 0))
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            step = 1 if event.key() == Qt.Key.Key_Down else -1
            rows = [n for n in range(self.list.count()) if not self._is_hidden(n)]
            if rows:
                at = rows.index(self.list.currentRow()) if self.list.currentRow() in rows else -step
                self.list.setCurrentRow(rows[(at + step) % len(rows)])
        else:
            super().keyPressEvent(event)

    def _is_hidden(self, row: int) -> bool:
        item = self.list.item(row)
        return item is None or item.isHidden()

    def _filter(self, words: str) -> None:
        wanted = words.lower().split()
        first = -1
        for row in range(self.list.count()):
            item = self.list.item(row)
            if item is not None:
                item.setHidden(not all(word in item.text().lower() for word in wanted))
                first = row if first < 0 and not item.isHidden() else first
        self.list.setCurrentRow(first)

    def _flip_current(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            on = item.checkState() is Qt.CheckState.Checked
            item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    def _on_changed(self, item: QListWidgetItem) -> None:
        self.toggled.emit(item.text(), item.checkState() is Qt.CheckState.Checked)
