"""The list of runs, flat or grouped, with rows of one height so that thousands scroll fast."""

from PyQt6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    pyqtSignal,
)
from PyQt6.QtGui import QCursor, QPainter, QPaintEvent, QResizeEvent
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTreeView,
)

from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.run_groups import RunGroupModel
from mosaic_gui.viewmodels.run_table import Column, Role, RunFilterModel
from mosaic_gui.views.run_rows import ROW_HEIGHT, Cell, RowState, RunRows

_WIDTHS = {
    Column.STATE: 116,
    Column.RUN: 190,
    Column.ALGORITHM: 86,
    Column.ENVIRONMENT: 118,
    Column.SEED: 54,
    Column.PROGRESS: 128,
    Column.ELAPSED: 76,
    Column.REMAINING: 158,
    Column.LAST_RETURN: 96,
    Column.BEST_RETURN: 72,
    Column.SPS: 76,
    Column.TAGS: 80,
    Column.CREATED: 96,
}
_LEAST_NAME = 150
"""Width of a run's name, which else has what the other columns leave; below that the list is scrolled sideways."""
_GROUP_INDENT = 14
"""Below a group a run stands two of these further to the right, and its badge must fit."""
_HIDDEN_AT_FIRST = (Column.ALGORITHM, Column.ENVIRONMENT, Column.SEED, Column.SPS)
"""The run's name says the first three; the header's menu brings any back."""


_POINTED = (QEvent.Type.HoverEnter, QEvent.Type.HoverMove, QEvent.Type.HoverLeave)


