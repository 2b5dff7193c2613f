"""Runs the comparer, and gives the user the files of its result."""

import os
import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pydantic import ValidationError
from PyQt6.QtCore import QObject

from mosaic_contracts.comparison_orders import (
    COMPARER,
    COMPARER_PATIENCE_S,
    ComparerLine,
    ComparisonOrder,
    PolicyOrder,
    TrainingOrder,
    comparer_argv,
)
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.controllers.tool_process import Tool, ToolEnd, ToolProcess, stack_address
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.comparison import ComparisonModel

FOLDER = "comparison"
"""Folder of the newest result, in that of the client."""


class ComparisonController(Controller):
    """One comparison at a time, in a process of its own."""

    def __init__(
        self,
        model: ComparisonModel,
        folder: Path,
        say: Say,
        environ: Mapping[str, str] = os.environ,
        parent: QObject | None = None,
    ) -> None:
        """`folder`: gets the files of the result."""
        super().__init__(parent)
        self._model, self._folder, self._say = model, folder / FOLDER, say
        tool = Tool(COMPARER, comparer_argv, COMPARER_PATIENCE_S)
        self._tool = ToolProcess(tool, environ, self)
        self._tool.setting_up.connect(self._on_setting_up)
        self._tool.begun.connect(lambda: model.take_step(tr("Finding the actors …")))
        self._tool.line.connect(self._on_line)
        self._tool.ended.connect(self._on_ended)
        model.start_wanted.connect(self._on_start)
        model.cancel_wanted.connect(self.cancel)
        model.checkpoints_wanted.connect(self._read_files)

    def cancel(self) -> None:
        """Stop the evaluations that were started, and end it."""
        if self._tool.is_running:
            self._model.take_step(tr("Stopping the evaluations …"))
            self._tool.cancel()

    def detach(self) -> None:
        """End it: the stack that it reads is left."""
        self.cancel()
        super().detach()
        self._model.clear()

    def close(self, then: Callable[[], None]) -> None:
        """End it, and call `then` once its process has gone."""
        self._tool.close(then)

    def save(self, name: str, target: Path) -> None:
        """Copy a file of the result to a place of the user's."""
        folder = self._model.folder
        if folder is None:
            return
        try:
            shutil.copyfile(folder / name, target)
        except OSError as error:
            words = tr("{file} cannot be written: {why}.", file=target, why=error.strerror)
            self._say(words, "", None)
        else:
            self._say(tr("Saved: {file}", file=target), "", None)

    def _on_start(self, comparison: PolicyOrder | TrainingOrder) -> None:
        if self.session is None:
            return
        address = stack_address(self.session.location)
        order = ComparisonOrder(stack=address, comparison=comparison, folder=str(self._folder))
        self._tool.start(order.model_dump_json().encode())

    def _on_setting_up(self) -> None:
        self._model.take_step(
            tr("Setting up the analysis, at the first time a download of about 150 MB …")
        )

    def _on_line(self, text: bytes) -> None:
        try:
            line = ComparerLine.model_validate_json(text)
        except ValidationError as error:
            line = ComparerLine(
                problem=tr("The comparer's answer cannot be read: {why}", why=error)
            )
        if not self._tool.is_cancelled:
            self._model.take_line(line, self._folder)

    def _on_ended(self, end: ToolEnd) -> None:
        problem = end.problem
        if self._tool.is_cancelled:
            problem = tr("Cancelled. Evaluations that had ended are used by the next comparison.")
        elif problem and any(row.run_id and not row.is_reused for row in self._model.progress):
            more = tr("Its evaluations go on, and the next comparison uses them.")
            problem = f"{problem.strip()} {more}"
        self._model.take_end(problem)

    def _read_files(self, run_id: str) -> None:
        if self.session is not None:
            reply = self.session.api.artifacts(run_id)
            reply.done.connect(partial(self._model.take_files, run_id))
