"""One clock for everything that is drawn: changes are gathered, and told at most 20 times a second."""

from PyQt6.QtCore import QObject, QTimer, pyqtSignal

from mosaic_gui.state.store import NOTHING, Changes

TICK_MS = 50


class FrameClock(QObject):
    """Gathers changes; the first of a burst is told with the next turn of the event loop."""

    ticked = pyqtSignal(object)
    """Changes since the last tick."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting = NOTHING
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.timeout.connect(self._on_rested)

    def note(self, changes: Changes) -> None:
        """Something became different."""
        if not changes:
            return
        self._waiting = self._waiting | changes
        if not self._rest.isActive():
            self._rest.start(0)

    def stop(self) -> None:
        """Tell nothing more."""
        self._rest.stop()
        self._waiting = NOTHING

    def _on_rested(self) -> None:
        if not self._waiting:
            return
        changes, self._waiting = self._waiting, NOTHING
        # what comes while the views draw is part of the next frame
        self._rest.start(TICK_MS)
        self.ticked.emit(changes)
