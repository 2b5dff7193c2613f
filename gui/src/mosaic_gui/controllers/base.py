"""The base of all controllers that send requests to the connected stack."""

from PyQt6.QtCore import QObject

from mosaic_gui.controllers.session import StreamSession
from mosaic_gui.state.store import Changes


class Controller(QObject):
    """Sends requests for a view model while a session is attached."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session: StreamSession | None = None

    def attach(self, session: StreamSession) -> None:
        """Use this session until `detach`. It is not connected yet."""
        self.session = session

    def detach(self) -> None:
        """Stop all requests; the session closes after this."""
        self.session = None

    def consume(self, changes: Changes) -> None:
        """Take the store's changes of one tick."""
