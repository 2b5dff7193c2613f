"""Starts the embedded stack of this machine by `mosaic up -d`."""

import os
from pathlib import Path

from PyQt6.QtCore import QObject, QProcess, QProcessEnvironment, pyqtSignal

from mosaic_contracts.terminal import strip_controls


class StackStart(QObject):
    """Runs `./mosaic up -d`, one attempt at a time."""

    output = pyqtSignal(str)
    """All output so far."""
    ended = pyqtSignal(bool, str)
    """Whether the stack is up, and the output."""

    def __init__(self, home: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._home = home
        self._process: QProcess | None = None
        self._printed = b""

    @property
    def is_possible(self) -> bool:
        """Whether the program that started this window can start a stack."""
        return self._command() is not None

    def start(self) -> None:
        """Start the stack, unless an attempt is running."""
        command = self._command()
        if self._process is not None or command is None:
            return
        self._printed = b""
        process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("MOSAIC_HOME", str(self._home))
        for name in ("MOSAIC_URL", "MOSAIC_TOKEN_FILE", "QT_QPA_PLATFORM"):
            environment.remove(name)
        process.setProcessEnvironment(environment)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        process.readyReadStandardOutput.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        self._process = process
        process.start(str(command), ["up", "-d"])

    def _command(self) -> Path | None:
        program = os.environ.get("MOSAIC_PROGRAM")
        return Path(program) if program and Path(program).is_file() else None

    def _on_output(self) -> None:
        if self._process is not None:
            self._printed += self._process.readAllStandardOutput().data()
            self.output.emit(self._said())

    def _said(self) -> str:
        """All output as text: a character or a sequence may be cut between two reads, so it is decoded as a whole."""
        return strip_controls(self._printed.decode(errors="replace").replace("\r", "\n")).strip()

    def _on_finished(self, code: int) -> None:
        self._on_output()
        self._leave(code == 0)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._printed += self._process.errorString().encode()
            self._leave(False)

    def _leave(self, is_up: bool) -> None:
        if self._process is not None:
            self._process.deleteLater()
            self._process = None
            self.ended.emit(is_up, self._said())
