"""A run's output as it grows, for a view that appends."""

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.state.log_text import LogText


class LogFeed(QObject):
    """Text of one run at a time."""

    reset = pyqtSignal()
    grown = pyqtSignal(list, str)
    """Finished lines that are new, and the unfinished last one."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.text = LogText()
        self.run_id = ""
        self.offset = 0
        """Bytes read so far."""

    def show_run(self, run_id: str) -> None:
        """Begin with another run's output."""
        if run_id != self.run_id:
            self.run_id, self.offset = run_id, 0
            self.text.clear()
            self.reset.emit()

    def take(self, run_id: str, text: str, next_offset: int) -> None:
        """Take a piece of output; one of another run is skipped."""
        if run_id != self.run_id or next_offset <= self.offset:
            return
        self.offset = next_offset
        before = self.text.total
        self.text.feed(text)
        self.grown.emit(self.text.finished_from(before), self.text.unfinished)
