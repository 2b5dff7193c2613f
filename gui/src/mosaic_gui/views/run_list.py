"""The list of runs, with rows of one height that it paints itself, so that thousands scroll fast."""

from collections.abc import Sequence

from PyQt6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    Qt,
    pyqtSignal,
)
from PyQt6.QtGui import (
    QCursor,
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QTableView,
    QToolTip,
    QWidget,
)

from mosaic_gui.state.language import tr
from mosaic_gui.state.run_columns import added_column
from mosaic_gui.state.run_heads import RunHead
from mosaic_gui.state.run_views import ColumnPlace
from mosaic_gui.theme.current import on_theme
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.views.pinned_header import PinnedHeader
from mosaic_gui.views.run_rows import ROW_HEIGHT, Cell, RowState, RunRows, TagChip

_WIDTHS = {
    Column.STATE: 116,
    Column.RUN: 230,
    Column.ALGORITHM: 86,
    Column.ENVIRONMENT: 118,
    Column.SEED: 54,
    Column.PROGRESS: 112,
    Column.ELAPSED: 72,
    Column.REMAINING: 128,
    Column.LAST_RETURN: 88,
    Column.BEST_RETURN: 66,
    Column.SPS: 76,
    Column.TAGS: 92,
    Column.CREATED: 94,
    Column.MEAN_RETURN: 104,
    Column.EPISODES: 84,
    Column.KIND: 110,
    Column.WORKER: 90,
    Column.GROUP: 150,
    Column.CORES: 62,
    Column.GPUS: 58,
    Column.NOTE: 160,
    Column.ID: 220,
}
_ADDED_WIDTH = 84
_SHOWN_AT_FIRST = (
    Column.STATE,
    Column.RUN,
    Column.PROGRESS,
    Column.ELAPSED,
    Column.REMAINING,
    Column.LAST_RETURN,
    Column.BEST_RETURN,
    Column.TAGS,
    Column.CREATED,
)
"""The run's name says algorithm, environment and seed where they differ."""
_STRETCHING = {Column.RUN: 3, Column.REMAINING: 2, Column.TAGS: 1, Column.NOTE: 2}
"""Columns that share what the window has left, and their parts."""
_SHRINKING = {Column.REMAINING: 114, Column.TAGS: 64, Column.RUN: 178}
"""Columns that give way in a narrow window, in this order, and their least widths; with less the list is scrolled
sideways."""
_INDENT = 18
"""Room for the arrow of a head; a run below it stands as far to the right."""
_POINTED = (QEvent.Type.HoverEnter, QEvent.Type.HoverMove, QEvent.Type.HoverLeave)


_ENDING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Escape)
"""Keys that end the writing of a name."""


