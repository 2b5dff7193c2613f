"""Installs workers of this machine's stack by `mosaic sync`, one after the other, and says how far each is."""

import os
from collections.abc import Mapping
from pathlib import Path

from PyQt6.QtCore import QObject, QProcess, pyqtSignal

from mosaic_contracts.terminal import strip_controls
from mosaic_gui.state.export_words import last_words
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.agents import AgentsModel

CLOSING_MS = 5_000
"""Time in which `mosaic sync` ends when the window is closed."""


class WorkerInstaller(QObject):
    """Runs `mosaic sync COMPONENT` for the model's requests."""

    installed = pyqtSignal()
    """A worker's environment was made: the workers are to be read again."""

    def __init__(
        self,
        model: AgentsModel,
        home: Path,
        environ: Mapping[str, str] = os.environ,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._model, self._home, self._environ = model, home, environ
        self._process: QProcess | None = None
        self._component = ""
        self._waiting: list[str] = []
        self._printed = b""
        model.install_wanted.connect(self.install)

    def set_local(self, is_local: bool) -> None:
        """Note whether the stack is this machine's: only there its environments can be made."""
        self._model.set_installable(is_local and self._program is not None)

    def install(self, component: str) -> None:
        """Make the environment of a worker, after those that were asked for before."""
        if component == self._component or component in self._waiting:
            return
        self._waiting.append(component)
        self._model.take_install(component, tr("Waiting …"))
        self._begin_next()

    def close(self) -> None:
        """End what is being made; `mosaic sync` continues from there the next time."""
        self._waiting.clear()
        if self._process is not None:
            self._process.finished.disconnect()
            self._process.errorOccurred.disconnect()
            self._process.terminate()
            self._process.waitForFinished(CLOSING_MS)
            self._process = None

    @property
    def _program(self) -> Path | None:
        program = self._environ.get("MOSAIC_PROGRAM")
        return Path(program) if program and Path(program).is_file() else None

    def _begin_next(self) -> None:
        program = self._program
        if self._process is not None or not self._waiting or program is None:
            return
        self._component, self._printed = self._waiting.pop(0), b""
        self._model.take_install(self._component, tr("Installing …"))
        process = QProcess(self)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        process.readyReadStandardOutput.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process = process
        process.start(str(program), ["sync", self._component])

    def _on_output(self) -> None:
        if self._process is None:
            return
        self._printed += self._process.readAllStandardOutput().data()
        if line := last_line(self._printed):
            self._model.take_install(self._component, line)

    def _on_finished(self, code: int) -> None:
        self._on_output()
        words = last_words(self._printed.decode(errors="replace")) if code else ""
        self._leave(words or (tr("It ended with exit code {code}.", code=code) if code else ""))

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._leave(self._process.errorString())

    def _leave(self, problem: str) -> None:
        component, self._component = self._component, ""
        if self._process is not None:
            self._process.deleteLater()
            self._process = None
        self._model.take_installed(component, problem)
        if not problem:
            self.installed.emit()
        self._begin_next()


def last_line(printed: bytes) -> str:
    """The newest line of a program's output that has words."""
    text = strip_controls(printed.decode(errors="replace").replace("\r", "\n"))
    return next((line.strip() for line in reversed(text.split("\n")) if line.strip()), "")
