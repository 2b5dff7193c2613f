"""The page `Train new`: form and preflight."""

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PyQt6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.command import named_shortcut
from mosaic_gui.views.form import RunForm
from mosaic_gui.views.preflight_panel import PreflightPanel
from mosaic_gui.views.text import label


class TrainPage(QWidget):
    """Form and preflight side by side; what is trained is chosen in the agents panel on the left."""

    said = pyqtSignal(str)
    """A notice for the user."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self.setObjectName("page.train")
        self._model = model
        self.form = RunForm(model)
        self.preflight = PreflightPanel(model)
        self.preflight.show_field.clicked.connect(
            lambda: self.form.show_field(model.obstacle_field)
        )
        columns = QHBoxLayout()
        columns.setSpacing(12)
        columns.addWidget(self.form, 1)
        columns.addWidget(self.preflight)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(20, 16, 20, 16)
        layout.setSpacing(12)
        layout.addWidget(label(tr("Train new"), "title"))
        layout.addLayout(columns, 1)
        for keys, text in (("Ctrl+Return", tr("Launch")), ("Ctrl+Enter", "")):
            named_shortcut(self, keys, text, model.launch)
        named_shortcut(self, "Ctrl+Shift+C", tr("Copy as a command"), self.preflight.copy.click)
        self.preflight.copy.clicked.connect(self._copy)

    def _copy(self) -> None:
        """Copy the command that starts what the form has."""
        command, clipboard = self._model.command, QGuiApplication.clipboard()
        if clipboard is not None and command:
            clipboard.setText(command)
            self.said.emit(tr("Copied: {command}", command=command))

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._model.set_shown(True)

    def hideEvent(self, event: QHideEvent | None) -> None:
        super().hideEvent(event)
        self._model.set_shown(False)
