"""The picture of what fills the disk: tiles that are chosen with the pointer or the arrow keys."""

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
from PyQt6.QtGui import QMouseEvent, QPainter, QPaintEvent, QPixmap, QRegion, QResizeEvent
from PyQt6.QtWidgets import QAbstractItemView

from mosaic_gui.state.language import tr
from mosaic_gui.state.storage_map import PlacedGroup, neighbour, placed_groups
from mosaic_gui.state.treemap import Tile
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.storage import StorageModel
from mosaic_gui.views.storage_painter import StoragePainter, TileLook

_ACTIONS = QAbstractItemView.CursorAction
_ARROWS = {
    _ACTIONS.MoveLeft: (-1, 0),
    _ACTIONS.MoveRight: (1, 0),
    _ACTIONS.MoveUp: (0, -1),
    _ACTIONS.MoveDown: (0, 1),
}
_STEPS = {_ACTIONS.MoveNext: 1, _ACTIONS.MovePrevious: -1}
_POINTED = (QEvent.Type.HoverEnter, QEvent.Type.HoverMove, QEvent.Type.HoverLeave)
_MARGIN = 1


class StorageMapView(QAbstractItemView):
    """A treemap. Arrow keys move between tiles, Home chooses the largest one."""

    run_wanted = pyqtSignal()
    """A tile was double-clicked."""
    menu_wanted = pyqtSignal(QPoint)
    """The menu of the chosen tile is wanted at a place of the screen."""

    def __init__(self, model: StorageModel) -> None:
        super().__init__()
        self.setObjectName("storage.map")
        self.setAccessibleName(tr("Runs by size"))
        self._model, self._tiles = model, model.tiles
        self._placed: list[PlacedGroup] = []
        self._places: list[Tile] = []
        self._picture: QPixmap | None = None
        """All tiles as they are painted without pointer and choice; None: they are painted again."""
        self._hovered: int | None = None
        self._painter = StoragePainter()
        on_theme(self, self._recolour)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabKeyNavigation(False)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu)
        self.setMinimumHeight(120)
        if (viewport := self.viewport()) is not None:
            viewport.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setModel(self._tiles)
        self._tiles.modelReset.connect(self._on_reset)
        model.chosen_changed.connect(self.show_chosen)
        self._on_reset()

    def show_chosen(self) -> None:
        """Mark the tile of the chosen run."""
        number = self._tiles.place_of(self._model.chosen, self._model.chosen_group)
        if number is None:
            if self._model.chosen == "" and self._is_rest(self.currentIndex()):
                return  # the tile of smaller runs has no run
            self.setCurrentIndex(QModelIndex())
            self._repaint()
        elif number != self.currentIndex().row():
            self._mark(number)

    def visualRect(self, index: QModelIndex) -> QRect:
        if not index.isValid() or index.row() >= len(self._places):
            return QRect()
        left, top, width, height = self._places[index.row()]
        return QRect(round(left), round(top), round(width), round(height))

    def scrollTo(
        self,
        index: QModelIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        """Everything is in sight."""

    def indexAt(self, point: QPoint) -> QModelIndex:
        x, y = point.x() + 0.5, point.y() + 0.5
        found = (n for n, place in enumerate(self._places) if place.contains(x, y))
        number = next(found, None)
        return QModelIndex() if number is None else self._tiles.index(number, 0)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        count, now = len(self._places), self.currentIndex()
        if not count:
            return QModelIndex()
        if not now.isValid() or action == _ACTIONS.MoveHome:
            return self._tiles.index(0, 0)
        if action in _ARROWS:
            return self._tiles.index(neighbour(self._places, now.row(), *_ARROWS[action]), 0)
        if action in _STEPS:
            return self._tiles.index(min(max(0, now.row() + _STEPS[action]), count - 1), 0)
        return self._tiles.index(count - 1, 0) if action == _ACTIONS.MoveEnd else now

    def horizontalOffset(self) -> int:
        return 0

    def verticalOffset(self) -> int:
        return 0

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

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._arrange()

    def paintEvent(self, event: QPaintEvent | None) -> None:
        viewport = self.viewport()
        if viewport is None:
            return
        painter = QPainter(viewport)
        painter.drawPixmap(0, 0, self._whole_picture())
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        current = self.currentIndex().row()
        for number in {current, self._hovered}:
            if number is not None and 0 <= number < len(self._places):
                look = TileLook(number == current, number == self._hovered, self.hasFocus())
                self._painter.paint_look(painter, self._places[number], look)
        painter.end()

    def currentChanged(self, current: QModelIndex, previous: QModelIndex) -> None:
        super().currentChanged(current, previous)
        self._repaint()
        self._model.choose(self._tiles.tiles[current.row()] if current.isValid() else None)

    def viewportEvent(self, event: QEvent | None) -> bool:
        if event is not None and event.type() in _POINTED:
            is_there = event.type() != QEvent.Type.HoverLeave
            at = event.position().toPoint()  # type: ignore[attr-defined]  # of hover events
            index = self.indexAt(at) if is_there else QModelIndex()
            self._hover(index.row() if index.isValid() else None)
        return super().viewportEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and event.button() is Qt.MouseButton.LeftButton:
            self.run_wanted.emit()

    def _whole_picture(self) -> QPixmap:
        """Hundreds of tiles are painted once, and not for each movement of the pointer."""
        viewport = self.viewport()
        ratio = self.devicePixelRatioF()
        if self._picture is None or self._picture.devicePixelRatio() != ratio:
            size = viewport.size() if viewport is not None else self.size()
            self._picture = QPixmap(size * ratio)
            self._picture.setDevicePixelRatio(ratio)
            self._picture.fill(self._painter.ground)
            painter = QPainter(self._picture)
            for placed in self._placed:
                self._painter.paint_group(painter, placed, self._model.grouping)
            painter.end()
        return self._picture

    def _is_rest(self, index: QModelIndex) -> bool:
        return index.isValid() and not self._tiles.tiles[index.row()].run_id

    def _on_reset(self) -> None:
        self._hovered = None
        self._arrange()
        number = self._tiles.place_of(self._model.chosen, self._model.chosen_group)
        if number is not None:
            self._mark(number)

    def _mark(self, number: int) -> None:
        selection = self.selectionModel()
        if selection is not None:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            selection.setCurrentIndex(self._tiles.index(number, 0), flags)

    def _arrange(self) -> None:
        viewport = self.viewport()
        width, height = (viewport.width(), viewport.height()) if viewport is not None else (0, 0)
        place = Tile(_MARGIN, _MARGIN, max(0, width - 2 * _MARGIN), max(0, height - 2 * _MARGIN))
        self._placed = placed_groups(self._tiles.groups, place)
        self._places = [each for placed in self._placed for each in placed.tiles]
        self._picture = None
        self._repaint()

    def _recolour(self) -> None:
        self._painter, self._picture = StoragePainter(), None
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
        if viewport is not None and self.indexAt(place).isValid():
            self.menu_wanted.emit(viewport.mapToGlobal(place))
