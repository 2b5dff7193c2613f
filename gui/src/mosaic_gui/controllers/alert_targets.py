"""Adds, tests and removes targets of alerts. Webhooks go to the gateway; a command is added by `mosaic`.

The token of the API is not enough to have a program run (ADR 0037), so a command is added where the user is.
"""

import os
from collections.abc import Callable
from pathlib import Path

from PyQt6.QtCore import QObject, QProcess, QProcessEnvironment

from mosaic_contracts.alerts import DeliveryView
from mosaic_contracts.terminal import strip_controls
from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.net.reply import ApiProblem, ApiReply
from mosaic_gui.state.alert_targets import COMMAND, TargetDraft
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.alerts import AlertsModel

CLOSING_MS = 2_000


class AlertTargetsController(Controller):
    """Sends what the popup of targets asks for."""

    def __init__(
        self,
        model: AlertsModel,
        home: Path,
        is_local: Callable[[], bool],
        parent: QObject | None = None,
    ) -> None:
        """`is_local`: whether the stack is this machine's."""
        super().__init__(parent)
        self._model, self._home, self._is_local = model, home, is_local
        self._process: QProcess | None = None
        model.target_wanted.connect(self._add)
        model.target_test_wanted.connect(self._test)
        model.target_removal_wanted.connect(self._remove)

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`."""
        super().attach(session)
        self._model.takes_commands = self._is_local() and self._program is not None

    def detach(self) -> None:
        """End a command that is being added."""
        super().detach()
        process, self._process = self._process, None
        if process is not None:
            process.finished.disconnect()
            process.errorOccurred.disconnect()
            process.kill()
            process.waitForFinished(CLOSING_MS)
            process.deleteLater()

    @property
    def _program(self) -> Path | None:
        program = os.environ.get("MOSAIC_PROGRAM")
        return Path(program) if program and Path(program).is_file() else None

    def _add(self, draft: TargetDraft) -> None:
        if self.session is None:
            return
        if draft.kind == COMMAND:
            self._add_command(draft)
            return
        request: dict[str, object] = {"webhook": draft.value, "consent": True}
        if draft.authorization:
            request["authorization"] = draft.authorization
        self._follow(
            self.session.api.set_alert_target(draft.name, request),
            lambda _target: self._on_added(draft.name),
        )

    def _add_command(self, draft: TargetDraft) -> None:
        program = self._program
        if program is None or self._process is not None:
            return
        process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("MOSAIC_HOME", str(self._home))
        for name in ("MOSAIC_URL", "MOSAIC_TOKEN_FILE"):
            environment.remove(name)
        process.setProcessEnvironment(environment)
        process.setProcessChannelMode(QProcess.ProcessChannelMode.MergedChannels)
        process.finished.connect(lambda code: self._on_command(draft.name, code))
        process.errorOccurred.connect(self._on_error)
        self._process = process
        words = ["alerts", "target", "add", draft.name, "--command", draft.value, "--yes"]
        process.start(str(program), words)

    def _on_command(self, name: str, code: int) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        printed = process.readAllStandardOutput().data().decode(errors="replace")
        process.deleteLater()
        if code:
            self._model.target_said.emit(strip_controls(printed).strip(), False)
        else:
            self._on_added(name)

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._model.target_said.emit(self._process.errorString(), False)
            self._process.deleteLater()
            self._process = None

    def _on_added(self, name: str) -> None:
        self._model.target_said.emit(tr("{name} gets all alerts from now on.", name=name), True)
        self._model.target_added.emit()
        self._model.wanted.emit()

    def _test(self, name: str) -> None:
        if self.session is not None:
            self._model.target_said.emit(tr("A test is on its way to {name} …", name=name), True)
            self._follow(self.session.api.test_alert_target(name), self._on_tested)

    def _on_tested(self, way: DeliveryView) -> None:
        if way.state == "delivered":
            self._model.target_said.emit(tr("{name} took the test.", name=way.target), True)
        else:
            words = tr("{name} did not take the test: {why}", name=way.target, why=way.problem)
            self._model.target_said.emit(words, False)
        self._model.wanted.emit()

    def _remove(self, name: str) -> None:
        if self.session is not None:
            self._follow(
                self.session.api.delete_alert_target(name), lambda _none: self._on_removed(name)
            )

    def _on_removed(self, name: str) -> None:
        self._model.target_said.emit(tr("{name} gets no more alerts.", name=name), True)
        self._model.wanted.emit()

    def _follow(self, reply: ApiReply, then: Callable[..., None]) -> None:
        reply.done.connect(then)
        reply.failed.connect(self._on_failed)

    def _on_failed(self, problem: ApiProblem) -> None:
        self._model.target_said.emit(problem.message, False)
