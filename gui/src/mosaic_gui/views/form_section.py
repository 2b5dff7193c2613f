"""A group of fields under a heading that folds."""

from collections.abc import Callable, Sequence

from PyQt6.QtCore import pyqtSignal
from PyQt6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr, tr_n
from mosaic_gui.theme.icon import icon
from mosaic_gui.views.form_field import FieldRow
from mosaic_gui.views.text import button, label, restyle


class FormSection(QWidget):
    """A heading, an obstacle if there is one, and the rows."""

    folded = pyqtSignal(bool)

    def __init__(
        self,
        name: str,
        title: str,
        rows: Sequence[FieldRow],
        hindrance: str = "",
        foot: QWidget | None = None,
    ) -> None:
        super().__init__()
        self.setObjectName(f"section.{name}")
        self.rows = list(rows)
        self._is_folded = self._is_forced_open = False
        self.head: QPushButton = button(title, "fold", f"section.{name}.head")
        self.head.setAccessibleName(title.replace("&&", "&"))
        self.head.clicked.connect(self._turn)
        self._changes = label("", "small")
        self._note = label(hindrance, "small", wraps=True)
        self._foot = foot
        self._inside = QWidget()
        inside = QVBoxLayout(self._inside)
        inside.setContentsMargins(0, 0, 0, 0)
        inside.setSpacing(7)
        inside.addWidget(self._note)
        self._note.setVisible(bool(hindrance))
        for row in self.rows:
            row.setEnabled(not hindrance)
            inside.addWidget(row)
        if foot is not None:
            foot.setEnabled(not hindrance)
            inside.addWidget(foot)
        heading = QHBoxLayout()
        heading.setSpacing(8)
        heading.addWidget(self.head)
        heading.addWidget(self._changes)
        heading.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 6, 0, 0)
        layout.setSpacing(5)
        layout.addLayout(heading)
        layout.addWidget(self._inside)
        self._show()

    @property
    def is_folded(self) -> bool:
        """Whether the rows are hidden."""
        return self._is_folded

    def fold(self, folded: bool) -> None:
        """Hide the rows, or show them."""
        self._is_folded = folded
        self._show()

    def filter(
        self, wanted: Callable[[FieldRow], bool], *, is_searching: bool, has_foot: bool
    ) -> None:
        """Show the rows that match; a search opens folded sections."""
        seen = 0
        for row in self.rows:
            fits = wanted(row)
            row.setVisible(fits)
            seen += fits
        if self._foot is not None:
            self._foot.setVisible(has_foot and not is_searching)
        self._is_forced_open = is_searching
        self.setVisible(seen > 0)
        self._show()

    def show_changes(self, count: int, *, wrong: bool) -> None:
        """Count the fields with other than default values, and show whether one is wrong, also when folded."""
        words = tr_n("{n} changed", "{n} changed", count) if count else ""
        tone = "bad" if wrong else "accent"
        if self._changes.property("tone") != tone:
            self._changes.setProperty("tone", tone)
            restyle(self._changes)
        self._changes.setText(tr("check this") if wrong else words)

    def _turn(self) -> None:
        self.fold(not self._is_folded)
        self.folded.emit(self._is_folded)

    def _show(self) -> None:
        is_open = self._is_forced_open or not self._is_folded
        self._inside.setVisible(is_open)
        self.head.setIcon(icon("arrow_down" if is_open else "arrow_right", "muted"))
