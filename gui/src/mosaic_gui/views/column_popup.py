"""A popup that chooses the columns of the run list."""

from collections.abc import Sequence

from PyQt6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent, QStandardItem
from PyQt6.QtWidgets import QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.views.popup import open_popup
from mosaic_gui.views.search_popup import SearchPopup
from mosaic_gui.views.text import label

WIDTH, HEIGHT = 380, 420
_KEY = Qt.ItemDataRole.UserRole + 1


class ColumnPopup(SearchPopup):
    """A list of columns with boxes; a click, Return or Space changes one. Escape closes it."""

    toggled = pyqtSignal(str, bool)
    """Key of a column, and whether it is to be shown."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, "runs.columns", WIDTH, HEIGHT)
        self._inner.insertWidget(0, label(tr("Columns"), "section"))
        self._hint = label("", "small", wraps=True)
        self._inner.addWidget(self._hint)
        self.field.setPlaceholderText(tr("Parameter, metric, tag …"))
        self.list.clicked.connect(self._toggle)
        self._has_moved = False
        """Whether the last key chose a row: then Space ticks it, and is no letter of the search."""
        self.field.installEventFilter(self)

    def offer(self, columns: Sequence[tuple[str, str, bool]], hint: str) -> None:
        """Fill the list with keys, texts and whether each is shown; what is searched stays."""
        current = self.list.currentIndex().data(_KEY)
        self._items.clear()
        for key, text, is_shown in columns:
            item = QStandardItem(text)
            item.setData(key, _KEY)
            item.setEditable(False)
            item.setCheckState(Qt.CheckState.Checked if is_shown else Qt.CheckState.Unchecked)
            self._items.appendRow(item)
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))
        rows = range(self._shown.rowCount())
        found = (self._shown.index(row, 0) for row in rows)
        same = next((index for index in found if index.data(_KEY) == current), None)
        self.list.setCurrentIndex(same or self._shown.index(0, 0))

    def show_at(self, place: QPoint) -> None:
        """Open, ready to type."""
        open_popup(self, place)
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._toggle(self.list.currentIndex())
        else:
            super().keyPressEvent(event)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        if watched is self.field and isinstance(event, QKeyEvent):
            is_press = event.type() == QEvent.Type.KeyPress
            if is_press and event.key() == Qt.Key.Key_Space and self._has_moved:
                self._toggle(self.list.currentIndex())
                return True
            if is_press:
                self._has_moved = event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down)
        return super().eventFilter(watched, event)

    def _toggle(self, index: QModelIndex) -> None:
        if not index.isValid():
            return
        item = self._items.itemFromIndex(self._shown.mapToSource(index))
        if item is None:
            return
        is_shown = item.checkState() != Qt.CheckState.Checked
        item.setCheckState(Qt.CheckState.Checked if is_shown else Qt.CheckState.Unchecked)
        self.toggled.emit(str(item.data(_KEY)), is_shown)
