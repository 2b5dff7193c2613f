"""Runs the exporter: gives it its order, shows its progress, and clears up behind one that was killed."""

import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pydantic import ValidationError
from PyQt6.QtCore import QObject, QUrl

from mosaic_base.atomic import drafts_of
from mosaic_base.output_file import output_file
from mosaic_contracts.exports import (
    EXPORTER,
    EXPORTER_PATIENCE_S,
    DatasetExport,
    ExporterLine,
    ExportOrder,
    StepsExport,
    VideoExport,
    datasets_folder,
    exporter_argv,
    unfinished_dataset,
)
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.tool_process import Tool, ToolEnd, ToolProcess, stack_address
from mosaic_gui.state.export_words import progress_fraction, progress_text, report_text
from mosaic_gui.state.language import tr
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
        tool = Tool(EXPORTER, exporter_argv, EXPORTER_PATIENCE_S)
        self._tool = ToolProcess(tool, environ, self)
        self._tool.setting_up.connect(self._on_setting_up)
        self._tool.begun.connect(self._on_begun)
        self._tool.line.connect(self._on_line)
        self._tool.ended.connect(self._on_ended)
        self._export: Export | None = None
        self._answer = ExporterLine()
        self._known: set[Path] = set()
        """Drafts of the file that were there before the export."""

    def start(self, export: Export) -> None:
        """Begin an export. The exporter is set up first where that is needed."""
        if self._tool.is_running:
            self._say(tr("Another export is under way. Wait for it, or cancel it."), "", None)
            return
        if self.session is None:
            return
        self._export, self._answer = export, ExporterLine()
        order = ExportOrder(stack=stack_address(self.session.location), export=export)
        self._tool.start(order.model_dump_json().encode())

    def cancel(self) -> None:
        """End the export; it leaves nothing, and stops its replays."""
        self._tool.cancel()

    def detach(self) -> None:
        """End the export: the stack that it reads is left."""
        self.cancel()
        super().detach()

    def close(self, then: Callable[[], None]) -> None:
        """End the export, and call `then` once its process has gone."""
        self._tool.close(then)

    def _on_setting_up(self) -> None:
        words = tr("Setting up the exporter, at the first time a download of about 150 MB …")
        self._model.take_progress(words, None)

    def _on_begun(self) -> None:
        self._known = self._drafts()
        self._model.take_progress(tr("Starting the exporter …"), None)

    def _on_line(self, line: bytes) -> None:
        try:
            said = ExporterLine.model_validate_json(line)
        except ValidationError as error:
            words = tr("The exporter's answer cannot be read: {why}", why=error)
            said = ExporterLine(problem=words)
        if said.progress is None:
            self._answer = said
        elif not self._tool.is_cancelled:
            words = progress_text(said.progress, self._what)
            self._model.take_progress(words, progress_fraction(said.progress))

    def _on_ended(self, end: ToolEnd) -> None:
        """Report how it ended."""
        self._model.take_end()
        if end.has_succeeded and not self._answer.problem:
            folder = self._folder
            words = report_text(self._answer, self._what, str(folder))
            self._say(words, tr("Open folder"), partial(self._show, folder))
            return
        problem = self._answer.problem or end.problem
        if end.signal:
            problem = self._clean_up(end)
        elif self._tool.is_cancelled:
            problem = tr("Export cancelled; nothing was left.")
        if self._tool.is_cancelled or self._export is None:
            self._say(problem, "", None)
        else:
            self._say(problem, tr("Try again"), partial(self.start, self._export))

    def _clean_up(self, end: ToolEnd) -> str:
        """Remove what a killed exporter has left, and say so."""
        try:
            for draft in self._drafts() - self._known:
                draft.unlink(missing_ok=True)
            if isinstance(self._export, DatasetExport):
                part = unfinished_dataset(datasets_folder() / self._export.name, end.pid)
                if part.exists():
                    shutil.rmtree(part)
        except OSError as error:
            return tr(
                "The exporter was ended by {signal}. An unfinished file of it is left in {folder}: {why}.",
                signal=end.signal,
                folder=self._folder,
                why=error.strerror or error,
            )
        return tr(
            "The exporter was ended by {signal}. Nothing of the export was left.", signal=end.signal
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
