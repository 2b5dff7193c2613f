"""Panels around a middle: each can be moved, put behind another, taken out and closed, and its place is kept."""

from PyQt6.QtCore import QByteArray, Qt
from PyQt6.QtWidgets import QDockWidget, QMainWindow, QWidget

PLACES_VERSION = 1
"""Raised when panels come, go or change their names: an older arrangement is then refused, not misread."""
_FIXED = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures
_MOVABLE = (
    QDockWidget.DockWidgetFeature.DockWidgetMovable
    | QDockWidget.DockWidgetFeature.DockWidgetFloatable
    | QDockWidget.DockWidgetFeature.DockWidgetClosable
)


class DockArea(QMainWindow):
    """A part of the window with docks of its own. They have no title bars until somebody wants to move them."""

    def __init__(self, middle: QWidget) -> None:
        super().__init__()
        self.setWindowFlags(Qt.WindowType.Widget)
        self.setObjectName("dock_area")
        self.setDockNestingEnabled(True)
        self.setDockOptions(self.dockOptions() & ~QMainWindow.DockOption.AnimatedDocks)
        self.setCorner(Qt.Corner.BottomRightCorner, Qt.DockWidgetArea.RightDockWidgetArea)
        self.setCentralWidget(middle)
        self.docks: dict[str, QDockWidget] = {}
        self._movable = False

    @property
    def movable(self) -> bool:
        """Panels have title bars."""
        return self._movable

    def add(self, name: str, title: str, content: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        """One more panel."""
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock.{name}")
        dock.setWidget(content)
        self.addDockWidget(area, dock)
        self.docks[name] = dock
        self._dress(dock)
        return dock

    def set_movable(self, on: bool) -> None:
        """Show title bars by which panels are moved, or hide them."""
        self._movable = on
        for dock in self.docks.values():
            self._dress(dock)

    def places(self) -> bytes:
        """Where everything is."""
        return self.saveState(PLACES_VERSION).data()

    def take_places(self, places: bytes) -> bool:
        """Put everything where it was; False when that was another version's arrangement."""
        return self.restoreState(QByteArray(places), PLACES_VERSION)

    def _dress(self, dock: QDockWidget) -> None:
        old = dock.titleBarWidget()
        dock.setTitleBarWidget(None if self._movable else QWidget())
        if old is not None:
            old.deleteLater()
        dock.setFeatures(_MOVABLE if self._movable else _FIXED)
