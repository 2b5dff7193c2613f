"""A program of another component, in its own environment: set up, given its order, read line by line, and ended."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from PyQt6.QtCore import QObject, QProcess, pyqtSignal

from mosaic_contracts.exports import StackAddress
from mosaic_contracts.linux_signals import signal_name
from mosaic_contracts.terminal import strip_controls
from mosaic_gui.net.location import StackLocation
from mosaic_gui.state.export_words import last_words
from mosaic_gui.state.language import tr
from mosaic_gui.timers import single_shot_timer


@dataclass(frozen=True)
class Tool:
    """A program that reads an order on its standard input, and ends when that is closed."""

    component: str
    """Component whose environment it needs."""
    argv: Callable[[str], list[str]]
    """Its command, by the interpreter of that environment."""
    patience_s: float
    """Seconds in which it ends after it was cancelled."""
    python_variable: str = ""
    """Environment variable with its interpreter, which is there already. Empty: its environment is made first where
    that is needed."""


@dataclass(frozen=True)
class ToolEnd:
    """How a tool has ended."""

    problem: str = ""
    """Why it did not do its work; empty: it ended by itself with exit code 0, or was cancelled."""
    has_succeeded: bool = False
    """The tool itself ended with exit code 0, also where it was cancelled meanwhile."""
    signal: str = ""
    """The signal that ended the tool itself; empty: none did."""
    pid: int = 0
    """Process that the tool was; 0: it did not start."""


class ToolProcess(QObject):
    """Runs one tool at a time."""

    setting_up = pyqtSignal()
    begun = pyqtSignal()
    """It is set up, and gets its order now."""
    line = pyqtSignal(bytes)
    """A line of its output."""
    ended = pyqtSignal(object)
    """ToolEnd."""

    def __init__(
        self, tool: Tool, environ: Mapping[str, str] = os.environ, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._tool, self._environ = tool, environ
        self._process: QProcess | None = None
        self._order = b""
        self._is_set_up = False
        """The process that runs is the tool, and not what sets it up."""
        self.is_cancelled = False
        self._printed = b""
        self._pid = 0
        self._on_gone: Callable[[], None] | None = None
        self._patience = single_shot_timer(self, self._kill, round(tool.patience_s * 1_000))

    @property
    def is_running(self) -> bool:
        """Whether it is at work, or is set up."""
        return self._process is not None

    def start(self, order: bytes) -> None:
        """Begin with this order. The environment is made first where that is needed."""
        self._order, self._pid, self.is_cancelled = order, 0, False
        program = self._environ.get("MOSAIC_PROGRAM", "")
        if self._tool.python_variable and os.access(self._python, os.X_OK):
            self._run_tool()
        elif not self._tool.python_variable and program and Path(program).is_file():
            self._is_set_up = False
            self.setting_up.emit()
            self._run([program, "sync", self._tool.component])
        elif os.access(self._python, os.X_OK):
            self._run_tool()
        else:
            words = tr(
                "The component {name} is not installed on this machine. `./mosaic sync {name}` installs it. A "
                "window that was started by `./mosaic gui` does that itself.",
                name=self._tool.component,
            )
            self.ended.emit(ToolEnd(words))

    def cancel(self) -> None:
        """End it; it clears up behind itself."""
        if self._process is None or self.is_cancelled:
            return
        self.is_cancelled = True
        if self._is_set_up:
            self._process.closeWriteChannel()
        else:
            self._process.terminate()
        self._patience.start()

    def close(self, then: Callable[[], None]) -> None:
        """End it, and call `then` once it has gone."""
        self.cancel()
        if self._process is None:
            then()
        else:
            self._on_gone = then

    @property
    def _python(self) -> str:
        if named := self._environ.get(self._tool.python_variable, ""):
            return named
        venvs = self._environ.get("MOSAIC_VENVS", "")
        return str(Path(venvs) / self._tool.component / "bin" / "python") if venvs else ""

    def _run_tool(self) -> None:
        self._is_set_up = True
        self.begun.emit()
        process = self._run(self._tool.argv(self._python))
        process.started.connect(self._on_started)
        process.write(self._order + b"\n")

    def _run(self, argv: list[str]) -> QProcess:
        self._printed = b""
        process = self._process = QProcess(self)
        process.readyReadStandardOutput.connect(self._on_output)
        process.finished.connect(self._on_finished)
        process.errorOccurred.connect(self._on_error)
        process.start(argv[0], argv[1:])
        return process

    def _on_started(self) -> None:
        if self._process is not None:
            self._pid = self._process.processId()

    def _on_output(self) -> None:
        if self._process is None:
            return
        self._printed += self._process.readAllStandardOutput().data()
        if self._is_set_up:
            *lines, self._printed = self._printed.split(b"\n")
            for text in filter(None, lines):
                self.line.emit(text)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._leave(ToolEnd(self._process.errorString()))

    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        process = self._process
        if process is None:
            return
        self._on_output()
        faults = process.readAllStandardError().data().decode(errors="replace")
        if not self._is_set_up and code == 0 and not self.is_cancelled:
            process.deleteLater()
            self._run_tool()
            return
        was_killed = status is QProcess.ExitStatus.CrashExit
        # Qt gives the number of the signal as the exit code
        signal = signal_name(code) if was_killed and self._is_set_up else ""
        problem = "" if self.is_cancelled or code == 0 else self._problem(code, signal, faults)
        self._leave(ToolEnd(problem, self._is_set_up and code == 0, signal, self._pid))

    def _problem(self, code: int, signal: str, faults: str) -> str:
        name = self._tool.component
        if signal:
            return tr("The component {name} was ended by {signal}.", name=name, signal=signal)
        if self._is_set_up:
            return tr(
                "The component {name} ended with exit code {code}. {output}",
                name=name,
                code=code,
                output=last_words(faults),
            )
        output = strip_controls(self._printed.decode(errors="replace") + "\n" + faults)
        return tr("The component {name} cannot be set up: {why}", name=name, why=last_words(output))

    def _leave(self, end: ToolEnd) -> None:
        self._patience.stop()
        if self._process is not None:
            self._process.deleteLater()
        self._process = None
        self.ended.emit(end)
        then, self._on_gone = self._on_gone, None
        if then is not None:
            then()

    def _kill(self) -> None:
        if self._process is not None:
            self._process.kill()


def stack_address(location: StackLocation) -> StackAddress:
    """The stack for an order: the tool opens a connection of its own."""
    ca_file = str(location.ca_file) if location.ca_file else None
    return StackAddress(url=location.url, token=location.token, ca_file=ca_file)
