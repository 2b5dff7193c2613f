"""A row of exclusive choices."""

from collections.abc import Collection

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtGui import QFont, QFontMetrics
from PyQt6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QSizePolicy

from mosaic_gui.views.text import button


class Segments(QFrame):
    """A row of exclusive choices by key; the first is chosen at the start."""

    chosen = pyqtSignal(str)

    def __init__(self, choices: dict[str, str], name: str, *, fills: bool = False) -> None:
        """`fills`: as wide as its parent, instead of as its words."""
        super().__init__()
        self.setProperty("kind", "segments")
        self.setObjectName(name)
        # where there is little room, something else gives way: a cut word is no choice
        width = QSizePolicy.Policy.Expanding if fills else QSizePolicy.Policy.Fixed
        self.setSizePolicy(width, QSizePolicy.Policy.Fixed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2, 2, 2, 2)
        layout.setSpacing(2)
        self._group = QButtonGroup(self)
        self._keys = list(choices)
        for n, (key, word) in enumerate(choices.items()):
            choice = button(word, "segment", f"{name}.{key}")
            choice.setCheckable(True)
            choice.setChecked(n == 0)
            _make_room(choice)
            self._group.addButton(choice, n)
            layout.addWidget(choice)
        self._group.idClicked.connect(lambda n: self.chosen.emit(self._keys[n]))

    @property
    def key(self) -> str:
        """Key of the present choice; empty: none."""
        held = self._group.checkedId()
        return self._keys[held] if held >= 0 else ""

    def choose(self, key: str) -> None:
        """Choose as if the user did."""
        self.set_key(key)
        self.chosen.emit(key)

    def show_keys(self, keys: Collection[str]) -> None:
        """Show these choices alone."""
        for name, made in zip(self._keys, self._group.buttons(), strict=True):
            made.setVisible(name in keys)

    def set_key(self, key: str) -> None:
        """Choose without a signal; an empty key means none."""
        self._group.setExclusive(False)
        for name, made in zip(self._keys, self._group.buttons(), strict=True):
            made.setChecked(name == key)
        self._group.setExclusive(True)


def _make_room(choice: QPushButton) -> None:
    """Make a choice as wide as its word is once it is chosen, in a bolder face."""
    choice.ensurePolished()
    bold = QFont(choice.font())
    bold.setWeight(QFont.Weight.DemiBold)
    word = choice.text()
    more = QFontMetrics(bold).horizontalAdvance(word) - choice.fontMetrics().horizontalAdvance(word)
    choice.setMinimumWidth(choice.sizeHint().width() + max(0, more))
