"""The list of runs itself: flat, or in groups that fold; one height for all rows, so that thousands scroll."""

from PyQt6.QtCore import (
    QAbstractItemModel,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    Qt,
    pyqtSignal,
)
from PyQt6.QtWidgets import QAbstractItemView, QHeaderView, QMenu, QTreeView

from mosaic_gui.viewmodels.run_groups import RunGroupModel
from mosaic_gui.viewmodels.run_table import Column, Role, RunFilterModel
from mosaic_gui.views.badge import BadgeDelegate, ProgressDelegate, RowDelegate, RunDelegate

_WIDTHS = {
    Column.STATE: 116,
    Column.RUN: 190,
    Column.ALGORITHM: 86,
    Column.ENVIRONMENT: 118,
    Column.SEED: 54,
    Column.PROGRESS: 128,
    Column.ELAPSED: 76,
    Column.REMAINING: 140,
    Column.LAST_RETURN: 96,
    Column.BEST_RETURN: 72,
    Column.SPS: 76,
    Column.TAGS: 80,
    Column.CREATED: 96,
}
_GROUP_INDENT = 14
"""Below a group a run stands two of these further to the right, and its badge must fit."""
_HIDDEN_AT_FIRST = (Column.ALGORITHM, Column.ENVIRONMENT, Column.SEED, Column.SPS)
"""The run's name says the first three; the header's menu brings any back."""


class RunList(QTreeView):
    """Both shapes have the same columns, order and selection."""

    chosen_changed = pyqtSignal()
    """Other rows are selected."""
    activated_by_click = pyqtSignal()
    """A run was double-clicked."""

    def __init__(self, shown: RunFilterModel) -> None:
        super().__init__()
        self.setObjectName("runs.table")
        self.setProperty("kind", "rows")
        self.setAccessibleName(self.tr("Runs"))
        self._shown = shown
        self._groups: RunGroupModel | None = None
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setUniformRowHeights(True)
        self.setWordWrap(False)
        self.setIndentation(_GROUP_INDENT)
        self.setExpandsOnDoubleClick(False)
        self.setItemDelegate(RowDelegate(self))
        self.setItemDelegateForColumn(Column.STATE, BadgeDelegate(self))
        self.setItemDelegateForColumn(Column.RUN, RunDelegate(self))
        self.setItemDelegateForColumn(Column.PROGRESS, ProgressDelegate(self))
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.doubleClicked.connect(self._on_double_click)
        self._take_model(shown)
        self._dress_header()

    @property
    def is_grouped(self) -> bool:
        """Runs stand below their environment and algorithm."""
        return self._groups is not None

    def set_grouped(self, on: bool) -> None:
        """Change the shape; what is selected stays selected."""
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
        """Run ids from top to bottom; a chosen group stands for its runs."""
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
