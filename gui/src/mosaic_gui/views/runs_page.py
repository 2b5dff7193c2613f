"""The page of runs: find, open, compare, stop, tag and delete runs."""

from PyQt6.QtCore import QModelIndex, QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QAction, QGuiApplication, QHideEvent, QKeySequence, QShowEvent
from PyQt6.QtWidgets import QFrame, QHBoxLayout, QMenu, QStackedWidget, QVBoxLayout, QWidget

from mosaic_contracts.choices import RunKind
from mosaic_contracts.group_words import FAILED_STATES
from mosaic_contracts.run_command import run_command
from mosaic_contracts.run_names import given_name
from mosaic_contracts.runs import RunView
from mosaic_contracts.search_completion import SearchVocabulary
from mosaic_contracts.states import RunState
from mosaic_gui.state.language import program_name, tr, tr_n
from mosaic_gui.state.run_heads import RunHead
from mosaic_gui.state.run_row import command_spec
from mosaic_gui.state.run_views import ListArrangement
from mosaic_gui.state.search_vocabulary import NEWEST, vocabulary_of
from mosaic_gui.theme.icon import icon
from mosaic_gui.viewmodels.list_views import ListViewsModel
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_list_columns import ENVIRONMENT_AND_ALGORITHM
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.viewmodels.trash import TrashModel
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.chosen_keys import bind_action, tip_of_action
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.external_links import show_tensorboard
from mosaic_gui.views.list_view_menu import ListViewMenu
from mosaic_gui.views.note_popup import NotePopup
from mosaic_gui.views.run_list import RunListView
from mosaic_gui.views.run_search import RunSearchBox
from mosaic_gui.views.segments import Segments
from mosaic_gui.views.tag_popup import TagPopup
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
    open_wanted = pyqtSignal(list)
    """Run ids: the first is watched, the others are laid over it."""
    stop_wanted = pyqtSignal(list)
    delete_wanted = pyqtSignal(list)
    tags_wanted = pyqtSignal(list, list)
    """Run ids, and the tags that each of them is to have in addition."""
    note_wanted = pyqtSignal(str, str)
    """Run id, and the whole new note."""
    copy_wanted = pyqtSignal(str)
    replay_wanted = pyqtSignal(str)
    """Run id whose episodes are to be replayed."""
    compare_wanted = pyqtSignal(list)
    """Run ids whose policies or trainings are to be compared."""
    archive_wanted = pyqtSignal(list)
    """Ids of runs that are to become a file."""
    report_wanted = pyqtSignal(list)
    """Ids of runs of a report."""
    train_wanted = pyqtSignal()
    undo_wanted = pyqtSignal()
    """The user wants to undo the last deletion."""
    tag_removal_wanted = pyqtSignal(list, str)
    """Run ids, and a tag that each of them is to lose."""
    rename_wanted = pyqtSignal(str, str)
    """Run id and new name."""
    retry_wanted = pyqtSignal(list)
    """Run ids that are to be started once more."""
    pin_wanted = pyqtSignal(list, bool)
    """Run ids, and whether all of their files are kept."""
    differences_wanted = pyqtSignal(list)
    """Run ids whose differences are to be shown."""
    folder_wanted = pyqtSignal(str)
    """Run id whose folder is to be opened."""
    groups_stop_wanted = pyqtSignal(list)
    """Ids of groups."""
    groups_retry_wanted = pyqtSignal(list)
    """Ids of groups whose failed runs are to be started once more."""
    groups_delete_wanted = pyqtSignal(list)
    """Ids of groups."""
    metrics_wanted = pyqtSignal()
    """The names of all metrics are needed."""
    said = pyqtSignal(str)
    """A notice."""

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
        self._commands: list[QAction] = []
        self._make_actions()
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
        self._rows, self._none = self._filled(), self._empty()
        self._unmatched, self._unread = self._none_found(), self._reading()
        for part in (self._rows, self._none, self._unmatched, self._unread, self.trash):
            self._stack.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addLayout(self._top())
        layout.addWidget(self.search.fault)
        layout.addWidget(self._stack, 1)
        self._connect()
        self._on_rows()

    @property
    def selected(self) -> list[RunView]:
        """Runs that are selected, from top to bottom; a head is all of its runs."""
        found = (self._model.run_of(run_id) for run_id in self.table.selected_ids())
        return [run for run in found if run is not None]

    @property
    def selected_groups(self) -> list[RunHead]:
        """Groups that are selected as a whole."""
        return [head for head in self.table.selected_heads() if head.is_group]

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
        for action in self._commands:
            self.removeAction(action)
        if self.isVisible() and not self.shows_trash:
            self.addActions(self._commands)

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
        layout = QVBoxLayout(panel)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.setSpacing(0)
        layout.addWidget(self._make_bar())
        layout.addWidget(self.table, 1)
        return panel

    def _make_bar(self) -> QWidget:
        """Make the bar of actions on the selection; it keeps its space while it is empty."""
        bar = QWidget()
        row = QHBoxLayout(bar)
        row.setContentsMargins(10, 6, 10, 6)
        row.setSpacing(6)
        self._selection = label("", "small")
        self.back_from_trials = button(tr("All runs"), "quiet", "runs.back_from_trials")
        self.back_from_trials.setIcon(icon("arrow_left", "muted"))
        self.back_from_trials.clicked.connect(lambda: self.show_trials(""))
        self.back_from_trials.hide()
        row.addWidget(self.back_from_trials)
        row.addWidget(self._selection)
        row.addStretch(1)
        self.bar_buttons = {}
        self.tensorboard = button(tr("TensorBoard"), "quiet", "runs.tensorboard")
        self.tensorboard.clicked.connect(self._open_tensorboard)
        row.addWidget(self.tensorboard)
        for action, kind in (
            (self.open_action, "quiet"),
            (self.copy_action, "quiet"),
            (self.tag_action, "quiet"),
            (self.note_action, "quiet"),
            (self.delete_action, "quiet"),
            (self.stop_action, "stop"),
        ):
            made = button(action.text(), kind, f"runs.{action.objectName()}")
            tip_of_action(made, action)
            made.clicked.connect(action.trigger)
            self.bar_buttons[action.objectName()] = made
            row.addWidget(made)
        return bar

    def _empty(self) -> QFrame:
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        layout.addStretch(2)
        self._hero = label(tr("Nothing has run here yet"), "hero")
        self._hint = label(
            tr("Train an agent: choose an algorithm, keep its defaults, press Launch."),
            "muted",
        )
        self.first = button(tr("Train your first agent"), "primary", "runs.first")
        for part in (self._hero, self._hint):
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addSpacing(10)
        layout.addWidget(self.first, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _none_found(self) -> QFrame:
        """Show that nothing matches, with a button that resets search and filter."""
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        layout.addStretch(2)
        words = label(tr("No match"), "heading")
        self.show_all = button(tr("Show all runs"), "", "runs.show_all")
        self.show_all.clicked.connect(self._show_all)
        texts = label(tr("A word is looked for in names, notes, tags and ids."), "muted")
        values = label(
            tr("since:7d, lr>=1e-3, best>400 and state:failed find runs by value."), "muted"
        )
        for part in (words, texts, values, self.show_all):
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def _reading(self) -> QFrame:
        panel = frame("panel")
        layout = QVBoxLayout(panel)
        layout.addStretch(2)
        words = label(tr("Reading the runs …"), "muted")
        layout.addWidget(words, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)
        return panel

    def show_trials(self, sweep: str) -> None:
        """List the runs of a sweep's trials alone; empty: all runs but those."""
        self._model.show_trials(sweep)
        self.back_from_trials.setVisible(bool(sweep))
        self._on_rows()
        if not sweep:
            self.table.setFocus()

    def _show_all(self) -> None:
        self.show_trials("")
        self.search.clear()
        self.groups.choose("all")
        self.table.setFocus()

    def _make_actions(self) -> None:
        self.open_action = self._action("open", tr("Open"), "Return", self._open)
        self.open_action.setShortcuts([QKeySequence("Return"), QKeySequence("Enter")])
        self.replay_action = self._action("replay", tr("Replay"), "Ctrl+R", self._replay)
        self.copy_action = self._action("copy", tr("Clone and edit"), "Ctrl+D", self._copy)
        self.retry_action = self._action("retry", tr("Retry"), "Ctrl+Shift+Y", self._retry)
        self.compare_action = self._action(
            "compare_returns", tr("Compare returns"), "Ctrl+Shift+C", self._compare
        )
        self.differences_action = self._action(
            "differences", tr("Show differences"), "Ctrl+Shift+D", self._show_differences
        )
        self.trials_action = self._action(
            "trials", tr("Runs of its trials"), "Ctrl+Shift+T", self._show_trials
        )
        self.rename_action = self._action("rename", tr("Rename"), "F2", self._rename)
        self.tag_action = self._action("tag", tr("Tags"), "Ctrl+T", self._tag)
        self.note_action = self._action("note", tr("Note"), "Ctrl+E", self._note)
        self.report_action = self._action("report", tr("Report …"), "Ctrl+Shift+R", self._report)
        self.archive_action = self._action(
            "archive", tr("Archive …"), "Ctrl+Shift+A", self._archive
        )
        self.delete_action = self._action("delete", tr("Delete"), "Del", self._delete)
        self.stop_action = self._action("stop", tr("Stop"), "Ctrl+.", self._stop)
        self.pin_action = self._action("pin", tr("Keep its files"), "Ctrl+Shift+P", self._pin)
        self.pin_action.setCheckable(True)
        self.copy_id_action = self._action("copy_id", tr("Copy id"), "", self._copy_ids)
        self.copy_command_action = self._action(
            "copy_command", tr("Copy as a command"), "", self._copy_commands
        )
        self.copy_link_action = self._action(
            "copy_link", tr("Copy a command that opens it here"), "", self._copy_link
        )
        self.folder_action = self._action("folder", tr("Open folder"), "", self._open_folder)
        self.train_action = QAction(tr("Train new"), self)
        self.train_action.triggered.connect(self.train_wanted)
        self.columns_action = self._action(
            "columns", tr("Columns …"), "Ctrl+Shift+K", self.view_menu.choose_columns
        )

    def _action(self, name: str, text: str, shortcut: str, act: object) -> QAction:
        action = QAction(text, self)
        action.setObjectName(name)
        action.setShortcut(QKeySequence(shortcut))
        if shortcut:
            action.setToolTip(f"{text} ({action.shortcut().toString()})")
        if shortcut and name != "open":  # Return opens in every list
            bind_action(action, f"runs.{name}")
        action.triggered.connect(act)  # type: ignore[arg-type]
        self._commands.append(action)
        return action

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
        self.table.copy_wanted.connect(self._copy_ids)
        self.table.rename_wanted.connect(self.rename_wanted)
        self.table.tag_removal_wanted.connect(
            lambda run_id, tag: self.tag_removal_wanted.emit([run_id], tag)
        )
        self.trash_button.toggled.connect(self.show_trash)
        self.trash.closed.connect(lambda: self.show_trash(False))
        self.train.clicked.connect(self.train_wanted)
        self.first.clicked.connect(self.train_wanted)
        self.table.activated_by_click.connect(self._open)
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
        without = self._unmatched if has_runs else self._none if self._is_read else self._unread
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
        live = [run for run in runs if not run.state.is_final]
        ended = [run for run in runs if run.state.is_final]
        heads = self.selected_groups
        self.open_action.setEnabled(bool(runs))
        is_sweep = len(runs) == 1 and runs[0].spec.kind is RunKind.SWEEP
        self.trials_action.setEnabled(is_sweep)
        self.copy_action.setEnabled(len(runs) == 1 and not is_sweep)
        self._set_group_actions(runs, heads)
        for action in (self.copy_id_action, self.copy_command_action):
            action.setEnabled(bool(runs))
        self.rename_action.setEnabled(len(runs) == 1)
        self.copy_link_action.setEnabled(len(runs) == 1)
        self.folder_action.setEnabled(len(runs) == 1 and self.watch.files.root is not None)
        self.differences_action.setEnabled(len(runs) > 1)
        self.pin_action.setEnabled(bool(ended))
        self.pin_action.setChecked(bool(ended) and all(run.pinned for run in ended))
        self.replay_action.setEnabled(len(runs) == 1)
        self.compare_action.setEnabled(bool(runs))
        self.tag_action.setEnabled(bool(runs))
        self.note_action.setEnabled(len(runs) == 1)
        self.report_action.setEnabled(bool(runs))
        self.archive_action.setEnabled(bool(ended))
        self.stop_action.setEnabled(bool(live))
        self.delete_action.setEnabled(bool(ended))
        self.open_action.setText(tr("Compare") if len(runs) > 1 else tr("Open"))
        self._selection.setText(
            tr_n("{n} run selected", "{n} runs selected", len(runs)) if runs else self._idle_words
        )
        for action in (
            self.open_action,
            self.copy_action,
            self.tag_action,
            self.note_action,
            self.delete_action,
            self.stop_action,
        ):
            made = self.bar_buttons[action.objectName()]
            made.setEnabled(action.isEnabled())
            made.setText(action.text())
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
        show_tensorboard(self.tensorboard, self.watch.tensorboard_of(self._selected_ids))

    @property
    def _selected_ids(self) -> list[str]:
        return [run.run_id for run in self.selected]

    def _open_tensorboard(self) -> None:
        self.tensorboard_wanted.emit(self._selected_ids)

    def _open(self) -> None:
        if runs := self.selected:
            self.open_wanted.emit([run.run_id for run in runs])

    def _replay(self) -> None:
        if len(runs := self.selected) == 1:
            self.replay_wanted.emit(runs[0].run_id)

    def _show_trials(self) -> None:
        if len(runs := self.selected) == 1:
            self.show_trials(runs[0].run_id)

    def _copy(self) -> None:
        if len(runs := self.selected) == 1:
            self.copy_wanted.emit(runs[0].run_id)

    def _set_group_actions(self, runs: list[RunView], heads: list[RunHead]) -> None:
        """Say what Retry does: a group starts what failed, runs start once more."""
        if heads:
            failed = sum(self._model.progress(head).failed for head in heads)
            self.retry_action.setText(tr("Retry what failed"))
            self.retry_action.setEnabled(failed > 0)
        else:
            self.retry_action.setText(tr("Retry"))
            can_retry = runs and all(run.state.is_final for run in runs)
            self.retry_action.setEnabled(
                bool(can_retry) and all(run.spec.kind is not RunKind.IMPORT for run in runs)
            )

    @property
    def _lone(self) -> list[RunView]:
        """Selected runs that are not selected by their group."""
        of_groups = {run_id for head in self.selected_groups for run_id in head.members}
        return [run for run in self.selected if run.run_id not in of_groups]

    def _retry(self) -> None:
        if heads := self.selected_groups:
            self.groups_retry_wanted.emit([head.group_id for head in heads])
        elif runs := self.selected:
            self.retry_wanted.emit([run.run_id for run in runs])

    def _stop(self) -> None:
        groups = [head.group_id for head in self.selected_groups if self._model.progress(head).live]
        live = [run.run_id for run in self._lone if not run.state.is_final]
        if groups:
            self.groups_stop_wanted.emit(groups)
        if live:
            self.stop_wanted.emit(live)

    def _delete(self) -> None:
        groups = [
            head.group_id
            for head in self.selected_groups
            if all(run.state.is_final for run in self._model.runs_of_group(head.group_id))
        ]
        ended = [run.run_id for run in self._lone if run.state.is_final]
        if groups:
            self.groups_delete_wanted.emit(groups)
        if ended:
            self.delete_wanted.emit(ended)

    def _rename(self) -> None:
        if len(runs := self.selected) == 1:
            name = given_name(runs[0]) or self._model.title(runs[0])
            self.table.rename(runs[0].run_id, name)

    def _pin(self) -> None:
        ended = [run for run in self.selected if run.state.is_final]
        if ended:
            is_pinned = all(run.pinned for run in ended)
            self.pin_wanted.emit([run.run_id for run in ended], not is_pinned)

    def _show_differences(self) -> None:
        self.differences_wanted.emit(self._selected_ids)

    def _copy_ids(self) -> None:
        self._put("\n".join(self._selected_ids), tr("Id copied."))

    def _copy_commands(self) -> None:
        lines = [
            run_command(command_spec(run.spec), program=program_name()) for run in self.selected
        ]
        self._put("\n".join(lines), tr("Command copied."))

    def _copy_link(self) -> None:
        if len(runs := self.selected) == 1:
            self._put(f"{program_name()} gui --run {runs[0].run_id}", tr("Command copied."))

    def _put(self, text: str, notice: str) -> None:
        clipboard = QGuiApplication.clipboard()
        if text and clipboard is not None:
            clipboard.setText(text)
            self.said.emit(notice)

    def _open_folder(self) -> None:
        if len(runs := self.selected) == 1:
            self.folder_wanted.emit(runs[0].run_id)

    def _tag(self) -> None:
        runs = self.selected
        if not runs:
            return
        run_ids = [run.run_id for run in runs]
        tags = list(dict.fromkeys(tag for run in runs for tag in run.tags))
        popup = TagPopup(self, tags)
        popup.given.connect(lambda words: self._add_tags(run_ids, words))
        popup.removed.connect(lambda tag: self.tag_removal_wanted.emit(run_ids, tag))
        anchor = self.bar_buttons["tag"]
        popup.show_at(anchor.mapToGlobal(QPoint(0, anchor.height() + 4)))

    def _add_tags(self, run_ids: list[str], words: str) -> None:
        if tags := [tag.strip() for tag in words.split(",") if tag.strip()]:
            self.tags_wanted.emit(run_ids, tags)

    def _note(self) -> None:
        if len(runs := self.selected) != 1:
            return
        run_id = runs[0].run_id
        popup = NotePopup(self, runs[0].note)
        popup.given.connect(lambda words: self.note_wanted.emit(run_id, words))
        anchor = self.bar_buttons["note"]
        popup.show_at(anchor.mapToGlobal(QPoint(0, anchor.height() + 4)))

    def _compare(self) -> None:
        self.compare_wanted.emit([run.run_id for run in self.selected])

    def _archive(self) -> None:
        self.archive_wanted.emit(self._selected_ids)

    def _report(self) -> None:
        self.report_wanted.emit(self._selected_ids)

    def _show_menu(self, place: QPoint) -> None:
        """Open the menu of the selected runs; on the empty part of the list, what concerns the list."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for action in self.menu_actions(self.table.rowAt(place.y()) >= 0):
            if action is None:
                menu.addSeparator()
            else:
                menu.addAction(action)
        viewport = self.table.viewport()
        if viewport is not None:
            menu.popup(viewport.mapToGlobal(place))

    def menu_actions(self, is_on_row: bool) -> list[QAction | None]:
        """What a menu offers: only what can be done now. None: a line between."""
        if not is_on_row or not self.selected:
            return [self.columns_action, self.train_action]
        blocks = (
            (self.open_action, self.compare_action, self.differences_action, self.replay_action),
            (self.trials_action, self.copy_action, self.retry_action),
            (self.rename_action, self.tag_action, self.note_action, self.pin_action),
            (self.copy_id_action, self.copy_command_action, self.copy_link_action),
            (self.folder_action, self.report_action, self.archive_action),
            (self.stop_action, self.delete_action),
        )
        found: list[QAction | None] = []
        for block in blocks:
            enabled = [action for action in block if action.isEnabled()]
            if enabled and found:
                found.append(None)
            found += enabled
        return found
