"""A popup to write the note of a run."""

from PyQt6.QtCore import QPoint, pyqtSignal
from PyQt6.QtGui import QKeySequence, QShortcut, QTextCursor
from PyQt6.QtWidgets import QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import button, label

WIDTH, HEIGHT = 360, 130


class NotePopup(PanelPopup):
    """Closes with Escape or a click outside; then nothing is changed."""

    given = pyqtSignal(str)

    def __init__(self, parent: QWidget, note: str) -> None:
        super().__init__(parent)
        self.field = QPlainTextEdit(note)
        self.field.setObjectName("note.field")
        self.field.setProperty("kind", "field")
        self.field.setAccessibleName(tr("Note"))
        self.field.setTabChangesFocus(True)
        self.field.setFixedSize(WIDTH, HEIGHT)
        keep = button(tr("Save"), "primary", "note.keep")
        keep.setToolTip(tr("Save the note (Ctrl+Return)"))
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(keep)
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.addWidget(label(tr("Your own note on this run"), "small"))
        layout.addWidget(self.field)
        layout.addLayout(foot)
        keep.clicked.connect(self._give)
        QShortcut(QKeySequence("Ctrl+Return"), self).activated.connect(self._give)

    def show_at(self, place: QPoint) -> None:
        """Open with the cursor behind what is there."""
        open_popup(self, place)
        self.field.setFocus()
        self.field.moveCursor(QTextCursor.MoveOperation.End)

    def _give(self) -> None:
        self.given.emit(self.field.toPlainText().strip())
        self.close()
