"""The list of sweeps: name, state, progress and best value of each."""

from PyQt6.QtCore import QModelIndex, QRect, QRectF, QSize, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QFontMetrics, QPainter
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
)

from mosaic_gui.state import run_row
from mosaic_gui.state.language import tr
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.viewmodels.sweeps import SweepsModel
from mosaic_gui.views.badge import HEIGHT, badge_width, draw_badge, draw_bar

ROW_HEIGHT = 76
_INSET = 12


class SweepListView(QListView):
    """Sweeps, the newest first."""

    row_chosen = pyqtSignal(str)
    """Run id of the sweep that was selected."""

    def __init__(self, model: SweepsModel) -> None:
        super().__init__()
        self.setObjectName("sweeps.list")
        self.setAccessibleName(tr("Sweeps"))
        self._model = model
        self.setModel(model.list)
        self.setItemDelegate(_SweepDelegate(model, self))
        self.setUniformItemSizes(True)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        model.list.modelReset.connect(self.mark)
        model.chosen_changed.connect(self.mark)
        if (selection := self.selectionModel()) is not None:
            selection.currentChanged.connect(self._on_current)
        self.mark()

    def mark(self) -> None:
        """Select the line of the chosen sweep."""
        at, selection = self._model.list.row_of(self._model.chosen), self.selectionModel()
        if selection is None:
            return
        selection.blockSignals(True)
        index = self._model.list.index(at) if at is not None else QModelIndex()
        selection.setCurrentIndex(index, selection.SelectionFlag.ClearAndSelect)
        selection.blockSignals(False)
        if (viewport := self.viewport()) is not None:
            viewport.update()

    def _on_current(self, now: QModelIndex, _before: QModelIndex) -> None:
        if now.isValid():
            self.row_chosen.emit(self._model.list.rows[now.row()].run.run_id)


class _SweepDelegate(QStyledItemDelegate):
    """Paints a sweep: its name, below it state and progress."""

    def __init__(self, model: SweepsModel, parent: QListView) -> None:
        super().__init__(parent)
        self._model = model

    def sizeHint(self, _option: QStyleOptionViewItem, _index: QModelIndex) -> QSize:
        return QSize(100, ROW_HEIGHT)

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        if painter is None or index.row() >= len(self._model.list.rows):
            return
        row, tokens, rect = self._model.list.rows[index.row()], current(), option.rect
        is_selected = bool(option.state & QStyle.StateFlag.State_Selected)
        is_hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        ground = tokens.selection if is_selected else tokens.hover if is_hovered else tokens.surface
        painter.fillRect(rect, QColor(ground))
        painter.fillRect(rect.left(), rect.bottom(), rect.width(), 1, QColor(tokens.line))
        inside = rect.adjusted(_INSET, 8, -_INSET, -8)
        word, tone = run_row.badge(row.run)
        width, top = badge_width(word), inside.top() + HEIGHT + 2
        name = QRect(inside.left(), inside.top(), inside.width(), HEIGHT - 2)
        _line(painter, name, row.name, 13, tokens.text)
        draw_badge(painter, QRectF(inside.left() - 2, top, width, HEIGHT), word, tone)
        about = QRect(inside.left() + width + 6, top, inside.width() - width - 6, HEIGHT)
        _line(painter, about, row.about, 12, tokens.muted)
        bar = QRectF(inside.left(), inside.bottom() - 4, inside.width(), 4)
        draw_bar(painter, bar, row.fraction, tone)


def _line(painter: QPainter, rect: QRect, words: str, size: int, colour: str) -> None:
    font = ui_font(size)
    painter.setFont(font)
    painter.setPen(QColor(colour))
    shown = QFontMetrics(font).elidedText(words, Qt.TextElideMode.ElideRight, rect.width())
    painter.drawText(rect, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)
