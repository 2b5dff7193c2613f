"""What the page of runs shows in place of a list without rows."""

from PyQt6.QtCore import Qt
from PyQt6.QtWidgets import QFrame, QVBoxLayout, QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.views.text import button, label


class _CenteredPanel(QFrame):
    """Parts one below the other, a little above the middle."""

    def __init__(self, *blocks: tuple[QWidget, ...]) -> None:
        """`blocks`: parts, with a gap before each block but the first."""
        super().__init__()
        self.setProperty("kind", "panel")
        layout = QVBoxLayout(self)
        layout.addStretch(2)
        for number, block in enumerate(blocks):
            if number:
                layout.addSpacing(10)
            for part in block:
                layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addStretch(3)


class NoRunsPanel(_CenteredPanel):
    """Nothing has run yet, and how to begin."""

    def __init__(self) -> None:
        self.first = button(tr("Train your first agent"), "primary", "runs.first")
        hint = tr("Train an agent: choose an algorithm, keep its defaults, press Launch.")
        texts = (label(tr("Nothing has run here yet"), "hero"), label(hint, "muted"))
        super().__init__(texts, (self.first,))


class NoMatchPanel(_CenteredPanel):
    """Nothing matches, with a button that resets search and filter."""

    def __init__(self) -> None:
        self.show_all = button(tr("Show all runs"), "", "runs.show_all")
        texts = label(tr("A word is looked for in names, notes, tags and ids."), "muted")
        values = label(
            tr("since:7d, lr>=1e-3, best>400 and state:failed find runs by value."), "muted"
        )
        super().__init__((label(tr("No match"), "heading"), texts, values, self.show_all))


class ReadingPanel(_CenteredPanel):
    """The list is being read."""

    def __init__(self) -> None:
        super().__init__((label(tr("Reading the runs …"), "muted"),))