class RunListView(QTableView):
    """The list of runs and heads."""

    chosen_changed = pyqtSignal()
    """Other rows are selected."""
    activated_by_click = pyqtSignal()
    """A run was double-clicked."""
    arranged = pyqtSignal()
    """The user arranged the columns."""
    header_menu_wanted = pyqtSignal(int, QPoint)
    """Number of the column, and a place on the screen."""
    rename_wanted = pyqtSignal(str, str)
    """Run id and new name."""
    copy_wanted = pyqtSignal()
    """The selected runs are to be copied."""
    tag_removal_wanted = pyqtSignal(str, str)
    """Run id and tag."""

    def __init__(self, model: RunListModel) -> None:
        super().__init__()
        self.setObjectName("runs.table")
        self.setProperty("kind", "rows")
        self.setAccessibleName(tr("Runs"))
        self._model = model
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self._colour_rows()
        on_theme(self, self._colour_rows)
        self._hovered = QPersistentModelIndex()
        self._pointed_chip: tuple[str, str] = ("", "")
        """Run and tag under the pointer."""
        self._editor: QLineEdit | None = None
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        if (viewport := self.viewport()) is not None:
            # every pixel is painted here: what was painted is moved where the list is scrolled
            viewport.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
            viewport.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.doubleClicked.connect(self._on_double_click)
        self._own_widths: dict[int, int] = {}
        """Widths that the user chose."""
        self._kept: list[str] = []
        """Runs that are selected again once the list is grouped."""
        self._is_fitting = self._had_heads = False
        self.pinned_header = PinnedHeader(self)
        self.setHorizontalHeader(self.pinned_header)
        self.setModel(model)
        selection = self.selectionModel()
        if selection is not None:
            selection.selectionChanged.connect(lambda *_: self.chosen_changed.emit())
        self._dress_headers()
        model.columnsInserted.connect(self._on_columns_added)
        model.columnsRemoved.connect(self._on_columns_removed)
        model.rows_changed.connect(self._on_rows)
        self.arrange([])

    def _colour_rows(self) -> None:
        """Rows keep pictures of their parts, which are of one theme."""
        self._painter_of_rows = RunRows(self.devicePixelRatioF)
        self._repaint()

    # --- columns

    def columns(self) -> list[ColumnPlace]:
        """The columns that are shown, from left to right."""
        header, keys = self.pinned_header, self._model.column_keys()
        shown = [header.logicalIndex(place) for place in range(header.count())]
        return [
            ColumnPlace(
                key=keys[column],
                width=self._own_widths.get(column, 0),
                pinned=header.is_pinned(column),
            )
            for column in shown
            if not self.isColumnHidden(column)
        ]

    def arrange(self, columns: Sequence[ColumnPlace]) -> None:
        """Show these columns; none: those of a first start."""
        places = list(columns) or [
            ColumnPlace(key=column.key, pinned=column in (Column.STATE, Column.RUN))
            for column in _SHOWN_AT_FIRST
        ]
        found = (added_column(place.key) for place in places)
        self._model.set_added([one for one in found if one is not None])
        keys = {key: number for number, key in enumerate(self._model.column_keys())}
        known = [place for place in places if place.key in keys]
        shown = [keys[place.key] for place in known]
        if Column.RUN not in shown:
            shown.insert(0, int(Column.RUN))
        self._own_widths = {keys[place.key]: place.width for place in known if place.width > 0}
        header = self.pinned_header
        header.set_pinned([])
        for place, column in enumerate(shown):
            header.moveSection(header.visualIndex(column), place)
        for column in range(header.count()):
            self.setColumnHidden(column, column not in shown)
        header.set_pinned([keys[place.key] for place in known if place.pinned])
        self.fit_columns()

    def show_column(self, key: str, is_shown: bool) -> None:
        """Show or hide a column."""
        added = added_column(key)
        if is_shown and added is not None and added not in self._model.added:
            self._model.set_added([*self._model.added, added])
        keys = self._model.column_keys()
        if key not in keys:
            return
        column = keys.index(key)
        if not is_shown and added is not None:
            self._model.set_added([one for one in self._model.added if one != added])
        else:
            self.setColumnHidden(column, not is_shown)
        self.fit_columns()
        self.arranged.emit()

    def pin_column(self, column: int, is_pinned: bool) -> None:
        """Keep a column in sight, or let it be scrolled."""
        header = self.pinned_header
        pinned = [one for one in range(header.count()) if header.is_pinned(one) and one != column]
        header.set_pinned([*pinned, column] if is_pinned else pinned)

    def fit_columns(self) -> None:
        """Give what the window has left to the columns that need it most."""
        header, viewport = self.pinned_header, self.viewport()
        if self._is_fitting or viewport is None:
            return
        shown = [n for n in range(header.count()) if not self.isColumnHidden(n)]
        widths = {n: self._own_widths.get(n) or self._width_at_first(n) for n in shown}
        left = viewport.width() - sum(widths.values())
        parts = {
            n: _STRETCHING[Column(n)]
            for n in shown
            if n < len(Column) and Column(n) in _STRETCHING and n not in self._own_widths
        }
        if left > 0 and parts:
            whole = sum(parts.values())
            for column, part in parts.items():
                widths[column] += left * part // whole
            last = max(parts, key=header.visualIndex)
            widths[last] += viewport.width() - sum(widths.values())
        for column, least in _SHRINKING.items():
            if left < 0 and int(column) in parts:
                less = min(-left, max(0, widths[column] - least))
                widths[column] -= less
                left += less
        self._is_fitting = True
        for column, width in widths.items():
            self.setColumnWidth(column, width)
        self._is_fitting = False
        self._repaint()

    def _width_at_first(self, column: int) -> int:
        indent = _INDENT if self._has_heads and column == self._first_column else 0
        if column < len(Column):
            return _WIDTHS[Column(column)] + indent
        title = self.fontMetrics().horizontalAdvance(self._model.title_of(column))
        return max(_ADDED_WIDTH, min(180, title + 40)) + indent

    def _dress_headers(self) -> None:
        rows, header = self.verticalHeader(), self.pinned_header
        if rows is not None:
            rows.setVisible(False)
            rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            rows.setMinimumSectionSize(ROW_HEIGHT)
            rows.setDefaultSectionSize(ROW_HEIGHT)
        header.setSectionsClickable(True)
        header.setHighlightSections(False)
        header.setSectionsMovable(True)
        header.setStretchLastSection(False)
        header.setMinimumSectionSize(36)
        self.setSortingEnabled(True)
        self.sortByColumn(Column.CREATED, Qt.SortOrder.DescendingOrder)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._on_header_menu)
        header.sectionResized.connect(self._on_section_resized)
        header.pinned_changed.connect(self._on_pinned)
        header.sectionMoved.connect(lambda *_: self.arranged.emit())
        header.sortIndicatorChanged.connect(lambda *_: self.arranged.emit())

    def _on_header_menu(self, place: QPoint) -> None:
        column = self.pinned_header.column_at(place.x())
        self.header_menu_wanted.emit(column, self.pinned_header.mapToGlobal(place))

    def _on_section_resized(self, column: int, before: int, after: int) -> None:
        # Qt also reports what this list has set, and columns that are hidden or shown
        if not self._is_fitting and before and after:
            self._own_widths[column] = after
            self.arranged.emit()
        self._repaint()

    def _on_pinned(self) -> None:
        self._repaint()
        self.arranged.emit()

    def _on_columns_added(self) -> None:
        self.fit_columns()

    def _on_columns_removed(self, _parent: QModelIndex, first: int, last: int) -> None:
        gone = last - first + 1
        self._own_widths = {
            column if column < first else column - gone: width
            for column, width in self._own_widths.items()
            if not first <= column <= last
        }
        self.fit_columns()

    # --- selection

    def selected_ids(self) -> list[str]:
        """Run ids from top to bottom; a chosen head means its runs."""
        found: dict[str, None] = {}
        for row in self._selected_rows():
            head, run = self._model.head_at(row), self._model.run_at(row)
            if head is not None:
                found |= dict.fromkeys(head.members)
            elif run is not None:
                found[run.run_id] = None
        return list(found)

    def selected_heads(self) -> list[RunHead]:
        """Heads that are selected, from top to bottom."""
        heads = (self._model.head_at(row) for row in self._selected_rows())
        return [head for head in heads if head is not None]

    def _selected_rows(self) -> list[int]:
        selection = self.selectionModel()
        return sorted(i.row() for i in selection.selectedRows()) if selection is not None else []

    def regroup(self, key: str, *, is_flat: bool = False) -> None:
        """Group by the values of a column, or as runs were started; the selection stays."""
        self._kept = self.selected_ids()
        if self._model.is_flat is not is_flat:
            self._model.set_flat(is_flat)
        if self._model.grouped_by != key:
            self._model.group_by(key)

    def select_run(self, run_id: str) -> None:
        """Select one run and bring it into sight."""
        self.select_runs([run_id])
        index = self._model.index_of(run_id)
        if index.isValid():
            self.scrollTo(index)

    def select_runs(self, run_ids: Sequence[str]) -> None:
        """Select these runs; folded ones are unfolded."""
        flags, selection = QItemSelectionModel.SelectionFlag, self.selectionModel()
        if selection is None:
            return
        indexes = [index for run_id in run_ids if (index := self._model.reveal(run_id)).isValid()]
        selection.clearSelection()
        for place, index in enumerate(indexes):
            if place == 0:
                selection.setCurrentIndex(index, flags.Select | flags.Rows)
            else:
                selection.select(index, flags.Select | flags.Rows)

    def scrollTo(
        self,
        index: QModelIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        # a row is chosen, not a cell: the list is not scrolled sideways to it
        bar = self.horizontalScrollBar()
        before = bar.value() if bar is not None else 0
        super().scrollTo(index, hint)
        if bar is not None:
            bar.setValue(before)

    def moveCursor(
        self, action: QAbstractItemView.CursorAction, modifiers: Qt.KeyboardModifier
    ) -> QModelIndex:
        actions, rows = QAbstractItemView.CursorAction, self._model.rowCount()
        current = self.currentIndex()
        if rows and action in (actions.MoveHome, actions.MoveEnd):
            return self._model.index(0 if action == actions.MoveHome else rows - 1, 0)
        if action in (actions.MoveLeft, actions.MoveRight):
            self._fold_by_key(current, action == actions.MoveLeft)
            return self.currentIndex()
        return super().moveCursor(action, modifiers)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.matches(QKeySequence.StandardKey.Copy):
            self.copy_wanted.emit()
        else:
            super().keyPressEvent(event)

    def _fold_by_key(self, current: QModelIndex, is_left: bool) -> None:
        head = self._model.head_at(current.row()) if current.isValid() else None
        if head is not None:
            self._model.fold(head.key, is_left)
        elif is_left and current.isValid() and self._model.is_below_head(current.row()):
            row = current.row()
            while row and self._model.head_at(row) is None:
                row -= 1
            self.setCurrentIndex(self._model.index(row, 0))

    # --- painting

    @property
    def _has_heads(self) -> bool:
        return self._model.has_heads

    @property
    def _first_column(self) -> int:
        header = self.pinned_header
        shown = (header.logicalIndex(place) for place in range(header.count()))
        return next((column for column in shown if not self.isColumnHidden(column)), 0)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        viewport, selection = self.viewport(), self.selectionModel()
        if viewport is None or event is None or selection is None:
            return
        painter, region = QPainter(viewport), event.rect()
        painter.fillRect(region, self._painter_of_rows.ground)
        first = self.rowAt(region.top())
        row = first if first >= 0 else self._model.rowCount()
        scrolled, pinned = self._cells_in_sight(region)
        while row < self._model.rowCount():
            top = self.rowViewportPosition(row)
            if top > region.bottom():
                break
            self._paint_row(
                painter, QRect(0, top, viewport.width(), ROW_HEIGHT), row, scrolled, pinned
            )
            row += 1
        painter.end()

    def _paint_row(
        self,
        painter: QPainter,
        rect: QRect,
        row: int,
        scrolled: Sequence[Cell],
        pinned: Sequence[Cell],
    ) -> None:
        index, selection = self._model.index(row, 0), self.selectionModel()
        look = RowState(
            is_selected=selection is not None and selection.isSelected(index),
            is_hovered=self._hovered == index,
            is_current=self.hasFocus() and self.currentIndex().row() == row,
        )
        rows, head = self._painter_of_rows, self._model.head_at(row)
        rows.paint_ground(painter, rect, look)
        if head is not None and not head.is_group:
            place = rect.adjusted(_INDENT, 0, 0, 0)
            rows.paint_arrow(painter, rect, self._model.is_folded(head.key))
            rows.paint_head(painter, place, head.title, self._model.about(head))
            return
        edge = self.pinned_header.pinned_width
        if edge and scrolled and self.pinned_header.offset():
            painter.save()
            painter.setClipRect(rect.adjusted(edge, 0, 0, 0))
            self._paint_cells(painter, rect, row, scrolled)
            painter.restore()
        else:
            self._paint_cells(painter, rect, row, scrolled)
        self._paint_cells(painter, rect, row, pinned)
        if head is not None:
            rows.paint_arrow(painter, rect, self._model.is_folded(head.key))

    def _paint_cells(self, painter: QPainter, rect: QRect, row: int, cells: Sequence[Cell]) -> None:
        places = [
            (column, QRect(place.left(), rect.top(), place.width(), rect.height()))
            for column, place in cells
        ]
        head, run = self._model.head_at(row), self._model.run_at(row)
        if head is not None:
            self._painter_of_rows.paint_group(painter, places, head, self._model)
        elif run is not None:
            pointed = self._pointed_chip[1] if self._pointed_chip[0] == run.run_id else ""
            self._painter_of_rows.paint_run(painter, places, run, self._model, pointed)

    def _cells_in_sight(self, rect: QRect) -> tuple[list[Cell], list[Cell]]:
        """Columns that are scrolled, and pinned ones, with their places."""
        header = self.pinned_header
        scrolled: list[Cell] = []
        pinned: list[Cell] = []
        for column in range(header.count()):
            width = header.sectionSize(column)
            if not width or header.isSectionHidden(column):
                continue
            left = header.left_of(column)
            if left > rect.right() or left + width <= rect.left():
                continue
            inset = self._inset(column)
            cell = column, QRect(left + inset, 0, width - inset, ROW_HEIGHT)
            (pinned if header.is_pinned(column) else scrolled).append(cell)
        return scrolled, pinned

    def _inset(self, column: int) -> int:
        return _INDENT if self._has_heads and column == self._first_column else 0

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        super().scrollContentsBy(dx, dy)
        viewport = self.viewport()
        if viewport is None:
            return
        if dx:  # pinned columns stay where they are
            viewport.update()
            self.pinned_header.repaint_pinned()
        if viewport.underMouse():
            self._hover(viewport.mapFromGlobal(QCursor.pos()), is_there=True)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    def _on_rows(self) -> None:
        """Fit what depends on whether there are heads."""
        if self._kept and not self._model.is_working:
            kept, self._kept = self._kept, []
            if kept != self.selected_ids():
                self.select_runs(kept)
        if self._had_heads is not self._has_heads:
            self._had_heads = self._has_heads
            self.fit_columns()

    def _repaint(self) -> None:
        if (viewport := self.viewport()) is not None:
            viewport.update()

    # --- pointer

    def viewportEvent(self, event: QEvent | None) -> bool:
        if event is not None and event.type() in _POINTED:
            is_there = event.type() != QEvent.Type.HoverLeave
            at = event.position().toPoint()  # type: ignore[attr-defined]  # of hover events
            self._hover(at, is_there=is_there)
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            return self._show_tip(event)
        return super().viewportEvent(event)

    def _show_tip(self, event: QHelpEvent) -> bool:
        row, column = self.rowAt(event.pos().y()), self.pinned_header.column_at(event.pos().x())
        tip = None
        if row >= 0 and column >= 0:
            tip = self._model.index(row, column).data(Qt.ItemDataRole.ToolTipRole)
        QToolTip.showText(event.globalPos(), str(tip or ""), self.viewport())
        return True

    def _hover(self, at: QPoint, *, is_there: bool) -> None:
        """Note the row and the tag under the pointer."""
        row = self._model.index(self.rowAt(at.y()), 0) if is_there else QModelIndex()
        chip = self.chip_at(at) if is_there else None
        run = self._model.run_at(row.row()) if row.isValid() else None
        pointed = (run.run_id, chip.tag) if run is not None and chip is not None else ("", "")
        if self._hovered == row and self._pointed_chip == pointed:
            return
        before, self._hovered = QModelIndex(self._hovered), QPersistentModelIndex(row)
        self._pointed_chip = pointed
        viewport = self.viewport()
        for one in (before, row):
            if one.isValid() and viewport is not None:
                viewport.update(
                    0, self.rowViewportPosition(one.row()), viewport.width(), ROW_HEIGHT
                )

    def chip_at(self, at: QPoint) -> TagChip | None:
        """The tag at a place of the list."""
        column, row = self.pinned_header.column_at(at.x()), self.rowAt(at.y())
        run = self._model.run_at(row) if row >= 0 else None
        if column != Column.TAGS or run is None or not run.tags:
            return None
        left, inset = self.pinned_header.left_of(column), self._inset(column)
        cell = QRect(
            left + inset,
            self.rowViewportPosition(row),
            self.columnWidth(column) - inset,
            ROW_HEIGHT,
        )
        chips = self._painter_of_rows.chips(cell, run.tags)
        return next((chip for chip in chips if chip.tag and chip.rect.contains(at)), None)

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        if event is None or event.button() != Qt.MouseButton.LeftButton:
            super().mousePressEvent(event)
            return
        at = event.position().toPoint()
        row = self.rowAt(at.y())
        head = self._model.head_at(row) if row >= 0 else None
        if head is not None and at.x() < _INDENT:
            self._model.fold(head.key, not self._model.is_folded(head.key))
            return
        chip, run = self.chip_at(at), self._model.run_at(row) if row >= 0 else None
        if chip is not None and run is not None and chip.cross.contains(at):
            self.tag_removal_wanted.emit(run.run_id, chip.tag)
            return
        super().mousePressEvent(event)

    def _on_double_click(self, index: QModelIndex) -> None:
        head = self._model.head_at(index.row())
        if head is not None:
            self._model.fold(head.key, not self._model.is_folded(head.key))
        else:
            self.activated_by_click.emit()

    # --- renaming

    def rename(self, run_id: str, name: str) -> None:
        """Write another name of a run in its row. Return keeps it, Escape leaves it as it was."""
        index, viewport = self._model.reveal(run_id), self.viewport()
        if not index.isValid() or viewport is None:
            return
        self.scrollTo(index)
        column = int(Column.RUN)
        inset = self._inset(column)
        left = self.pinned_header.left_of(column) + inset + 4
        width = max(160, self.columnWidth(column) - inset - 8)
        editor = self._editor = _NameField(viewport, name)
        top = self.rowViewportPosition(index.row())
        editor.setGeometry(QRect(left, top + 5, width, ROW_HEIGHT - 10))
        editor.kept.connect(lambda text: self.rename_wanted.emit(run_id, text))
        editor.show()
        editor.selectAll()
        editor.setFocus()


class _NameField(QLineEdit):
    """A field over a row that goes when it is left."""

    kept = pyqtSignal(str)

    def __init__(self, parent: QWidget, name: str) -> None:
        super().__init__(name, parent)
        self.setObjectName("runs.name")
        self.setAccessibleName(tr("Name of the run"))
        self.setMaxLength(200)
        self._before, self._is_done = name, False
        self.editingFinished.connect(lambda: self._finish(keeps=True))

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in _ENDING:
            self._finish(keeps=event.key() != Qt.Key.Key_Escape)
        else:
            super().keyPressEvent(event)

    def event(self, event: QEvent | None) -> bool:
        # a key that ends it is no command: Return would open the run
        is_asked = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride
        if isinstance(event, QKeyEvent) and is_asked and event.key() in _ENDING:
            event.accept()
            return True
        return super().event(event)

    def _finish(self, *, keeps: bool) -> None:
        if self._is_done:
            return
        self._is_done = True
        text = self.text().strip()
        owner = self.parentWidget()
        list_view = owner.parentWidget() if owner is not None else None
        if keeps and text and text != self._before:
            self.kept.emit(text)
        self.deleteLater()
        self.hide()
        if list_view is not None:
            list_view.setFocus()