class RunListView(QTreeView):
    """The list of runs, flat or grouped, with the same columns, order and selection."""

    chosen_changed = pyqtSignal()
    """Other rows are selected."""
    activated_by_click = pyqtSignal()
    """A run was double-clicked."""

    def __init__(self, shown: RunFilterModel) -> None:
        super().__init__()
        self.setObjectName("runs.table")
        self.setProperty("kind", "rows")
        self.setAccessibleName(tr("Runs"))
        self._shown = shown
        self._groups: RunGroupModel | None = None
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setUniformRowHeights(True)
        self.setWordWrap(False)
        self.setIndentation(_GROUP_INDENT)
        self.setExpandsOnDoubleClick(False)
        self.setItemDelegate(_Heights(self))
        self._colour_rows()
        on_theme(self, self._colour_rows)
        self._hovered = QPersistentModelIndex()
        self._cells: list[Cell] = []
        """Columns in sight and their places, of the paint event that goes on."""
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        if (viewport := self.viewport()) is not None:
            # every pixel is painted here: what was painted is moved where the list is scrolled
            viewport.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self.doubleClicked.connect(self._on_double_click)
        self._take_model(shown)
        self._dress_header()

    def _colour_rows(self) -> None:
        """Rows keep pictures of their parts, which are of one theme."""
        self._rows = RunRows(self.devicePixelRatioF)
        if (viewport := self.viewport()) is not None:
            viewport.update()

    @property
    def is_grouped(self) -> bool:
        """Whether runs are grouped by environment and algorithm."""
        return self._groups is not None

    def set_grouped(self, on: bool) -> None:
        """Group the list or not; the selection stays."""
        if on is self.is_grouped:
            return
        chosen = self.selected_ids()
        old, header = self._groups, self.header()
        state = header.saveState() if header is not None else None
        self._groups = RunGroupModel(self._shown, self) if on else None
        self._take_model(self._groups or self._shown)
        if header is not None and state is not None:
            header.restoreState(state)
        inset = 2 * _GROUP_INDENT if on else 0
        self.setColumnWidth(Column.STATE, _WIDTHS[Column.STATE] + inset)
        if old is not None:
            old.deleteLater()
        for run_id in chosen:
            self._mark(run_id, QItemSelectionModel.SelectionFlag.Select)
        self.chosen_changed.emit()

    def selected_ids(self) -> list[str]:
        """Run ids from top to bottom; a chosen group means its runs."""
        selection = self.selectionModel()
        rows = selection.selectedRows() if selection is not None else []
        rows.sort(
            key=lambda i: (i.parent().row(), i.row()) if i.parent().isValid() else (i.row(), -1)
        )
        found: dict[str, None] = {}
        for index in rows:
            if self._groups is not None and not index.parent().isValid():
                found |= dict.fromkeys(run.run_id for run in self._groups.runs_of(index.row()))
            else:
                found[str(index.data(Role.RUN_ID))] = None
        return list(found)

    def select_run(self, run_id: str) -> None:
        """Select one run and bring it into sight."""
        index = self._mark(run_id, QItemSelectionModel.SelectionFlag.ClearAndSelect)
        if index.isValid():
            self.scrollTo(index)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._fit_name()

    def _on_section_resized(self, at: int) -> None:
        if at != Column.RUN:
            self._fit_name()

    def _fit_name(self) -> None:
        header, viewport = self.header(), self.viewport()
        if header is None or viewport is None:
            return
        others = header.length() - header.sectionSize(Column.RUN)
        is_narrow = viewport.width() - others < _LEAST_NAME
        modes = QHeaderView.ResizeMode
        if is_narrow is (header.sectionResizeMode(Column.RUN) is modes.Stretch):
            header.setSectionResizeMode(Column.RUN, modes.Fixed if is_narrow else modes.Stretch)
        if is_narrow:
            header.resizeSection(Column.RUN, _LEAST_NAME)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        viewport = self.viewport()
        if viewport is None or event is None:
            return
        painter = QPainter(viewport)
        painter.fillRect(event.rect(), self._rows.ground)
        painter.end()
        self._cells = self._cells_in_sight(event.rect())
        super().paintEvent(event)

    def drawRow(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        selection = self.selectionModel()
        if painter is None or selection is None:
            return
        rect = option.rect
        look = RowState(
            is_selected=selection.isSelected(index),
            is_hovered=self._hovered == index,
            is_current=self.hasFocus() and selection.currentIndex().siblingAtColumn(0) == index,
        )
        self._rows.paint_ground(painter, rect, look)
        if self._groups is not None and not index.parent().isValid():
            self._draw_group(painter, rect, index)
            return
        run = self._groups.run_at(index) if self._groups else self._shown.run_at(index.row())
        if run is not None:
            cells = [
                (column, QRect(place.left(), rect.top(), place.width(), rect.height()))
                for column, place in self._cells
            ]
            self._rows.paint_run(painter, cells, run, self._shown.now)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        viewport = self.viewport()
        if viewport is not None and not dx and abs(dy) < viewport.height():
            # Qt compares pixels with a number of rows here, and paints everything again
            self.scrollDirtyRegion(dx, dy)
            viewport.scroll(dx, dy)
        else:
            super().scrollContentsBy(dx, dy)
        if viewport is not None and viewport.underMouse():
            self._hover(self.indexAt(viewport.mapFromGlobal(QCursor.pos())))

    def viewportEvent(self, event: QEvent | None) -> bool:
        if event is not None and event.type() in _POINTED:
            is_there = event.type() != QEvent.Type.HoverLeave
            at = event.position().toPoint()  # type: ignore[attr-defined]  # of hover events
            self._hover(self.indexAt(at) if is_there else QModelIndex())
        return super().viewportEvent(event)

    def _hover(self, index: QModelIndex) -> None:
        """Note the row under the pointer."""
        row = index.siblingAtColumn(0)
        viewport = self.viewport()
        if viewport is None or self._hovered == row:
            return
        before, self._hovered = QModelIndex(self._hovered), QPersistentModelIndex(row)
        for one in (before, row):
            place = self.visualRect(one)
            viewport.update(0, place.top(), viewport.width(), place.height())

    def _cells_in_sight(self, rect: QRect) -> list[Cell]:
        header, cells = self.header(), []
        for number in range(header.count() if header is not None else 0):
            left, width = self.columnViewportPosition(number), self.columnWidth(number)
            if width and left <= rect.right() and left + width > rect.left():
                # a run below a group stands further to the right
                inset = 2 * _GROUP_INDENT if self.is_grouped and number == 0 else 0
                cells.append((Column(number), QRect(left + inset, 0, width - inset, ROW_HEIGHT)))
        return cells

    def _draw_group(self, painter: QPainter, rect: QRect, index: QModelIndex) -> None:
        branch = QRect(self.columnViewportPosition(0), rect.top(), _GROUP_INDENT, rect.height())
        self.drawBranches(painter, branch, index)
        place = rect.adjusted(branch.right() + 1, 0, 0, 0)
        name, about = str(index.data() or ""), str(index.data(Role.SUBTITLE) or "")
        self._rows.paint_group(painter, place, name, about)

    def _mark(self, run_id: str, how: QItemSelectionModel.SelectionFlag) -> QModelIndex:
        selection = self.selectionModel()
        index = (self._groups or self._shown).index_of(run_id)
        if selection is not None and index.isValid():
            rows = QItemSelectionModel.SelectionFlag.Rows
            selection.setCurrentIndex(index, how | rows)
        return index

    def _take_model(self, model: QAbstractItemModel) -> None:
        self.setModel(model)
        self.setRootIsDecorated(self.is_grouped)
        selection = self.selectionModel()
        if selection is not None:
            selection.selectionChanged.connect(lambda *_: self.chosen_changed.emit())
        if self.is_grouped:
            model.layoutChanged.connect(self._span_groups)
            self._span_groups()
            self.expandAll()

    def _span_groups(self) -> None:
        model = self.model()
        for row in range(model.rowCount() if model is not None and self.is_grouped else 0):
            self.setFirstColumnSpanned(row, QModelIndex(), True)

    def _on_double_click(self, index: QModelIndex) -> None:
        if self.is_grouped and not index.parent().isValid():
            self.setExpanded(index, not self.isExpanded(index))
        else:
            self.activated_by_click.emit()

    def _dress_header(self) -> None:
        header = self.header()
        if header is None:
            return
        header.setHighlightSections(False)
        header.setSectionsMovable(True)
        header.setStretchLastSection(False)
        header.setFirstSectionMovable(False)
        for column, width in _WIDTHS.items():
            self.setColumnWidth(column, width)
        for column in _HIDDEN_AT_FIRST:
            self.setColumnHidden(column, True)
        header.setSectionResizeMode(Column.RUN, QHeaderView.ResizeMode.Stretch)
        header.sectionResized.connect(self._on_section_resized)
        self.setSortingEnabled(True)
        self.sortByColumn(Column.CREATED, Qt.SortOrder.DescendingOrder)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._choose_columns)

    def _choose_columns(self, place: QPoint) -> None:
        menu, header = QMenu(self), self.header()
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for column in Column:
            title = str(self._shown.headerData(column, Qt.Orientation.Horizontal))
            action = menu.addAction(title)
            if action is None or column in (Column.STATE, Column.RUN):
                continue
            action.setCheckable(True)
            action.setChecked(not self.isColumnHidden(column))
            action.toggled.connect(lambda on, column=column: self.setColumnHidden(column, not on))
        if header is not None:
            menu.popup(header.mapToGlobal(place))


class _Heights(QStyledItemDelegate):
    """Rows of one height; the list paints them itself."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        return QSize(super().sizeHint(option, index).width(), ROW_HEIGHT)
