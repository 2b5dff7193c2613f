"""The key of a tracker: kept by the stack, given to runs as a file, shown to nobody."""

import os

from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QWidget

from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.form_field import INPUT_WIDTH, LABEL_WIDTH
from mosaic_gui.views.text import button, label


class TrackingKey(QWidget):
    """Whether the stack has one, and two ways to give it one."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self._model = model
        self.field = QLineEdit()
        self.field.setObjectName("tracking.key")
        self.field.setAccessibleName(tr("Key of W&B"))
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setFixedWidth(INPUT_WIDTH)
        self.take = button(tr("From my environment"), "quiet", "tracking.environment")
        self.take.setToolTip(tr("Hands ${name} of this program to the stack", name=WANDB_SECRET))
        self._state = label("", "small", wraps=True)
        name = label(tr("key"))
        name.setFixedWidth(LABEL_WIDTH)
        name.setBuddy(self.field)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(name)
        row.addWidget(self.field)
        row.addSpacing(28)
        row.addWidget(self._state, 1)
        row.addWidget(self.take)
        self.field.returnPressed.connect(self._give)
        self.field.editingFinished.connect(self._give)
        self.take.clicked.connect(self._take)
        model.checked.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Whether the stack keeps one."""
        has = WANDB_SECRET in self._model.secrets
        self.field.setPlaceholderText(tr("kept by the stack") if has else tr("none"))
        self._state.setText(
            tr("The stack keeps it; runs get it as a file.")
            if has
            else tr("Paste it: the stack keeps it, no run's spec does.")
        )
        self.take.setVisible(not has and bool(os.environ.get(WANDB_SECRET)))

    def _give(self) -> None:
        value = self.field.text().strip()
        self.field.clear()
        if value:
            self._model.secret_wanted.emit(WANDB_SECRET, value)

    def _take(self) -> None:
        value = os.environ.get(WANDB_SECRET, "").strip()
        if value:
            self._model.secret_wanted.emit(WANDB_SECRET, value)
