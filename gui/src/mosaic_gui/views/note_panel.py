"""The note on a run: written in place, and saved when the field is left."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QFocusEvent, QHideEvent, QTextCursor
from PyQt6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.watch import WatchModel
from mosaic_gui.views.command_keys import OWN_UNDO
from mosaic_gui.views.text import button, label


class NotePanel(QWidget):
    """One note for each run. What was typed stays until the stack has it, also while another run is shown."""

    note_wanted = pyqtSignal(str, str)
    """A run, and its new note."""

    def __init__(self, model: WatchModel) -> None:
        super().__init__()
        self.setObjectName("side.note")
        self._model = model
        self._run_id = ""
        self._unsaved: dict[str, str] = {}
        """What was typed and the stack does not have, by run."""
        self._asked: dict[str, str] = {}
        """What the stack was last asked to save, by run."""
        self.field = _NoteField()
        self.field.setObjectName("watch.note")
        self.field.setAccessibleName(tr("Note of the run"))
        self.field.setPlaceholderText(tr("Your own note on this run"))
        self.field.setProperty("kind", "prose")
        self.field.setTabChangesFocus(True)
        self.field.setProperty(OWN_UNDO, True)
        self.state = label("", "small", wraps=True)
        self.again = button(tr("Save"), "quiet", "watch.note_save")
        self.again.clicked.connect(self._save_again)
        foot = QHBoxLayout()
        foot.setContentsMargins(12, 0, 8, 4)
        foot.addWidget(self.state, 1)
        foot.addWidget(self.again)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.field, 1)
        layout.addLayout(foot)
        self.field.left.connect(self.save)
        self.field.textChanged.connect(self._on_typed)
        model.run_replaced.connect(self.refresh)
        model.run_changed.connect(self.refresh)
        self.refresh()

    def write(self) -> None:
        """Focus the note, with the cursor behind what is there."""
        self.field.setFocus()
        self.field.moveCursor(QTextCursor.MoveOperation.End)

    def save(self) -> None:
        """Ask to save what was typed on the run that is shown, once for each text."""
        typed = self._unsaved.get(self._run_id)
        if typed is not None and typed != self._asked.get(self._run_id):
            self._asked[self._run_id] = typed
            self.note_wanted.emit(self._run_id, typed)

    def _save_again(self) -> None:
        self._asked.pop(self._run_id, None)
        self.save()

    def refresh(self) -> None:
        """Show the note of the run; what was typed and is not saved stays."""
        run = self._model.run
        if self._model.run_id != self._run_id:
            self.save()
            self._run_id = self._model.run_id
        self.field.setEnabled(run is not None)
        saved = run.note if run is not None else ""
        if self._unsaved.get(self._run_id) == saved.strip():
            del self._unsaved[self._run_id]
            self._asked.pop(self._run_id, None)
        shown = self._unsaved.get(self._run_id, saved.strip())
        if shown != self.field.toPlainText().strip():
            self.field.blockSignals(True)
            self.field.setPlainText(shown)
            self.field.blockSignals(False)
        self._show_state()

    def hideEvent(self, event: QHideEvent | None) -> None:
        self.save()
        super().hideEvent(event)

    def _on_typed(self) -> None:
        run = self._model.run
        typed = self.field.toPlainText().strip()
        if run is None or typed == run.note.strip():
            self._unsaved.pop(self._run_id, None)
        else:
            self._unsaved[self._run_id] = typed
        self._show_state()

    def _show_state(self) -> None:
        is_unsaved = self._run_id in self._unsaved
        self.again.setVisible(is_unsaved)
        self.state.setText(
            tr("Not saved yet; it is saved when you leave the field.")
            if is_unsaved
            else tr("Saved when you leave the field. Other people of this stack see it.")
        )


class _NoteField(QPlainTextEdit):
    """A field of several lines that reports when it loses the focus."""

    left = pyqtSignal()

    def focusOutEvent(self, event: QFocusEvent | None) -> None:
        super().focusOutEvent(event)
        if event is not None and event.reason() is not Qt.FocusReason.PopupFocusReason:
            self.left.emit()
