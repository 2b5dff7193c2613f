"""The page of runs: find, open, compare, stop, tag and delete runs."""

from PyQt6.QtCore import QModelIndex, QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QHideEvent, QShowEvent
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QMenu, QStackedWidget, QVBoxLayout, QWidget

from mosaic_contracts.group_words import FAILED_STATES
from mosaic_contracts.runs import RunView
from mosaic_contracts.search_completion import SearchVocabulary
from mosaic_contracts.states import RunState
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.state.run_views import ListArrangement
from mosaic_gui.state.search_vocabulary import NEWEST, vocabulary_of
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.list_views import ListViewsModel
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_list_columns import ENVIRONMENT_AND_ALGORITHM
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.viewmodels.trash import TrashModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.empty_runs import NoMatchPanel, NoRunsPanel, ReadingPanel
from mosaic_gui.views.list_view_menu import ListViewMenu
from mosaic_gui.views.run_commands import RunCommands
from mosaic_gui.views.run_list import RunListView
from mosaic_gui.views.run_search import RunSearchBox
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.selection_bar import SelectionBar
from mosaic_gui.views.text import button, frame, label
from mosaic_gui.views.trash_panel import TrashPanel

_LIVE = frozenset(state for state in RunState if not state.is_final)
_FAILED = frozenset(FAILED_STATES)
_GROUPS = {
    "all": frozenset(RunState),
    "live": _LIVE,
    "done": frozenset(RunState) - _LIVE - _FAILED,
    "failed": _FAILED,
}


