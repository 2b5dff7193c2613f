"""A popup for the tags of runs: those that they have go by a press, others are added by name."""

from collections.abc import Sequence

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QGridLayout, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon
from mosaic_gui.views.text import button, label
from mosaic_gui.views.word_popup import WordPopup

_IN_A_ROW = 3


class TagPopup(WordPopup):
    """Closes with Escape or a click outside; then nothing more is emitted."""

    removed = pyqtSignal(str)
    """A tag that is to go."""

    def __init__(self, parent: QWidget, tags: Sequence[str]) -> None:
        super().__init__(
            parent, tr("Add tags, separated by commas"), tr("baseline, ablation"), tr("Add")
        )
        layout = self.panel.layout()
        if tags and isinstance(layout, QVBoxLayout):
            layout.insertWidget(0, label(tr("Remove a tag"), "small"))
            grid = QGridLayout()
            grid.setSpacing(6)
            for number, tag in enumerate(tags):
                grid.addWidget(self._chip(tag), number // _IN_A_ROW, number % _IN_A_ROW)
            layout.insertLayout(1, grid)
            layout.insertSpacing(2, 6)

    def _chip(self, tag: str) -> QWidget:
        chip = button(tag.replace("&", "&&"), "quiet", f"tags.remove.{tag}")
        chip.setIcon(icon("close", "muted"))
        chip.setToolTip(tr("Remove {tag}", tag=tag))
        chip.setAccessibleName(tr("Remove {tag}", tag=tag))
        chip.clicked.connect(lambda: self._remove(tag, chip))
        return chip

    def _remove(self, tag: str, chip: QWidget) -> None:
        chip.setEnabled(False)
        self.removed.emit(tag)
