"""A few choices side by side, of which one holds."""

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QSizePolicy

from mosaic_gui.views.text import button


class Segments(QFrame):
    """Choices by key; the first holds at the start."""

    chosen = pyqtSignal(str)

    def __init__(self, choices: dict[str, str], name: str) -> None:
        super().__init__()
        self.setProperty("kind", "segments")
        self.setObjectName(name)
        # where there is little room, something else gives way: a cut word is no choice
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 2, 2, 2)
        layout.setSpacing(2)
        self._group = QButtonGroup(self)
        self._keys = list(choices)
        for n, (key, word) in enumerate(choices.items()):
            choice = button(word, "segment", f"{name}.{key}")
            choice.setCheckable(True)
            choice.setChecked(n == 0)
            self._group.addButton(choice, n)
            layout.addWidget(choice)
        self._group.idClicked.connect(lambda n: self.chosen.emit(self._keys[n]))

    @property
    def key(self) -> str:
        """The choice that holds."""
        return self._keys[self._group.checkedId()]

    def set_key(self, key: str) -> None:
        """Let a choice hold, without telling anybody."""
        self._group.button(self._keys.index(key)).setChecked(True)  # type: ignore[union-attr]
