"""A popup to choose the curves that are shown: by ticks, by group, or by a pattern over the names of all runs."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QFont, QKeyEvent
from PyQt6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.chart_page import section_of, sections
from mosaic_gui.state.curve_pattern import matching
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.viewmodels.curves import CurveModel
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import button, label

WIDTH, MOST_HEIGHT, ROW = 360, 440, 26
_NAME = Qt.ItemDataRole.UserRole
"""Name of a curve; a heading has none, but the names of its group."""
_GROUP = Qt.ItemDataRole.UserRole + 1


class CurvePicker(PanelPopup):
    """Stays open while ticks are set; Escape or a click outside closes it."""

    toggled = pyqtSignal(str, bool)
    chosen = pyqtSignal(list)
    """Names of all curves that are to be shown."""

    def __init__(self, parent: QWidget, model: CurveModel) -> None:
        super().__init__(parent)
        self.setObjectName("charts.picker")
        self._model = model
        self.field = QLineEdit()
        self.field.setAccessibleName(tr("Search the curves"))
        self.field.setClearButtonEnabled(True)
        self.field.setPlaceholderText(
            tr_n(
                "Search {n} curve, e.g. losses/*",
                "Search {n} curves, e.g. losses/*",
                len(model.names),
            )
        )
        self.list = QListWidget()
        self.list.setAccessibleName(tr("Curves"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.all = button(tr("All"), "quiet", "charts.picker.all")
        self.none = button(tr("None"), "quiet", "charts.picker.none")
        self.only = button(tr("Only these"), "quiet", "charts.picker.only")
        self.all.setToolTip(tr("Show every curve of the list, in addition to those that are shown"))
        self.none.setToolTip(tr("Hide every curve of the list"))
        self.only.setToolTip(tr("Show the curves of the list and no others"))
        self.found = label("", "small")
        inner = QVBoxLayout(self.panel)
        inner.addWidget(self.field)
        inner.addLayout(self._buttons())
        inner.addWidget(self.list, 1)
        self._fill()
        self.setFixedSize(WIDTH, min(MOST_HEIGHT, 120 + ROW * max(3, self.list.count())))
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

    def _buttons(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(2)
        for one in (self.all, self.none, self.only):
            row.addWidget(one)
        row.addStretch(1)
        row.addWidget(self.found)
        self.all.clicked.connect(lambda: self._choose([*self._model.charts, *self._seen()]))
        self.none.clicked.connect(
            lambda: self._choose([n for n in self._model.charts if n not in set(self._seen())])
        )
        self.only.clicked.connect(lambda: self._choose(self._seen()))
        return row

    def _fill(self) -> None:
        """Add a heading for each group of names, and its curves below it."""
        groups = sections(self._model.names)
        for group, names in groups.items():
            if len(groups) > 1:
                self._add(f"{group}/*" if group else tr("others"), names, is_heading=True)
            for name in names:
                self._add(name, [name], is_heading=False)
        self._tick()

    def _add(self, text: str, names: list[str], *, is_heading: bool) -> None:
        item = QListWidgetItem(text)
        item.setData(_GROUP, names)
        item.setData(_NAME, "" if is_heading else names[0])
        item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
        item.setCheckState(Qt.CheckState.Unchecked)
        if is_heading:
            bold = QFont(self.list.font())
            bold.setBold(True)
            item.setFont(bold)
        self.list.addItem(item)

    def _tick(self) -> None:
        """Tick what is shown; a heading is half ticked where only some of its curves are."""
        shown = set(self._model.charts)
        self.list.blockSignals(True)
        for item in self._items():
            names = item.data(_GROUP)
            count = sum(name in shown for name in names)
            states = (
                Qt.CheckState.Unchecked,
                Qt.CheckState.PartiallyChecked,
                Qt.CheckState.Checked,
            )
            item.setCheckState(states[(count > 0) + (count == len(names))])
        self.list.blockSignals(False)
        viewport = self.list.viewport()
        if viewport is not None:
            viewport.update()

    def _items(self) -> list[QListWidgetItem]:
        found = (self.list.item(row) for row in range(self.list.count()))
        return [item for item in found if item is not None]

    def _seen(self) -> list[str]:
        """Names of the curves that the search leaves in the list."""
        return matching(self._model.names, self.field.text())

    def _is_hidden(self, row: int) -> bool:
        item = self.list.item(row)
        return item is None or item.isHidden()

    def _filter(self, _words: str) -> None:
        seen = set(self._seen())
        groups = {section_of(name) for name in seen}
        is_searched = bool(self.field.text().strip())
        current = -1
        for row, item in enumerate(self._items()):
            name = item.data(_NAME)
            is_heading = not name
            hidden = (
                section_of(item.data(_GROUP)[0]) not in groups if is_heading else name not in seen
            )
            item.setHidden(hidden)
            if current < 0 and not hidden and not (is_heading and is_searched):
                current = row
        self.list.setCurrentRow(current)
        self.found.setText(tr_n("{n} found", "{n} found", len(seen)) if is_searched else "")

    def _flip_current(self) -> None:
        item = self.list.currentItem()
        if item is not None:
            on = item.checkState() is Qt.CheckState.Checked
            item.setCheckState(Qt.CheckState.Unchecked if on else Qt.CheckState.Checked)

    def _on_changed(self, item: QListWidgetItem) -> None:
        on = item.checkState() is Qt.CheckState.Checked
        if item.data(_NAME):
            self.toggled.emit(item.data(_NAME), on)
            self._tick()
            return
        group = set(item.data(_GROUP)) & set(self._seen())
        others = [name for name in self._model.charts if name not in group]
        self._choose([*others, *group] if on else others)

    def _choose(self, names: list[str]) -> None:
        self.chosen.emit(names)
        self._tick()