class RunsPage(QWidget):
    """The page. Its signals are what the user wants."""

    tensorboard_wanted = pyqtSignal(list)
    """Ids of runs."""
    train_wanted = pyqtSignal()
    undo_wanted = pyqtSignal()
    """The user wants to undo the last deletion."""
    rename_wanted = pyqtSignal(str, str)
    """Run id and new name."""
    metrics_wanted = pyqtSignal()
    """The names of all metrics are needed."""

    def __init__(
        self, model: RunListModel, watch: WatchModel, trash: TrashModel, views: ListViewsModel
    ) -> None:
        """`watch` knows where runs can be looked at outside the window."""
        super().__init__()
        self.watch = watch
        watch.links_changed.connect(self.refresh_links)
        self.setObjectName("page.runs")
        self._model, self._views = model, views
        self.table = RunListView(model)
        self._count = label("", "muted")
        self.search = RunSearchBox(model.set_search, self._vocabulary)
        self.groups = Segments(
            {
                "all": tr("All"),
                "live": tr("Live"),
                "done": tr("Done"),
                "failed": tr("Failed"),
            },
            "runs.groups",
        )
        self.view_menu = ListViewMenu(self, self.table, model, views, self.arrangement)
        self.view_menu.metrics_wanted.connect(self.metrics_wanted)
        self.view_menu.arrangement_wanted.connect(self.arrange)
        self.grouping = button("", "toggle", "runs.grouping")
        self.grouping.setIcon(icon("group", "muted", "accent"))
        self.grouping.setCheckable(True)
        self.grouping.setAccessibleName(tr("Group"))
        self.grouping.setToolTip(tr("Group by environment and algorithm (Ctrl+G)"))
        named_shortcut(self, "Ctrl+G", tr("Group"), self.grouping.toggle)
        self.grouping.toggled.connect(self._on_grouping)
        self._is_arranging = False
        self._parameters_known = 0
        self.commands = RunCommands(self, self.table, model)
        self.bar = SelectionBar(self.commands)
        self.undo = named_shortcut(self, "Ctrl+Z", tr("Undo the deletion"), self.undo_wanted.emit)
        self.undo.setEnabled(False)
        self._stack = QStackedWidget()
        self.trash = TrashPanel(trash)
        self.trash_button = button("", "toggle", "runs.trash")
        self.trash_button.setIcon(icon("trash", "muted", "accent"))
        self.trash_button.setCheckable(True)
        self.trash_button.setAccessibleName(tr("Trash"))
        self.trash_button.setToolTip(tr("Deleted runs, to restore them (Ctrl+Shift+Del)"))
        named_shortcut(self, "Ctrl+Shift+Del", tr("Trash"), self.trash_button.toggle)
        self._is_read = True
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(self._top())
        layout.addWidget(self.search.fault)
        layout.addWidget(self._stack, 1)
        self._rows, self._none = self._filled(), NoRunsPanel()
        self.unmatched, self._unread = NoMatchPanel(), ReadingPanel()
        for part in (self._none, self.unmatched, self._unread, self.trash):
            self._stack.addWidget(part)
        self._connect()
        self._on_rows()

    @property
    def selected(self) -> list[RunView]:
        """Runs that are selected, from top to bottom; a head is all of its runs."""
        return self.commands.selected

    def arrangement(self) -> ListArrangement:
        """How the list is shown."""
        header, model = self.table.pinned_header, self._model
        return ListArrangement(
            columns=self.table.columns(),
            sort=model.column_keys()[header.sortIndicatorSection()],
            descending=header.sortIndicatorOrder() is Qt.SortOrder.DescendingOrder,
            search=self.search.text(),
            states=self.groups.key,
            grouped_by=model.grouped_by,
            flat=model.is_flat,
        )

    def arrange(self, wanted: ListArrangement) -> None:
        """Show the list as it was arranged once."""
        self._is_arranging = True
        self.table.arrange(wanted.columns)
        keys = self._model.column_keys()
        column = keys.index(wanted.sort) if wanted.sort in keys else int(Column.CREATED)
        orders = Qt.SortOrder
        order = orders.DescendingOrder if wanted.descending else orders.AscendingOrder
        self.table.sortByColumn(column, order)
        self.search.setText(wanted.search)
        states = wanted.states if wanted.states in _GROUPS else "all"
        self.groups.choose(states)
        self._model.set_states(_GROUPS[states])
        self.table.regroup(wanted.grouped_by, is_flat=wanted.flat)
        self.grouping.setChecked(bool(wanted.grouped_by))
        self._is_arranging = False
        self._on_arranged()

    def _on_arranged(self) -> None:
        if not self._is_arranging:
            self._views.keep_last(self.arrangement())

    def _on_grouping(self, is_on: bool) -> None:
        if not self._is_arranging and is_on is not bool(self._model.grouped_by):
            self.table.regroup(ENVIRONMENT_AND_ALGORITHM if is_on else "")
            self._on_arranged()

    def _vocabulary(self) -> SearchVocabulary:
        self.metrics_wanted.emit()
        return vocabulary_of(self._model.newest(NEWEST), self.view_menu.metrics)

    @property
    def shows_trash(self) -> bool:
        """Whether the trash is shown instead of the list."""
        return self.trash_button.isChecked()

    def show_trash(self, shown: bool) -> None:
        """Show the trash or the list, and give it the focus."""
        self.trash_button.setChecked(shown)
        self._title.setText(tr("Trash") if shown else tr("Runs"))
        self._give_keys()
        self._on_rows()
        if not shown:
            self.table.setFocus()

    def _give_keys(self) -> None:
        for action in self.commands.all:
            self.removeAction(action)
        if self.isVisible() and not self.shows_trash:
            self.addActions(self.commands.all)

    def set_read(self, is_read: bool) -> None:
        """Note whether the stack's list was read; before that the page does not say that it is empty."""
        if is_read is not self._is_read:
            self._is_read = is_read
            self._on_rows()

    def select_run(self, run_id: str) -> None:
        """Select one run and bring it into sight."""
        self.table.select_run(run_id)

    def _top(self) -> QHBoxLayout:
        self.train = button(tr("Train new"), "primary", "runs.train")
        self.train.setIcon(icon("train", "on_accent"))
        row = QHBoxLayout()
        row.setSpacing(10)
        self._title = label(tr("Runs"), "title")
        row.addWidget(self._title)
        row.addWidget(self._count)
        row.addStretch(1)
        row.addWidget(self.search, 4)
        row.addWidget(self.groups)
        row.addWidget(self.view_menu.button)
        row.addWidget(self.grouping)
        row.addWidget(self.trash_button)
        row.addWidget(self.train)
        return row

    def _filled(self) -> QFrame:
        panel = frame("panel")
        self._stack.addWidget(panel)
        layout = QVBoxLayout(panel)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addWidget(self.bar)
        layout.addWidget(self.table, 1)
        return panel

    def show_trials(self, sweep: str) -> None:
        """List the runs of a sweep's trials alone; empty: all runs but those."""
        self._model.show_trials(sweep)
        self.bar.back_from_trials.setVisible(bool(sweep))
        self._on_rows()
        if not sweep:
            self.table.setFocus()

    def _show_all(self) -> None:
        self.show_trials("")
        self.search.clear()
        self.groups.choose("all")
        self.table.setFocus()

    def showEvent(self, event: QShowEvent | None) -> None:
        """Enable the keys of the page while it is visible."""
        super().showEvent(event)
        self._give_keys()

    def hideEvent(self, event: QHideEvent | None) -> None:
        """Disable the keys of a hidden page, which Qt would still handle."""
        super().hideEvent(event)
        self._give_keys()

    def _connect(self) -> None:
        self.search.searched.connect(lambda _text: self._on_arranged())
        self.groups.chosen.connect(self._on_states)
        self.table.arranged.connect(self._on_arranged)
        self.table.copy_wanted.connect(self.commands.copy_ids)
        self.table.rename_wanted.connect(self.rename_wanted)
        self.table.tag_removal_wanted.connect(
            lambda run_id, tag: self.commands.tag_removal_wanted.emit([run_id], tag)
        )
        self.commands.train_wanted.connect(self.train_wanted)
        self.commands.columns_wanted.connect(self.view_menu.choose_columns)
        self.commands.trials_wanted.connect(self.show_trials)
        self.bar.back_from_trials.clicked.connect(lambda: self.show_trials(""))
        self.bar.tensorboard.clicked.connect(self._open_tensorboard)
        self.unmatched.show_all.clicked.connect(self._show_all)
        self.trash_button.toggled.connect(self.show_trash)
        self.trash.closed.connect(lambda: self.show_trash(False))
        self.train.clicked.connect(self.train_wanted)
        self._none.first.clicked.connect(self.train_wanted)
        self.table.activated_by_click.connect(self.commands.open)
        self.table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.table.customContextMenuRequested.connect(self._show_menu)
        self._model.rows_changed.connect(self._on_rows)
        self._model.dataChanged.connect(self._on_data)
        self.table.chosen_changed.connect(self._on_selection)

    def _on_states(self, key: str) -> None:
        self._model.set_states(_GROUPS[key])
        self._on_arranged()

    def _on_rows(self) -> None:
        total, shown = self._model.total, self._model.number_shown
        sweeps = self._model.sweeps
        if sweeps and self._model.run_of(sweeps[0]) is None:
            self.show_trials("")  # the sweep was deleted
            return
        self._count.setText(
            tr_n("{n} run", "{n} runs", total)
            if shown == total
            else tr_n("{shown} of {n} run", "{shown} of {n} runs", total, shown=shown)
        )
        has_runs = self._model.has_runs
        without = self.unmatched if has_runs else self._none if self._is_read else self._unread
        is_list = not self.shows_trash
        self._stack.setCurrentWidget((self._rows if shown else without) if is_list else self.trash)
        # without a run there is one thing to do, and it is in the middle
        if (known := len(self._model.known_parameters)) != self._parameters_known:
            self._parameters_known = known
            self.search.apply_again()
        bar = (self._count, self.search, self.groups, self.view_menu.button, self.grouping)
        for part in (*bar, self.train):
            part.setVisible(has_runs and is_list)
        self._on_selection()

    def _on_data(self, first: QModelIndex, last: QModelIndex) -> None:
        if first.column() == 0:
            self._on_selection()

    def _on_selection(self) -> None:
        runs = self.selected
        self.commands.refresh(is_local=self.watch.files.root is not None)
        self.bar.refresh(len(runs), self._idle_words)
        self.refresh_links()

    @property
    def _idle_words(self) -> str:
        sweeps = self._model.sweeps
        run = self._model.run_of(sweeps[0]) if sweeps else None
        if run is None:
            return tr("Double-click a run to watch it")
        return tr("Trials of {sweep}", sweep=run.spec.name or run.name)

    def refresh_links(self) -> None:
        """Where the selected runs can be looked at outside the window, or why not."""
        self.bar.show_link(self.watch.tensorboard_of(self.commands.selected_ids))

    def _open_tensorboard(self) -> None:
        self.tensorboard_wanted.emit(self.commands.selected_ids)

    def _show_menu(self, place: QPoint) -> None:
        """Open the menu of the selected runs; on the empty part of the list, what concerns the list."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in self.commands.menu_actions(self.table.rowAt(place.y()) >= 0):
            if action is None:
                menu.addSeparator()
            else:
                menu.addAction(action)
        viewport = self.table.viewport()
        if viewport is not None:
            menu.popup(viewport.mapToGlobal(place))
