"""Commands on the selected runs: their keys, whether each can be given now, and what the user wants by it."""

from PyQt6.QtCore import QObject, QPoint, pyqtSignal
from PyQt6.QtGui import QAction, QGuiApplication, QKeySequence
from PyQt6.QtWidgets import QWidget

from mosaic_contracts.choices import RunKind
from mosaic_contracts.run_command import run_command
from mosaic_contracts.run_names import given_name
from mosaic_contracts.runs import RunView
from mosaic_gui.state.language import program_name, tr
from mosaic_gui.state.run_heads import RunHead
from mosaic_gui.state.run_row import command_spec
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.views.chosen_keys import bind_action
from mosaic_gui.views.note_popup import NotePopup
from mosaic_gui.views.run_list import RunListView
from mosaic_gui.views.tag_popup import TagPopup


class RunCommands(QObject):
    """Commands of the page of runs. It sends no requests: its signals are what the user wants."""

    open_wanted = pyqtSignal(list)
    """Run ids: the first is watched, the others are laid over it."""
    stop_wanted = pyqtSignal(list)
    """Run ids."""
    delete_wanted = pyqtSignal(list)
    """Run ids."""
    tags_wanted = pyqtSignal(list, list)
    """Run ids, and the tags that each of them is to have in addition."""
    tag_removal_wanted = pyqtSignal(list, str)
    """Run ids, and a tag that each of them is to lose."""
    note_wanted = pyqtSignal(str, str)
    """Run id, and the whole new note."""
    copy_wanted = pyqtSignal(str)
    """Run id whose specification is to be edited."""
    replay_wanted = pyqtSignal(str)
    """Run id whose episodes are to be replayed."""
    compare_wanted = pyqtSignal(list)
    """Run ids whose policies or trainings are to be compared."""
    archive_wanted = pyqtSignal(list)
    """Ids of runs that are to become a file."""
    report_wanted = pyqtSignal(list)
    """Ids of runs of a report."""
    retry_wanted = pyqtSignal(list)
    """Run ids that are to be started once more."""
    pin_wanted = pyqtSignal(list, bool)
    """Run ids, and whether all of their files are kept."""
    differences_wanted = pyqtSignal(list)
    """Run ids whose differences are to be shown."""
    trials_wanted = pyqtSignal(str)
    """Run id of a sweep whose trials are to be listed."""
    folder_wanted = pyqtSignal(str)
    """Run id whose folder is to be opened."""
    groups_stop_wanted = pyqtSignal(list)
    """Ids of groups."""
    groups_retry_wanted = pyqtSignal(list)
    """Ids of groups whose failed runs are to be started once more."""
    groups_delete_wanted = pyqtSignal(list)
    """Ids of groups."""
    train_wanted = pyqtSignal()
    columns_wanted = pyqtSignal()
    """Other columns are to be chosen."""
    said = pyqtSignal(str)
    """A notice."""

    def __init__(self, page: QWidget, table: RunListView, model: RunListModel) -> None:
        super().__init__(page)
        self._page, self._table, self._model = page, table, model
        self.anchors: dict[str, QWidget] = {}
        """Buttons below which popups open, by the name of their command."""
        self.all: list[QAction] = []
        """Actions that have keys or a place in the menu."""
        self._make_actions()

    @property
    def selected(self) -> list[RunView]:
        """Runs that are selected, from top to bottom; a head is all of its runs."""
        found = (self._model.run_of(run_id) for run_id in self._table.selected_ids())
        return [run for run in found if run is not None]

    @property
    def selected_groups(self) -> list[RunHead]:
        """Groups that are selected as a whole."""
        return [head for head in self._table.selected_heads() if head.is_group]

    @property
    def selected_ids(self) -> list[str]:
        """Ids of the runs that are selected."""
        return [run.run_id for run in self.selected]

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

    def refresh(self, *, is_local: bool) -> None:
        """Enable what can be done with the selection.

        Args:
            is_local: whether the folders of runs are on this machine.
        """
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
        self.folder_action.setEnabled(len(runs) == 1 and is_local)
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

    def _make_actions(self) -> None:
        self.open_action = self._action("open", tr("Open"), "Return", self.open)
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
        self.copy_id_action = self._action("copy_id", tr("Copy id"), "", self.copy_ids)
        self.copy_command_action = self._action(
            "copy_command", tr("Copy as a command"), "", self._copy_commands
        )
        self.copy_link_action = self._action(
            "copy_link", tr("Copy a command that opens it here"), "", self._copy_link
        )
        self.folder_action = self._action("folder", tr("Open folder"), "", self._open_folder)
        self.train_action = QAction(tr("Train new"), self._page)
        self.train_action.triggered.connect(self.train_wanted)
        self.columns_action = self._action(
            "columns", tr("Columns …"), "Ctrl+Shift+K", self.columns_wanted.emit
        )

    def _action(self, name: str, text: str, shortcut: str, act: object) -> QAction:
        action = QAction(text, self._page)
        action.setObjectName(name)
        action.setShortcut(QKeySequence(shortcut))
        if shortcut:
            action.setToolTip(f"{text} ({action.shortcut().toString()})")
        if shortcut and name != "open":  # Return opens in every list
            bind_action(action, f"runs.{name}")
        action.triggered.connect(act)  # type: ignore[arg-type]
        self.all.append(action)
        return action

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

    def open(self) -> None:
        """Open the selected runs."""
        if runs := self.selected:
            self.open_wanted.emit([run.run_id for run in runs])

    def _replay(self) -> None:
        if len(runs := self.selected) == 1:
            self.replay_wanted.emit(runs[0].run_id)

    def _show_trials(self) -> None:
        if len(runs := self.selected) == 1:
            self.trials_wanted.emit(runs[0].run_id)

    def _copy(self) -> None:
        if len(runs := self.selected) == 1:
            self.copy_wanted.emit(runs[0].run_id)

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
            self._table.rename(runs[0].run_id, name)

    def _pin(self) -> None:
        ended = [run for run in self.selected if run.state.is_final]
        if ended:
            is_pinned = all(run.pinned for run in ended)
            self.pin_wanted.emit([run.run_id for run in ended], not is_pinned)

    def _show_differences(self) -> None:
        self.differences_wanted.emit(self.selected_ids)

    def copy_ids(self) -> None:
        """Put the ids of the selected runs on the clipboard."""
        self._put("\n".join(self.selected_ids), tr("Id copied."))

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
        popup = TagPopup(self._page, tags)
        popup.given.connect(lambda words: self._add_tags(run_ids, words))
        popup.removed.connect(lambda tag: self.tag_removal_wanted.emit(run_ids, tag))
        anchor = self.anchors["tag"]
        popup.show_at(anchor.mapToGlobal(QPoint(0, anchor.height() + 4)))

    def _add_tags(self, run_ids: list[str], words: str) -> None:
        if tags := [tag.strip() for tag in words.split(",") if tag.strip()]:
            self.tags_wanted.emit(run_ids, tags)

    def _note(self) -> None:
        if len(runs := self.selected) != 1:
            return
        run_id = runs[0].run_id
        popup = NotePopup(self._page, runs[0].note)
        popup.given.connect(lambda words: self.note_wanted.emit(run_id, words))
        anchor = self.anchors["note"]
        popup.show_at(anchor.mapToGlobal(QPoint(0, anchor.height() + 4)))

    def _compare(self) -> None:
        self.compare_wanted.emit([run.run_id for run in self.selected])

    def _archive(self) -> None:
        self.archive_wanted.emit(self.selected_ids)

    def _report(self) -> None:
        self.report_wanted.emit(self.selected_ids)
