"""The export that is under way."""

from PyQt6.QtCore import QObject, pyqtSignal


class ExportModel(QObject):
    """At most one export at a time."""

    changed = pyqtSignal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.is_running = False
        self.words = ""
        self.share: float | None = None
        """Progress of the present phase, 0 to 1; None: unknown."""

    def take_progress(self, words: str, share: float | None) -> None:
        """Note how far the export is."""
        self.is_running, self.words, self.share = True, words, share
        self.changed.emit()

    def take_end(self) -> None:
        """Note that no export is under way."""
        self.is_running, self.words, self.share = False, "", None
        self.changed.emit()
