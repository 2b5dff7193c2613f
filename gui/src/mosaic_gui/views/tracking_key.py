"""Fields for a tracker's key, which the stack stores and passes to runs as a file."""

import os

from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from mosaic_contracts.tracking import WANDB_SECRET
from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.launch import LaunchModel
from mosaic_gui.views.form_field import INPUT_WIDTH, LABEL_WIDTH
from mosaic_gui.views.text import button, label


class TrackingKey(QWidget):
    """Shows whether the stack has the key, and sends it one: pasted, from the keyring or the environment."""

    def __init__(self, model: LaunchModel) -> None:
        super().__init__()
        self._model = model
        self.field = QLineEdit()
        self.field.setObjectName("tracking.key")
        self.field.setAccessibleName(tr("Key of W&B"))
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setFixedWidth(INPUT_WIDTH)
        self.keyring = button(tr("From my keyring"), "quiet", "tracking.keyring")
        self.keyring.setToolTip(tr("Send the key in your keyring to the stack"))
        self.environment = button(tr("From my environment"), "quiet", "tracking.environment")
        self.environment.setToolTip(
            tr("Send ${name} of this program's environment to the stack", name=WANDB_SECRET)
        )
        self.remember = QCheckBox(tr("Remember it in my keyring"))
        self.remember.setObjectName("tracking.remember")
        self.remember.setToolTip(tr("A pasted key is sent to the stack and stored in the keyring"))
        self._state = label("", "small", wraps=True)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(self._first_row())
        layout.addLayout(self._second_row())
        self.field.returnPressed.connect(self._give)
        self.field.editingFinished.connect(self._give)
        self.keyring.clicked.connect(self._ask_keyring)
        self.environment.clicked.connect(self._take)
        model.checked.connect(self.refresh)
        model.keyring_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Whether the stack keeps one, and what the keyring said."""
        model = self._model
        has = WANDB_SECRET in model.secrets
        self.field.setPlaceholderText(tr("stored by the stack") if has else tr("none"))
        kept = (
            tr("The stack stores it. Runs receive it as a file.")
            if has
            else tr("Paste it. The stack stores it, and it is in no run's spec.")
        )
        self._state.setText(model.keyring_words or kept)
        self.keyring.setText(tr("Do not wait") if model.keyring_asked else tr("From my keyring"))
        self.environment.setVisible(bool(os.environ.get(WANDB_SECRET)))

    def _first_row(self) -> QHBoxLayout:
        name = label(tr("key"))
        name.setFixedWidth(LABEL_WIDTH)
        name.setBuddy(self.field)
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addWidget(name)
        row.addWidget(self.field)
        row.addSpacing(28)
        row.addWidget(self._state, 1)
        return row

    def _second_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(6)
        row.addSpacing(LABEL_WIDTH + 6)
        row.addWidget(self.keyring)
        row.addWidget(self.environment)
        row.addWidget(self.remember)
        row.addStretch(1)
        return row

    def _give(self) -> None:
        value = self.field.text().strip()
        # not `clear`, which an undo takes back
        self.field.setText("")
        if value:
            self._model.secret_wanted.emit(WANDB_SECRET, value)
            if self.remember.isChecked():
                self._model.keyring_wanted.emit("set", value)

    def _ask_keyring(self) -> None:
        if self._model.keyring_asked:
            self._model.keyring_left.emit()
        else:
            self._model.keyring_wanted.emit("get", "")

    def _take(self) -> None:
        value = os.environ.get(WANDB_SECRET, "").strip()
        if value:
            self._model.secret_wanted.emit(WANDB_SECRET, value)
