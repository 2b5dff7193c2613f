"""The palette: finds commands, runs, curves, settings and help by a few letters (Ctrl+K, F1 or ?)."""

from collections.abc import Mapping

from PyQt6.QtCore import QModelIndex, QPoint, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFont, QKeyEvent, QPainter, QTextCharFormat, QTextLayout
from PyQt6.QtWidgets import (
    QLineEdit,
    QListView,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from mosaic_gui.state.language import mark, tr, tr_mark
from mosaic_gui.state.palette import EntryKind, PaletteResult, PaletteSearch
from mosaic_gui.theme.apply import current
from mosaic_gui.viewmodels.palette import RESULT, PaletteModel
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import label

WIDTH, HEIGHT = 640, 460
ROW_HEIGHT = 30
MARGIN = 12
_PAGE = 10
"""Rows that Page Up and Page Down skip."""
KIND_WORDS = {
    EntryKind.COMMAND: mark("Command"),
    EntryKind.RUN: mark("Run"),
    EntryKind.ALGORITHM: mark("Algorithm"),
    EntryKind.ENVIRONMENT: mark("Environment"),
    EntryKind.CURVE: mark("Curve"),
    EntryKind.FILE: mark("File"),
    EntryKind.SETTING: mark("Setting"),
    EntryKind.HELP: mark("Help"),
}
_STEPS: Mapping[int, int] = {
    Qt.Key.Key_Up: -1,
    Qt.Key.Key_Down: 1,
    Qt.Key.Key_PageUp: -_PAGE,
    Qt.Key.Key_PageDown: _PAGE,
}


class CommandPalette(PanelPopup):
    """A search field and a list below it; Return opens the chosen entry."""

    chosen = pyqtSignal(object)
    """PaletteEntry."""

    def __init__(self, parent: QWidget, search: PaletteSearch) -> None:
        super().__init__(parent)
        self.setObjectName("palette")
        self.setFixedSize(WIDTH, HEIGHT)
        self._model = PaletteModel(search, self)
        self._is_wanted = False
        """Return was pressed before the search was complete."""
        self.field = QLineEdit()
        self.field.setAccessibleName(tr("Search"))
        self.field.setPlaceholderText(tr("Search commands, runs, curves, files, settings, help …"))
        self.list = QListView()
        self.list.setAccessibleName(tr("Matches"))
        self.list.setModel(self._model)
        self.list.setItemDelegate(_Row(self.list))
        self.list.setUniformItemSizes(True)
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._none = label(tr("No match"), "muted")
        self._none.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        inner = QVBoxLayout(self.panel)
        inner.addWidget(self.field)
        inner.addWidget(self._none)
        inner.addWidget(self.list, 1)
        self.field.textChanged.connect(self._find)
        self.field.returnPressed.connect(self._act)
        self.list.clicked.connect(self._choose)
        self._model.modelReset.connect(self._on_results)
        self._model.settled.connect(self._on_settled)
        self._find("")

    def open_over(self, window: QWidget) -> None:
        """Open in the upper middle of a window."""
        place = window.mapToGlobal(window.rect().center())
        top = window.mapToGlobal(window.rect().topLeft()).y() + 80
        open_popup(self, QPoint(place.x() - WIDTH // 2, top))
        self.field.setFocus()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        step = _STEPS.get(event.key()) if event is not None else None
        count = self._model.rowCount()
        if step is None or not count:
            super().keyPressEvent(event)
            return
        row = self.list.currentIndex().row() + step
        row = row % count if abs(step) == 1 else max(0, min(count - 1, row))
        self.list.setCurrentIndex(self._model.index(row, 0))

    def closeEvent(self, event: object) -> None:
        self._model.stop()
        super().closeEvent(event)  # type: ignore[arg-type]

    def _find(self, query: str) -> None:
        self._is_wanted = False
        self._model.find(query)
        self._on_results()

    def _on_results(self) -> None:
        self.list.setCurrentIndex(self._model.index(0, 0))
        has_none = not self._model.rowCount() and self._model.is_settled
        self._none.setVisible(has_none)
        self.list.setVisible(not has_none)

    def _on_settled(self) -> None:
        self._on_results()
        if self._is_wanted:
            self._choose(self.list.currentIndex())

    def _act(self) -> None:
        """Open the chosen entry, once it is certain which is the best."""
        if self._model.is_settled or self.list.currentIndex().row() > 0:
            self._choose(self.list.currentIndex())
        else:
            self._is_wanted = True

    def _choose(self, index: QModelIndex) -> None:
        result = index.data(RESULT)
        self.close()
        if isinstance(result, PaletteResult) and result.entry.enabled:
            self.chosen.emit(result.entry)


class _Row(QStyledItemDelegate):
    """Title with its matched letters, more words paler, and on the right the keys or the kind."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        return QSize(super().sizeHint(option, index).width(), ROW_HEIGHT)

    def initStyleOption(self, option: QStyleOptionViewItem | None, index: QModelIndex) -> None:
        super().initStyleOption(option, index)
        if option is not None:
            option.text = ""  # painted below

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        super().paint(painter, option, index)
        result = index.data(RESULT)
        if painter is None or not isinstance(result, PaletteResult):
            return
        entry = result.entry
        kind = tr_mark(KIND_WORDS[entry.kind])
        right = entry.keys or ("" if entry.kind is EntryKind.COMMAND else kind)
        inside = option.rect.adjusted(MARGIN, 0, -MARGIN, 0)
        painter.save()
        painter.setPen(QColor(current().muted))
        side = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(inside, side, right)
        room = inside.width() - option.fontMetrics.horizontalAdvance(right) - MARGIN
        _draw_title(painter, option, result, QRectF(inside.x(), inside.y(), room, inside.height()))
        painter.restore()


def _draw_title(
    painter: QPainter, option: QStyleOptionViewItem, result: PaletteResult, room: QRectF
) -> None:
    entry = result.entry
    whole = f"{entry.title} {entry.about}".rstrip()
    text = option.fontMetrics.elidedText(whole, Qt.TextElideMode.ElideRight, int(room.width()))
    cut = len(text) - 1 if text != whole else len(text)
    layout = QTextLayout(text, option.font)
    colour = current().text if entry.enabled else current().muted
    formats = [_range(0, len(text), colour), _range(len(entry.title), len(text), current().muted)]
    formats += [_range(at, at + 1, current().accent, bold=True) for at in result.places if at < cut]
    layout.setFormats(formats)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(room.width() * 2)  # bold letters are wider; what is cut is cut by the room
    layout.endLayout()
    painter.setClipRect(room)
    top = room.y() + (room.height() - line.height()) / 2
    layout.draw(painter, QRectF(room.x(), top, 0, 0).topLeft())


def _range(start: int, end: int, colour: str, *, bold: bool = False) -> QTextLayout.FormatRange:
    made = QTextLayout.FormatRange()
    made.start, made.length = start, max(0, end - start)
    look = QTextCharFormat()
    look.setForeground(QColor(colour))
    if bold:
        look.setFontWeight(QFont.Weight.Bold)
    made.format = look
    return made
