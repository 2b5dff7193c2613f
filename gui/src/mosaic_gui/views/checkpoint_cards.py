"""The list of cards: headings and rows of cards, of which only those in sight are painted."""

from PyQt6.QtCore import (
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QRect,
    Qt,
    pyqtSignal,
)
from PyQt6.QtGui import QMouseEvent, QPainter, QPaintEvent, QRegion, QResizeEvent
from PyQt6.QtWidgets import QAbstractItemView

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_gui.state import run_row
from mosaic_gui.state.card_layout import CARD_HEIGHT, GAP, MARGIN, Arrow, CardLayout
from mosaic_gui.state.checkpoint_list import CheckpointAddress, address_of
from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.checkpoints import CheckpointsModel
from mosaic_gui.views.bases import was_in_sight
from mosaic_gui.views.card_painter import CardLook, CardPainter

_ACTIONS = QAbstractItemView.CursorAction
_ARROWS = {
    _ACTIONS.MoveLeft: Arrow.LEFT,
    _ACTIONS.MoveRight: Arrow.RIGHT,
    _ACTIONS.MovePrevious: Arrow.LEFT,
    _ACTIONS.MoveNext: Arrow.RIGHT,
    _ACTIONS.MoveUp: Arrow.UP,
    _ACTIONS.MoveDown: Arrow.DOWN,
}
_POINTED = (QEvent.Type.HoverEnter, QEvent.Type.HoverMove, QEvent.Type.HoverLeave)


