"""Runs the exporter: sets it up, gives it its order, shows its progress, and ends it."""

import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from PyQt6.QtCore import QObject, QProcess, QUrl

from mosaic_base.atomic import drafts_of
from mosaic_base.output_file import output_file
from mosaic_contracts.exports import (
    EXPORTER,
    EXPORTER_PATIENCE_S,
    DatasetExport,
    ExporterLine,
    ExportOrder,
    StackAddress,
    StepsExport,
    VideoExport,
    datasets_folder,
    exporter_argv,
    unfinished_dataset,
)
from mosaic_contracts.linux_signals import signal_name
from mosaic_contracts.terminal import strip_controls
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.state.export_words import (
    last_words,
    progress_fraction,
    progress_text,
    report_text,
)
from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer
from mosaic_gui.viewmodels.exports import ExportModel

Export = VideoExport | StepsExport | DatasetExport


class ExportController(Controller):
    """One export at a time, in a process of its own. The command line starts the same program."""

    def __init__(
        self,
        model: ExportModel,
        say: Say,
        open_externally: Callable[[QUrl], bool],
        environ: Mapping[str, str] = os.environ,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._say, self._open = model, say, open_externally
        self._environ = environ
        self._process: QProcess | None = None
        self._export: Export | None = None
        self._is_set_up = False
        """The process that runs is the exporter, and not what sets it up."""
        self._is_cancelled = False
        self._printed = b""
        self._answer = ExporterLine()
        self._known: set[Path] = set()
        """Drafts of the file that were there before the export."""
        self._pid = 0
        """Process of the exporter."""
        self._on_gone: Callable[[], None] | None = None
        self._patience = single_shot_timer(self, self._kill, round(EXPORTER_PATIENCE_S * 1_000))

    def start(self, export: Export) -> None:
        """Begin an export. The exporter is set up first where that is needed."""
        if self._process is not None:
            self._say(tr("Another export is under way. Wait for it, or cancel it."), "", None)
            return
        if self.session is None:
            return
        self._export, self._answer, self._is_cancelled = export, ExporterLine(), False
        program = self._environ.get("MOSAIC_PROGRAM", "")
        if program and Path(program).is_file():
            self._is_set_up = False
            words = tr("Setting up the exporter, at the first time a download of about 150 MB …")
            self._model.take_progress(words, None)
            self._run([program, "sync", EXPORTER])
        elif os.access(self._python, os.X_OK):
            self._run_exporter()
        else:
            self._say(
                tr(
                    "The exporter is not installed on this machine. `./mosaic sync exporter` installs it. A window "
                    "that was started by `./mosaic gui` does that itself."
                ),
                "",
                None,
            )

    def cancel(self) -> None:
        """End the export; it leaves nothing."""
        if self._process is None or self._is_cancelled:
            return
        self._is_cancelled = True
        if self._is_set_up:
            # the exporter removes what it has begun, and stops its replays
            self._process.closeWriteChannel()
        else:
            self._process.terminate()
        self._patience.start()

    def detach(self) -> None:
        """End the export: the stack that it reads is left."""
        self.cancel()
        super().detach()

    def close(self, then: Callable[[], None]) -> None:
        """End the export, and call `then` once its process has gone."""
        self.cancel()
        if self._process is None:
            then()
        else:
            self._on_gone = then

    @property
    def _python(self) -> str:
        venvs = self._environ.get("MOSAIC_VENVS", "")
        return str(Path(venvs) / EXPORTER / "bin" / "python") if venvs else ""

    def _run_exporter(self) -> None:
        if self.session is None or self._export is None:
            return
        at = self.session.location
        address = StackAddress(
            url=at.url, token=at.token, ca_file=str(at.ca_file) if at.ca_file else None
        )
        order = ExportOrder(stack=address, export=self._export)
        self._is_set_up = True
        self._known = self._drafts()
        self._model.take_progress(tr("Starting the exporter …"), None)
        process = self._run(exporter_argv(self._python))
        process.started.connect(self._on_started)
        process.write(order.model_dump_json().encode() + b"\n")

    def _run(self, argv: list[str]) -> QProcess:
        self._printed = b""
        process = QProcess(self)
        process.readyReadStandardOutput.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process = process
        process.start(argv[0], argv[1:])
        return process

    def _on_output(self) -> None:
        if self._process is None:
            return
        self._printed += self._process.readAllStandardOutput().data()
        if not self._is_set_up:
            return
        *lines, self._printed = self._printed.split(b"\n")
        for line in filter(None, lines):
            said = ExporterLine.model_validate_json(line)
            if said.progress is None:
                self._answer = said
            elif not self._is_cancelled:
                words = progress_text(said.progress, self._what)
                self._model.take_progress(words, progress_fraction(said.progress))

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._leave(self._process.errorString())

    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        process = self._process
        if process is None:
            return
        self._on_output()
        faults = process.readAllStandardError().data().decode(errors="replace")
        if not self._is_set_up and code == 0 and not self._is_cancelled:
            process.deleteLater()
            self._run_exporter()
            return
        was_killed = status is QProcess.ExitStatus.CrashExit
        if self._is_set_up and was_killed:
            # Qt gives the number of the signal as the exit code
            problem = self._clean_up(signal_name(code))
        elif self._is_set_up:
            problem = self._answer.problem or tr(
                "The exporter ended with exit code {code}. {output}",
                code=code,
                output=last_words(faults),
            )
        else:
            output = strip_controls(self._printed.decode(errors="replace") + "\n" + faults)
            problem = tr("The exporter cannot be set up: {why}", why=last_words(output))
        has_succeeded = self._is_set_up and not self._answer.problem and code == 0
        if self._is_cancelled and not has_succeeded and not (self._is_set_up and was_killed):
            problem = tr("Export cancelled; nothing was left.")
        self._leave("" if has_succeeded else problem)

    def _leave(self, problem: str) -> None:
        """Report how it ended. `problem`: empty for success."""
        self._patience.stop()
        if self._process is not None:
            self._process.deleteLater()
        self._process = None
        self._model.take_end()
        if problem and self._is_cancelled:
            self._say(problem, "", None)
        elif problem:
            again = partial(self.start, self._export) if self._export is not None else None
            self._say(problem, tr("Try again"), again)
        else:
            folder = self._folder
            words = report_text(self._answer, self._what, str(folder))
            self._say(words, tr("Open folder"), partial(self._show, folder))
        then, self._on_gone = self._on_gone, None
        if then is not None:
            then()

    def _on_started(self) -> None:
        if self._process is not None:
            self._pid = self._process.processId()

    def _clean_up(self, signal: str) -> str:
        """Remove what a killed exporter has left, and say so."""
        try:
            for draft in self._drafts() - self._known:
                draft.unlink(missing_ok=True)
            if isinstance(self._export, DatasetExport):
                part = unfinished_dataset(datasets_folder() / self._export.name, self._pid)
                if part.exists():
                    shutil.rmtree(part)
        except OSError as error:
            return tr(
                "The exporter was ended by {signal}. An unfinished file of it is left in {folder}: {why}.",
                signal=signal,
                folder=self._folder,
                why=error.strerror or error,
            )
        return tr(
            "The exporter was ended by {signal}. Nothing of the export was left.", signal=signal
        )

    def _drafts(self) -> set[Path]:
        """Drafts of the file that is to be written; a dataset has a folder instead."""
        export = self._export
        if isinstance(export, DatasetExport | None):
            return set()
        try:
            return drafts_of(output_file(Path(export.target)))
        except OSError:
            return set()  # the exporter says what is wrong with the folder

    @property
    def _what(self) -> str:
        export = self._export
        if export is None:
            return ""
        return export.name if isinstance(export, DatasetExport) else Path(export.target).name

    @property
    def _folder(self) -> Path:
        if self._answer.dataset is not None:
            return Path(self._answer.dataset.folder)
        export = self._export
        if isinstance(export, DatasetExport | None):
            return datasets_folder()
        return Path(export.target).parent

    def _show(self, folder: Path) -> None:
        if not self._open(QUrl.fromLocalFile(str(folder))):
            self._say(
                tr("No program here opens folders. The folder: {folder}", folder=folder), "", None
            )

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()
