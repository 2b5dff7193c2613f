"""A small field for tags that goes away by itself."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QLineEdit, QVBoxLayout, QWidget

from mosaic_gui.views.text import button, frame, label


class TagPopup(QWidget):
    """Asks for words; closes with Escape or a click beside it."""

    tags_given = pyqtSignal(list)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        panel = frame("panel")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(panel)
        self.field = QLineEdit()
        self.field.setObjectName("tag.field")
        self.field.setPlaceholderText(self.tr("baseline, ablation"))
        self.field.setMinimumWidth(200)
        add = button(self.tr("Add"), "primary")
        row = QHBoxLayout()
        row.addWidget(self.field)
        row.addWidget(add)
        layout = QVBoxLayout(panel)
        layout.setContentsMargins(12, 10, 12, 12)
        layout.addWidget(label(self.tr("Add tags, with commas between them"), "small"))
        layout.addLayout(row)
        add.clicked.connect(self._give)
        self.field.returnPressed.connect(self._give)

    def show_at(self, place: QPoint) -> None:
        """Open with the field ready to type in."""
        self.move(place)
        self.show()
        self.field.setFocus()

    def _give(self) -> None:
        tags = [tag.strip() for tag in self.field.text().split(",") if tag.strip()]
        if tags:
            self.tags_given.emit(tags)
        self.close()
