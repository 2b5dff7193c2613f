"""The run list: find runs, open them, lay them over each other, stop, tag and delete them."""

from PyQt6.QtCore import QItemSelectionModel, QModelIndex, QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QKeySequence
from PyQt6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState
from mosaic_gui.state.wording import plural
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.run_table import Column, RunFilterModel, RunTableModel
from mosaic_gui.views.badge import BadgeDelegate, ProgressDelegate, RunDelegate
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.tag_popup import TagPopup
from mosaic_gui.views.text import button, frame, label

ROW_HEIGHT = 42
_LIVE = frozenset(state for state in RunState if not state.is_final)
_FAILED = frozenset({RunState.FAILED, RunState.CRASHED, RunState.TIMED_OUT})
_GROUPS = {
    "all": frozenset(RunState),
    "live": _LIVE,
    "done": frozenset(RunState) - _LIVE - _FAILED,
    "failed": _FAILED,
}
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
    Column.CREATED: 88,
}
_HIDDEN_AT_FIRST = (Column.ALGORITHM, Column.ENVIRONMENT, Column.SEED, Column.SPS)
"""The run's name says the first three; the header's menu brings any back."""


class RunsPage(QWidget):
    """The page. Its signals are what the user wants."""

    open_wanted = pyqtSignal(list)
    """Run ids: the first is watched, the others are laid over it."""
    stop_wanted = pyqtSignal(list)
    delete_wanted = pyqtSignal(list)
    tags_wanted = pyqtSignal(list, list)
    """Run ids, and the tags that each of them is to have in addition."""
    copy_wanted = pyqtSignal(str)
    train_wanted = pyqtSignal()

    def __init__(self, model: RunTableModel, shown: RunFilterModel) -> None:
        super().__init__()
        self.setObjectName("page.runs")
        self._model, self._shown = model, shown
        self.table = self._make_table()
        self._count = label("", "muted")
        self.search = QLineEdit()
        self.search.setObjectName("runs.search")
        self.search.setPlaceholderText(self.tr("Search name, tag, note …"))
        self.search.setClearButtonEnabled(True)
        self.search.setFixedWidth(240)
        self.search.setAccessibleName(self.tr("Search runs"))
        self.search.addAction(
            icon("search", current().muted), QLineEdit.ActionPosition.LeadingPosition
        )
        self.groups = Segments(
            {"all": "All", "live": "Live", "done": "Done", "failed": "Failed"}, "runs.groups"
        )
        self._make_actions()
        self._stack = QStackedWidget()
        self._stack.addWidget(self._filled())
        self._stack.addWidget(self._empty())
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(self._top())
        layout.addWidget(self._stack, 1)
        self._connect()
        self._on_rows()

    @property
    def selected(self) -> list[RunView]:
        """Runs that are selected, from top to bottom."""
        selection = self.table.selectionModel()
        rows = sorted(i.row() for i in selection.selectedRows()) if selection else []
        return [run for row in rows if (run := self._shown.run_at(row)) is not None]

    def select_run(self, run_id: str) -> None:
        """Select one run and bring it into sight."""
        row = self._model.row_of(run_id)
        selection = self.table.selectionModel()
        if row is None or selection is None:
            return
        index = self._shown.mapFromSource(self._model.index(row, 0))
        flags = QItemSelectionModel.SelectionFlag
        selection.setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
        self.table.scrollTo(index)

    def _top(self) -> QHBoxLayout:
        self.train = button(self.tr("Train new"), "primary", "runs.train")
        self.train.setIcon(icon("train", current().on_accent))
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addWidget(label(self.tr("Runs"), "title"))
        row.addWidget(self._count)
        row.addStretch(1)
        row.addWidget(self.search)
        row.addWidget(self.groups)
        row.addWidget(self.train)
        return row

    def _filled(self) -> QFrame:
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addWidget(self._make_bar())
        layout.addWidget(self.table, 1)
        return panel

    def _make_bar(self) -> QWidget:
        """What can be done with the selection; it keeps its place, so that nothing jumps."""
        bar = QWidget()
        row = QHBoxLayout(bar)
        row.setContentsMargins(10, 6, 10, 6)
        row.setSpacing(6)
        self._selection = label("", "small")
        row.addWidget(self._selection)
        row.addStretch(1)
        self.bar_buttons = {}
        for action, kind in (
            (self.open_action, "quiet"),
            (self.copy_action, "quiet"),
            (self.tag_action, "quiet"),
            (self.delete_action, "quiet"),
            (self.stop_action, "stop"),
        ):
            made = button(action.text(), kind, f"runs.{action.objectName()}")
            made.setToolTip(f"{action.toolTip()} ({action.shortcut().toString()})")
            made.clicked.connect(action.trigger)
            self.bar_buttons[action.objectName()] = made
            row.addWidget(made)
        return bar

    def _empty(self) -> QFrame:
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        layout.addStretch(2)
        self._hero = label(self.tr("Nothing has run here yet"), "hero")
        self._hint = label(
            self.tr("Train an agent: choose an algorithm, keep its defaults, press Launch."),
            "muted",
        )
        self.first = button(self.tr("Train your first agent"), "primary", "runs.first")
        for part in (self._hero, self._hint):
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(10)
        layout.addWidget(self.first, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _make_table(self) -> QTableView:
        table = QTableView()
        table.setObjectName("runs.table")
        table.setAccessibleName(self.tr("Runs"))
        table.setModel(self._shown)
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setTabKeyNavigation(False)
        table.setItemDelegateForColumn(Column.STATE, BadgeDelegate(table))
        table.setItemDelegateForColumn(Column.RUN, RunDelegate(table))
        table.setItemDelegateForColumn(Column.PROGRESS, ProgressDelegate(table))
        table.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        rows = table.verticalHeader()
        if rows is not None:
            rows.setVisible(False)
            # one height for all: Qt then never asks 5,000 rows for theirs
            rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            rows.setDefaultSectionSize(ROW_HEIGHT)
        self._dress_header(table)
        return table

    def _dress_header(self, table: QTableView) -> None:
        header = table.horizontalHeader()
        if header is None:
            return
        header.setHighlightSections(False)
        header.setSectionsMovable(True)
        for column, width in _WIDTHS.items():
            table.setColumnWidth(column, width)
        for column in _HIDDEN_AT_FIRST:
            table.setColumnHidden(column, True)
        header.setSectionResizeMode(Column.RUN, QHeaderView.ResizeMode.Stretch)
        table.setSortingEnabled(True)
        table.sortByColumn(Column.CREATED, Qt.SortOrder.DescendingOrder)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._choose_columns)

    def _make_actions(self) -> None:
        self.open_action = self._action("open", self.tr("Open"), "Return", self._open)
        self.copy_action = self._action("copy", self.tr("Clone and edit"), "Ctrl+D", self._copy)
        self.tag_action = self._action("tag", self.tr("Tag"), "Ctrl+T", self._tag)
        self.delete_action = self._action("delete", self.tr("Delete"), "Del", self._delete)
        self.stop_action = self._action("stop", self.tr("Stop"), "Ctrl+.", self._stop)

    def _action(self, name: str, text: str, shortcut: str, act: object) -> QAction:
        action = QAction(text, self)
        action.setObjectName(name)
        action.setShortcut(QKeySequence(shortcut))
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.triggered.connect(act)  # type: ignore[arg-type]
        self.table.addAction(action)
        return action

    def _connect(self) -> None:
        self.search.textChanged.connect(self._shown.set_words)
        self.groups.chosen.connect(lambda key: self._shown.set_states(_GROUPS[key]))
        self.train.clicked.connect(self.train_wanted)
        self.first.clicked.connect(self.train_wanted)
        self.table.doubleClicked.connect(self._open)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._show_menu)
        for model in (self._model, self._shown):
            model.rowsInserted.connect(self._on_rows)
            model.rowsRemoved.connect(self._on_rows)
        self._shown.layoutChanged.connect(self._on_rows)
        self._model.dataChanged.connect(self._on_data)
        selection = self.table.selectionModel()
        if selection is not None:
            selection.selectionChanged.connect(self._on_selection)

    def _on_rows(self) -> None:
        total, shown = self._model.rowCount(), self._shown.rowCount()
        self._count.setText(
            plural(total, "run") if shown == total else f"{shown} of {plural(total, 'run')}"
        )
        self._stack.setCurrentIndex(0 if total else 1)
        self._on_selection()

    def _on_data(self, first: QModelIndex, last: QModelIndex) -> None:
        if first.column() == 0:
            self._on_selection()

    def _on_selection(self) -> None:
        runs = self.selected
        live = [run for run in runs if not run.state.is_final]
        ended = [run for run in runs if run.state.is_final]
        self.open_action.setEnabled(bool(runs))
        self.copy_action.setEnabled(len(runs) == 1)
        self.tag_action.setEnabled(bool(runs))
        self.stop_action.setEnabled(bool(live))
        self.delete_action.setEnabled(bool(ended))
        self.open_action.setText(self.tr("Compare") if len(runs) > 1 else self.tr("Open"))
        self._selection.setText(
            plural(len(runs), "run") + " selected" if runs else "Double-click a run to watch it"
        )
        for action in (
            self.open_action,
            self.copy_action,
            self.tag_action,
            self.delete_action,
            self.stop_action,
        ):
            made = self.bar_buttons[action.objectName()]
            made.setEnabled(action.isEnabled())
            made.setText(action.text())

    def _open(self) -> None:
        if runs := self.selected:
            self.open_wanted.emit([run.run_id for run in runs])

    def _copy(self) -> None:
        if len(runs := self.selected) == 1:
            self.copy_wanted.emit(runs[0].run_id)

    def _stop(self) -> None:
        live = [run.run_id for run in self.selected if not run.state.is_final]
        if live:
            self.stop_wanted.emit(live)

    def _delete(self) -> None:
        ended = [run.run_id for run in self.selected if run.state.is_final]
        if ended:
            self.delete_wanted.emit(ended)

    def _tag(self) -> None:
        run_ids = [run.run_id for run in self.selected]
        if not run_ids:
            return
        popup = TagPopup(self)
        popup.tags_given.connect(lambda tags: self.tags_wanted.emit(run_ids, tags))
        anchor = self.bar_buttons["tag"]
        popup.show_at(anchor.mapToGlobal(QPoint(0, anchor.height() + 4)))

    def _show_menu(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([self.open_action, self.copy_action, self.tag_action])
        menu.addSeparator()
        menu.addActions([self.stop_action, self.delete_action])
        menu.popup(self.table.viewport().mapToGlobal(place))  # type: ignore[union-attr]

    def _choose_columns(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for column in Column:
            title = str(self._model.headerData(column, Qt.Orientation.Horizontal))
            action = menu.addAction(title)
            if action is None or column in (Column.STATE, Column.RUN):
                continue
            action.setCheckable(True)
            action.setChecked(not self.table.isColumnHidden(column))
            action.toggled.connect(
                lambda on, column=column: self.table.setColumnHidden(column, not on)
            )
        menu.popup(self.table.horizontalHeader().mapToGlobal(place))  # type: ignore[union-attr]
