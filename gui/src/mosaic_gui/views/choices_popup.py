"""A popup that asks for a few choices before a file is written."""

from collections.abc import Mapping

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QKeyEvent
from PyQt6.QtWidgets import QCheckBox, QHBoxLayout, QVBoxLayout, QWidget

from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import button, label

WIDTH = 400


class ChoicesPopup(PanelPopup):
    """Closes with Escape or a click outside; then nothing is emitted."""

    given = pyqtSignal(set)
    """Keys of the boxes that are ticked."""

    def __init__(
        self, parent: QWidget, title: str, words: str, choices: Mapping[str, str], act: str
    ) -> None:
        """`choices`: the text of each box, by its key. `act`: label of the button."""
        super().__init__(parent)
        self.boxes = {key: QCheckBox(text.replace("&", "&&")) for key, text in choices.items()}
        self.give = button(act, "primary", "choices.give")
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(14, 12, 14, 14)
        layout.setSpacing(10)
        layout.addWidget(label(title, "heading"))
        layout.addWidget(label(words, "muted", wraps=True))
        for key, box in self.boxes.items():
            box.setObjectName(f"choices.{key}")
            layout.addWidget(box)
        foot = QHBoxLayout()
        foot.addStretch(1)
        foot.addWidget(self.give)
        layout.addLayout(foot)
        self.panel.setFixedWidth(WIDTH)
        self.give.clicked.connect(self._give)

    def show_at(self, place: QPoint) -> None:
        """Open with the focus on the button."""
        open_popup(self, place)
        self.give.setFocus()

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.give.click()
        else:
            super().keyPressEvent(event)

    def _give(self) -> None:
        ticked = {key for key, box in self.boxes.items() if box.isChecked()}
        self.close()
        self.given.emit(ticked)
