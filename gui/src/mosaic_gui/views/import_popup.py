"""A popup that asks what an imported file does not say."""

from PyQt6.QtCore import QPoint, pyqtSignal
from PyQt6.QtWidgets import QFormLayout, QLineEdit, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.viewmodels.checkpoints import ImportQuestion
from mosaic_gui.views.popup import PanelPopup, open_popup
from mosaic_gui.views.text import button, label

WIDTH = 420


class ImportPopup(PanelPopup):
    """The refusal, a field for each thing that can be named, and a button that tries again."""

    given = pyqtSignal(str, dict)
    """The file, and what was typed by name."""

    def __init__(self, parent: QWidget, question: ImportQuestion) -> None:
        super().__init__(parent)
        self.setObjectName("checkpoints.import.popup")
        self._question = question
        titles = {
            "algorithm": (tr("Algorithm"), "dqn"),
            "environment": (tr("Environment"), "CartPole-v1"),
            "worker": (tr("Worker"), "cleanrl"),
        }
        self.fields: dict[str, QLineEdit] = {}
        form = QFormLayout()
        form.setSpacing(8)
        for name, (title, example) in titles.items():
            field = QLineEdit(question.fields.get(name, ""))
            field.setObjectName(f"checkpoints.import.{name}")
            field.setAccessibleName(title)
            field.setPlaceholderText(example)
            field.returnPressed.connect(self._give)
            form.addRow(title, field)
            self.fields[name] = field
        give = button(tr("Import"), "primary", "checkpoints.import.give")
        give.clicked.connect(self._give)
        words = label(question.words, "small", wraps=True)
        words.setFixedWidth(WIDTH)
        layout = QVBoxLayout(self.panel)
        layout.setContentsMargins(14, 12, 14, 12)
        layout.setSpacing(10)
        layout.addWidget(label(question.name, "heading"))
        layout.addWidget(words)
        layout.addLayout(form)
        layout.addWidget(give)

    def show_at(self, place: QPoint) -> None:
        """Open with the first empty field ready to type in."""
        open_popup(self, place)
        empty = (field for field in self.fields.values() if not field.text())
        next(empty, self.fields["algorithm"]).setFocus()

    def _give(self) -> None:
        typed = {name: field.text().strip() for name, field in self.fields.items()}
        self.given.emit(self._question.file, {name: text for name, text in typed.items() if text})
        self.close()
