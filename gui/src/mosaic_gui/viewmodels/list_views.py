"""Saved views of the run list."""

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state.run_views import ListArrangement, RunListViews


class ListViewsModel(QObject):
    """The views, and which of them is shown. What changes is written by its controller."""

    changed = pyqtSignal()
    """Something is to be written."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.saved = RunListViews()
        self.current = ""
        """Name of the view that was chosen last; empty: none."""

    def take(self, saved: RunListViews) -> None:
        """Take what was read."""
        self.saved = saved
        self.current = saved.default

    @property
    def names(self) -> list[str]:
        """Names of the views in the order in which they were saved."""
        return [view.name for view in self.saved.views]

    def save(self, name: str, arrangement: ListArrangement) -> None:
        """Save the present arrangement under a name."""
        self.saved.save(name, arrangement)
        self.current = name
        self.changed.emit()

    def remove(self, name: str) -> None:
        """Remove a view."""
        self.saved.remove(name)
        if self.current == name:
            self.current = ""
        self.changed.emit()

    def start_with(self, name: str) -> None:
        """Start the window with a view; empty: with how the list was shown last."""
        self.saved.default = name
        self.changed.emit()

    def keep_last(self, arrangement: ListArrangement) -> None:
        """Remember how the list is shown."""
        if arrangement != self.saved.last:
            self.saved.last = arrangement
            self.changed.emit()

    def is_changed(self, arrangement: ListArrangement) -> bool:
        """Whether the list is shown otherwise than the current view says."""
        known = self.saved.find(self.current)
        return known is not None and known.arrangement != arrangement
