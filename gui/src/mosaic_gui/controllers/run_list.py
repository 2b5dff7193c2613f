"""The run list: whether all of it was read from the connected stack."""

import gc

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.controllers.base import Controller
from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.store import Changes, Store
from mosaic_gui.viewmodels.run_list import RunListModel

_MANY = 100
"""Runs of one tick that are a page of the list."""


class RunListController(Controller):
    """Fills the table, and reports when the list is complete."""

    read_changed = pyqtSignal(bool)
    """Whether the page shows the whole list."""

    def __init__(self, store: Store, table: RunListModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store, self._table = store, table
        self.is_read = False
        """The run list of this stack is complete."""

    def attach(self, session: StreamSession) -> None:
        """Wait for the list of this session."""
        super().attach(session)
        self._set_read(False)
        session.runs_read.connect(lambda: self._set_read(True))

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
        self._table.consume(changes)
        if len(changes.runs) >= _MANY:
            # thousands of runs that stay would be looked at by each whole collection, which holds the thread
            gc.freeze()
        self.read_changed.emit(self.is_read)

    def _set_read(self, is_read: bool) -> None:
        self.is_read = is_read
        if not is_read or not self._store.runs:
            self.read_changed.emit(is_read)  # otherwise with the tick that brings its rows
