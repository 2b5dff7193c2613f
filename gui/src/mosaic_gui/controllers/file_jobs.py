"""Runs archives, imports, backups and reports in the command line's job process."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pydantic import ValidationError
from PyQt6.QtCore import QObject, QUrl, pyqtSignal

from mosaic_contracts.file_jobs import (
    COMMAND_LINE_PYTHON,
    FILE_JOB_PATIENCE_S,
    FileJob,
    FileJobLine,
    FileJobOrder,
    ImportJob,
    ReportJob,
    file_job_argv,
)
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.tool_process import Tool, ToolEnd, ToolProcess, stack_address
from mosaic_gui.state.file_job_words import (
    file_of,
    job_fraction,
    job_progress_text,
    job_report_text,
    starting_text,
)
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.file_jobs import FileJobModel

_COMPONENT = "cli"


class FileJobController(Controller):
    """One job at a time, in a process of its own that has the code of the command line."""

    runs_wanted = pyqtSignal(list)
    """Ids of imported runs that the user wants to see."""

    def __init__(
        self,
        model: FileJobModel,
        say: Say,
        open_externally: Callable[[QUrl], bool],
        environ: Mapping[str, str] = os.environ,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._say, self._open = model, say, open_externally
        tool = Tool(_COMPONENT, file_job_argv, FILE_JOB_PATIENCE_S, COMMAND_LINE_PYTHON)
        self._tool = ToolProcess(tool, environ, self)
        self._tool.line.connect(self._on_line)
        self._tool.ended.connect(self._on_ended)
        self._job: FileJob | None = None
        self._answer = FileJobLine()

    def start(self, job: FileJob) -> None:
        """Begin a job."""
        if self._tool.is_running:
            words = tr("{file} is still under way. Wait for it, or cancel it.", file=self._name)
            self._say(words, "", None)
            return
        if self.session is None:
            return
        self._job, self._answer = job, FileJobLine()
        self._model.take_progress(starting_text(job), None)
        order = FileJobOrder(stack=stack_address(self.session.location), job=job)
        self._tool.start(order.model_dump_json().encode())

    def cancel(self) -> None:
        """End the job; it leaves nothing."""
        if self._tool.is_running:
            self._model.take_progress(tr("Cancelling {file} …", file=self._name), None)
            self._tool.cancel()

    def detach(self) -> None:
        """End the job: the stack that it uses is left."""
        self.cancel()
        super().detach()

    def close(self, then: Callable[[], None]) -> None:
        """End the job, and call `then` once its process has gone."""
        self._tool.close(then)

    def _on_line(self, text: bytes) -> None:
        try:
            line = FileJobLine.model_validate_json(text)
        except ValidationError as error:
            line = FileJobLine(problem=tr("The answer cannot be read: {why}", why=error))
        if line.progress is None:
            self._answer = line
        elif not self._tool.is_cancelled and self._job is not None:
            words = job_progress_text(line.progress, self._job)
            self._model.take_progress(words, job_fraction(line.progress))

    def _on_ended(self, end: ToolEnd) -> None:
        job = self._job
        if job is None:
            return
        if end.has_succeeded and not self._answer.problem:
            self._report(job)
        elif self._tool.is_cancelled:
            self._model.take_result(_cancelled_text(job))
        else:
            problem = self._answer.problem or end.problem
            self._model.take_problem(problem, tr("Try again"), partial(self.start, job))

    def _report(self, job: FileJob) -> None:
        words = job_report_text(self._answer)
        if isinstance(job, ImportJob) and self._answer.imported is not None:
            ids = [run.run_id for run in self._answer.imported.runs]
            label = tr("Show the run") if len(ids) == 1 else tr("Show the runs")
            self._model.take_result(words, label, partial(self.runs_wanted.emit, ids))
        elif isinstance(job, ReportJob):
            self._model.take_result(words, tr("Open"), partial(self._show, file_of(job)))
        else:
            folder = file_of(job).parent
            self._model.take_result(words, tr("Open folder"), partial(self._show, folder))

    def _show(self, path: Path) -> None:
        if not self._open(QUrl.fromLocalFile(str(path))):
            self._say(tr("No program here opens it: {path}", path=path), "", None)

    @property
    def _name(self) -> str:
        return "" if self._job is None else file_of(self._job).name


def _cancelled_text(job: FileJob) -> str:
    if isinstance(job, ImportJob):
        return tr("Import cancelled. Runs that the stack had taken by then are in the list.")
    return tr("{file} was cancelled; nothing was left.", file=file_of(job).name)