class CheckpointCardView(QAbstractItemView):
    """Cards in rows. Arrow keys move between them; a click on a heading folds its group."""

    play_wanted = pyqtSignal()
    """A card was double-clicked."""
    menu_wanted = pyqtSignal(QPoint)
    """The menu of the chosen card is wanted at a place of the screen."""

    def __init__(self, model: CheckpointsModel) -> None:
        super().__init__()
        self.setObjectName("checkpoints.cards")
        self.setAccessibleName(tr("Checkpoints"))
        self._model, self._cards = model, model.cards
        self._layout = CardLayout()
        self._hovered: int | None = None
        self._marked: CheckpointAddress | None = None
        """The chosen checkpoint, as it was marked last."""
        self._recolour()
        on_theme(self, self._recolour)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)
        if (viewport := self.viewport()) is not None:
            viewport.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setModel(self._cards)
        self._cards.modelReset.connect(self._on_reset)
        model.changed.connect(self._on_changed)
        model.tags_changed.connect(self._repaint)
        self._on_reset()

    def show_chosen(self) -> None:
        """Mark the card of the chosen checkpoint, and bring it into sight."""
        number = self._cards.place_of(self._model.chosen)
        if number is not None:
            self._mark(number)
            self.scrollTo(self._cards.index(number, 0))

    def act(self) -> None:
        """Fold or show more at the current entry, or play its checkpoint."""
        index = self.currentIndex()
        if index.isValid() and not self._toggle(index.row()):
            self.play_wanted.emit()

    def visualRect(self, index: QModelIndex) -> QRect:
        if not index.isValid() or index.row() >= len(self._cards.entries):
            return QRect()
        return QRect(*self._layout.place(index.row())).translated(0, -self.verticalOffset())

    def scrollTo(
        self,
        index: QModelIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        bar, viewport = self.verticalScrollBar(), self.viewport()
        rect = self.visualRect(index)
        if bar is None or viewport is None or rect.isNull():
            return
        if rect.top() < MARGIN:
            bar.setValue(bar.value() + rect.top() - MARGIN)
        elif rect.bottom() > viewport.height() - MARGIN:
            bar.setValue(bar.value() + rect.bottom() - viewport.height() + MARGIN + 1)

    def indexAt(self, point: QPoint) -> QModelIndex:
        entry = self._layout.at(point.x(), point.y() + self.verticalOffset())
        return QModelIndex() if entry is None else self._cards.index(entry, 0)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        count, now = len(self._cards.entries), self.currentIndex()
        if not count:
            return QModelIndex()
        if action == _ACTIONS.MoveHome or not now.isValid():
            return self._cards.index(0, 0)
        if action == _ACTIONS.MoveEnd:
            return self._cards.index(count - 1, 0)
        if action in _ARROWS:
            return self._cards.index(self._layout.neighbour(now.row(), _ARROWS[action]), 0)
        viewport = self.viewport()
        page = (viewport.height() if viewport is not None else 0) - CARD_HEIGHT
        down = action == _ACTIONS.MovePageDown
        top = self._layout.place(now.row()).top + (page if down else -page)
        return self._cards.index(self._layout.nearest(top), 0)

    def horizontalOffset(self) -> int:
        return 0

    def verticalOffset(self) -> int:
        bar = self.verticalScrollBar()
        return bar.value() if bar is not None else 0

    def isIndexHidden(self, index: QModelIndex) -> bool:
        return False

    def setSelection(self, rect: QRect, command: QItemSelectionModel.SelectionFlag) -> None:
        index, selection = self.indexAt(rect.topLeft()), self.selectionModel()
        if selection is not None and index.isValid():
            selection.select(index, command)

    def visualRegionForSelection(self, selection: QItemSelection) -> QRegion:
        region = QRegion()
        for index in selection.indexes():
            region += QRegion(self.visualRect(index))
        return region

    def updateGeometries(self) -> None:
        super().updateGeometries()
        bar, viewport = self.verticalScrollBar(), self.viewport()
        if bar is not None and viewport is not None:
            bar.setRange(0, max(0, self._layout.height - viewport.height()))
            bar.setPageStep(viewport.height())
            bar.setSingleStep((CARD_HEIGHT + GAP) // 3)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        was_seen = was_in_sight(self, event)
        super().resizeEvent(event)
        self._arrange()
        if was_seen:
            self.scrollTo(self.currentIndex())

    def paintEvent(self, event: QPaintEvent | None) -> None:
        viewport = self.viewport()
        if viewport is None or event is None:
            return
        painter = QPainter(viewport)
        painter.fillRect(event.rect(), self._painter.ground)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        offset, now, current = self.verticalOffset(), run_row.now(), self.currentIndex().row()
        for number in self._layout.between(event.rect().top() + offset, event.rect().bottom() + offset):  # fmt: skip
            rect = QRect(*self._layout.place(number)).translated(0, -offset)
            entry = self._cards.entries[number]
            look = self._look(number, entry, number == current)
            if isinstance(entry, CheckpointRow):
                self._painter.paint_card(painter, rect, entry, look, now)
            else:
                self._painter.paint_heading(painter, rect, entry, look)
        painter.end()
        self._want_trends()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        viewport = self.viewport()
        if viewport is not None:
            self.scrollDirtyRegion(dx, dy)
            viewport.scroll(dx, dy)

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:
        super().currentChanged(current, previous)
        self._repaint()
        if current.isValid():
            entry = self._cards.entries[current.row()]
            if isinstance(entry, CheckpointRow):
                self._marked = address_of(entry)
                self._model.choose(self._marked)

    def viewportEvent(self, event: QEvent | None) -> bool:
        if event is not None and event.type() in _POINTED:
            is_there = event.type() != QEvent.Type.HoverLeave
            at = event.position().toPoint()  # type: ignore[attr-defined]  # of hover events
            index = self.indexAt(at) if is_there else QModelIndex()
            self._hover(index.row() if index.isValid() else None)
        return super().viewportEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        super().mouseReleaseEvent(event)
        if event is not None and event.button() is Qt.MouseButton.LeftButton:
            index = self.indexAt(event.position().toPoint())
            if index.isValid():
                self._toggle(index.row())

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        if event is None or event.button() is not Qt.MouseButton.LeftButton:
            return
        index = self.indexAt(event.position().toPoint())
        if index.isValid() and isinstance(self._cards.entries[index.row()], CheckpointRow):
            self.play_wanted.emit()

    def _look(self, number: int, entry: object, is_current: bool) -> CardLook:
        model = self._model
        row = entry if isinstance(entry, CheckpointRow) else None
        return CardLook(
            is_current=is_current,
            is_hovered=number == self._hovered,
            has_focus=self.hasFocus(),
            checked=model.checked(row) if row is not None else None,
            trend=model.trend(row.run_id) if row is not None else None,
            is_evaluated=row is not None and model.is_evaluated(address_of(row)),
        )

    def _want_trends(self) -> None:
        """Ask for the trends of all cards in sight."""
        viewport = self.viewport()
        if viewport is None:
            return
        offset = self.verticalOffset()
        entries = self._cards.entries
        seen = (entries[n] for n in self._layout.between(offset, offset + viewport.height()))
        self._model.want_trends(one.run_id for one in seen if isinstance(one, CheckpointRow))

    def _toggle(self, number: int) -> bool:
        """Fold a group or show more of it; the current entry stays where it is. False: it is a card."""
        bar = self.verticalScrollBar()
        place = bar.value() if bar is not None else 0
        if not self._cards.act(number):
            return False
        number = min(number, len(self._cards.entries) - 1)
        self._mark(number)
        if bar is not None:
            bar.setValue(place)
        return True

    def _on_changed(self) -> None:
        """Follow the choice where it was made elsewhere: of the first card, or of an imported checkpoint."""
        if self._model.chosen != self._marked:
            self.show_chosen()

    def _on_reset(self) -> None:
        """Other cards; what is in sight stays there while further pages come, unless another card was chosen."""
        bar = self.verticalScrollBar()
        place = bar.value() if bar is not None else 0
        self._hovered = None
        self._arrange()
        if self._model.chosen != self._marked:
            self.show_chosen()
            return
        number = self._cards.place_of(self._model.chosen)
        if number is not None:
            self._mark(number)
        if bar is not None:
            bar.setValue(place)

    def _mark(self, number: int) -> None:
        selection = self.selectionModel()
        if selection is not None:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            selection.setCurrentIndex(self._cards.index(number, 0), flags)

    def _arrange(self) -> None:
        viewport = self.viewport()
        width = viewport.width() if viewport is not None else 0
        self._layout = CardLayout(self._cards.are_cards, width)
        self.updateGeometries()
        self._repaint()

    def _recolour(self) -> None:
        self._painter = CardPainter()
        self._repaint()

    def _repaint(self) -> None:
        if (viewport := self.viewport()) is not None:
            viewport.update()

    def _hover(self, number: int | None) -> None:
        if number != self._hovered:
            self._hovered = number
            self._repaint()

    def _on_menu(self, place: QPoint) -> None:
        viewport = self.viewport()
        index = self.indexAt(place)
        entry = self._cards.entries[index.row()] if index.isValid() else None
        if viewport is not None and isinstance(entry, CheckpointRow):
            self.menu_wanted.emit(viewport.mapToGlobal(place))
