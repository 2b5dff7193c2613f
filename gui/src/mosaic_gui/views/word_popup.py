"""A popup that asks for a few words."""

from PyQt6.QtCore import QPoint, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import button, label


class WordPopup(PanelPopup):
    """Closes with Escape or a click outside; then nothing is emitted."""

    given = pyqtSignal(str)

    def __init__(self, parent: QWidget, question: str, example: str, act: str) -> None:
        super().__init__(parent)
        self.field = QLineEdit()
        self.field.setObjectName("popup.field")
        self.field.setPlaceholderText(example)
        self.field.setMinimumWidth(220)
        self.field.setAccessibleName(question)
        give = button(act, "primary", "popup.give")
        row = QHBoxLayout()
        row.addWidget(self.field)
        row.addWidget(give)
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.addWidget(label(question, "small"))
        layout.addLayout(row)
        give.clicked.connect(self._give)
        self.field.returnPressed.connect(self._give)

    def show_at(self, place: QPoint) -> None:
        """Open with the field ready to type in."""
        open_popup(self, place)
        self.field.setFocus()

    def _give(self) -> None:
        if words := self.field.text().strip():
            self.given.emit(words)
        self.close()
