"""Asks where archives, backups and reports are written and what is imported, and says what is to be done."""

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

from PyQt6.QtCore import QObject, QPoint, QStandardPaths, Qt, pyqtSignal
from PyQt6.QtGui import QAction
from PyQt6.QtWidgets import QFileDialog, QMenu, QWidget

from mosaic_contracts.file_jobs import ArchiveJob, BackupJob, ImportJob, ReportJob
from mosaic_contracts.runs import RunView
from mosaic_gui.state.command_keys import title_of
from mosaic_gui.state.file_job_words import (
    archive_file_name,
    backup_file_name,
    report_file_name,
)
from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.views.choices_popup import ChoicesPopup
from mosaic_gui.views.chosen_keys import bind_action

_VIDEO, _TRACKERS, _REMOVE, _FILM = "video", "trackers", "remove", "film"
_LEFT_OUT = {_VIDEO: ("video",), _TRACKERS: ("tensorboard", "wandb")}
"""Kinds of files that a box leaves out."""


class FileActions(QObject):
    """Commands of the whole window about files. It sends no requests."""

    job_wanted = pyqtSignal(object)
    """A job of `mosaic_contracts.file_jobs`."""
    said = pyqtSignal(str)

    def __init__(
        self,
        window: QWidget,
        shown: Callable[[], Sequence[RunView]],
        is_local: Callable[[], bool],
        clock: Callable[[], datetime] = lambda: datetime.now().astimezone(),
    ) -> None:
        """`shown`: the runs that are selected or watched. `is_local`: whether the stack is on this machine."""
        super().__init__(window)
        self._window, self._shown, self._is_local, self._clock = window, shown, is_local, clock
        self._folder = ""
        """Folder of the file that was chosen last."""
        self.import_file = self._action(title_of("import"), self.ask_import_file)
        bind_action(self.import_file, "import")
        self.import_folder = self._action(
            tr("Import a folder of old runs …"), self.ask_import_folder
        )
        self.import_folder.setToolTip(tr("Runs of TensorBoard, W&B or mlflow"))
        self.archive = self._action(
            tr("Archive the selected runs …"), lambda: self.ask_archive(self._shown())
        )
        self.report = self._action(
            tr("Report of the selected runs …"), lambda: self.ask_report(self._shown())
        )
        self.back_up = self._action(tr("Back up everything …"), self.ask_backup)

    def show_menu(self, place: QPoint) -> QMenu:
        """Open a menu of all of them."""
        menu = self._menu()
        menu.addSeparator()
        menu.addActions([self.report, self.archive, self.back_up])
        menu.popup(place)
        return menu

    def show_imports(self, place: QPoint) -> QMenu:
        """Open a menu of the ways to import."""
        menu = self._menu()
        menu.popup(place)
        return menu

    def _menu(self) -> QMenu:
        menu = QMenu(self._window)
        menu.setObjectName("files.menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions([self.import_file, self.import_folder])
        return menu

    def ask_import_file(self) -> None:
        """Ask for a file to import."""
        dialog = self._dialog(tr("Import runs"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(
            [
                tr("Runs ({patterns})", patterns="*.zip *.wandb *tfevents* mlflow.db"),
                tr("All files ({patterns})", patterns="*"),
            ]
        )
        self._open(dialog, self._import)

    def ask_import_folder(self) -> None:
        """Ask for a folder to import."""
        dialog = self._dialog(tr("Import the runs in a folder"))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        self._open(dialog, self._import)

    def ask_archive(self, runs: Sequence[RunView]) -> None:
        """Ask what an archive of these runs is to leave out, and where it is written."""
        ended = [run for run in runs if run.state.is_final]
        if not ended:
            words = tr("Select ended runs in the list first. A run is archived after its end.")
            self.said.emit(words)
            return
        about = [
            tr_n("Everything of {n} run in one file.", "Everything of {n} runs in one file.", len(ended)),
            tr("Import brings it back, here or on another stack."),
        ]  # fmt: skip
        if left := len(runs) - len(ended):
            about.append(
                tr_n(
                    "{n} run has not ended and is left out.",
                    "{n} runs have not ended and are left out.",
                    left,
                )
            )
        popup = ChoicesPopup(
            self._window,
            tr("Archive"),
            " ".join(about),
            {
                _VIDEO: tr("Leave out videos"),
                _TRACKERS: tr("Leave out files of TensorBoard and W&B"),
                _REMOVE: tr("Then remove here what the file has"),
            },
            tr("Save as …"),
        )
        popup.boxes[_REMOVE].setToolTip(
            tr("Files rest in the trash. Episodes, curves and logs stay in the list.")
        )
        popup.given.connect(lambda ticked: self._ask_archive_file(ended, ticked))
        self._show(popup)

    def ask_report(self, runs: Sequence[RunView]) -> None:
        """Ask what a report of these runs is to have, and where it is written."""
        if not runs:
            self.said.emit(tr("Select the runs of the report in the list first."))
            return
        popup = ChoicesPopup(
            self._window,
            tr("Report"),
            tr_n(
                "{n} run as one HTML page: curves, results, configuration. It opens without a network.",
                "{n} runs as one HTML page: curves, differences, results, configuration. It opens without a network.",
                len(runs),
            ),
            {_FILM: tr("Rebuild the best episode as a film")},
            tr("Save as …"),
        )
        popup.boxes[_FILM].setToolTip(
            tr("A video that a run has recorded is shown in any case. This rebuilds an episode and takes a while.")
        )  # fmt: skip
        popup.given.connect(lambda ticked: self._ask_report_file(list(runs), ticked))
        self._show(popup)

    def ask_backup(self) -> None:
        """Ask where a backup is written."""
        if not self._is_local():
            self.said.emit(tr("A backup is made on the stack's own machine: ./mosaic backup FILE."))
            return
        dialog = self._save_dialog(tr("Back up everything"), backup_file_name(self._clock()))
        self._open(dialog, lambda place: self.job_wanted.emit(BackupJob(target=place)))

    def _import(self, place: str) -> None:
        self.job_wanted.emit(ImportJob(path=place))

    def _ask_archive_file(self, runs: Sequence[RunView], ticked: set[str]) -> None:
        without = [kind for key, kinds in _LEFT_OUT.items() if key in ticked for kind in kinds]
        ids = [run.run_id for run in runs]

        def give(place: str) -> None:
            job = ArchiveJob(runs=ids, target=place, without=without, remove=_REMOVE in ticked)
            self.job_wanted.emit(job)

        self._open(self._save_dialog(tr("Archive"), archive_file_name(runs, self._clock())), give)

    def _ask_report_file(self, runs: Sequence[RunView], ticked: set[str]) -> None:
        ids = [run.run_id for run in runs]

        def give(place: str) -> None:
            self.job_wanted.emit(ReportJob(runs=ids, target=place, film=_FILM in ticked))

        self._open(self._save_dialog(tr("Report"), report_file_name(runs, self._clock())), give)

    def _show(self, popup: ChoicesPopup) -> None:
        top = self._window.mapToGlobal(QPoint(0, 80))
        popup.show_at(QPoint(top.x() + (self._window.width() - popup.panel.width()) // 2, top.y()))

    def _save_dialog(self, title: str, name: str) -> QFileDialog:
        dialog = self._dialog(title)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(Path(name).suffix.removeprefix("."))
        dialog.selectFile(name)
        return dialog

    def _dialog(self, title: str) -> QFileDialog:
        dialog = QFileDialog(self._window, title)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        standard = QStandardPaths.StandardLocation.DocumentsLocation
        dialog.setDirectory(self._folder or QStandardPaths.writableLocation(standard))
        return dialog

    def _open(self, dialog: QFileDialog, then: Callable[[str], None]) -> None:
        def give(place: str) -> None:
            self._folder = str(Path(place).parent)
            then(str(Path(place).absolute()))

        dialog.fileSelected.connect(give)
        dialog.open()

    def _action(self, text: str, act: Callable[[], object]) -> QAction:
        action = QAction(text, self._window)
        action.triggered.connect(lambda: act())
        self._window.addAction(action)
        return action
