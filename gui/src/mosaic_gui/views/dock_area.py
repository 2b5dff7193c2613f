"""Panels around a middle: each can be moved, put behind another, taken out and closed, and its place is kept."""

from PyQt6.QtCore import QByteArray, Qt
from PyQt6.QtGui import QResizeEvent, QShowEvent
from PyQt6.QtWidgets import QDockWidget, QMainWindow, QWidget

from mosaic_gui.views.arrangement import Arrangement

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
        self._widened: QDockWidget | None = None
        self._share, self._given = 0.0, -1
        """Share of the width that a built-in layout gives to one dock, and the pixels that this was last."""

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

    def arrange(self, plan: Arrangement) -> None:
        """A built-in layout."""
        right, below = Qt.DockWidgetArea.RightDockWidgetArea, Qt.DockWidgetArea.BottomDockWidgetArea
        curves, run = self.docks["curves"], self.docks["run"]
        for dock, area in ((curves, right), (run, right if plan.run_is_right else below)):
            dock.setFloating(False)
            self.addDockWidget(area, dock)
        self.show_middle(plan.stage)
        curves.setVisible(plan.curves)
        run.setVisible(plan.run)
        self._widened, self._share = run if plan.run_is_right else curves, plan.curves_share
        if not 0 < self._share < 1:
            self._widened = None
        if self.isVisible():
            self._widen()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._widen()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        # shares hold until the user has drawn an edge elsewhere
        is_kept = self._widened is not None and self._widened.width() == self._given
        super().resizeEvent(event)
        if is_kept and self.isVisible():
            self._widen()

    def _widen(self) -> None:
        if self._widened is None:
            return
        layout = self.layout()
        if layout is not None:
            layout.activate()
        width = round(self.width() * self._share)
        self.resizeDocks([self._widened], [width], Qt.Orientation.Horizontal)
        self._given = self._widened.width()

    def show_middle(self, shown: bool) -> None:
        """Show the middle, or leave all the room to the panels."""
        middle = self.centralWidget()
        if middle is not None:
            middle.setVisible(shown)

    @property
    def shows_middle(self) -> bool:
        """The middle has its place."""
        middle = self.centralWidget()
        return middle is not None and not middle.isHidden()

    def places(self) -> bytes:
        """Where everything is."""
        return self.saveState(PLACES_VERSION).data()

    def take_places(self, places: bytes) -> bool:
        """Put everything where it was; False when that was another version's arrangement."""
        self._widened = None
        return self.restoreState(QByteArray(places), PLACES_VERSION)

    def _dress(self, dock: QDockWidget) -> None:
        old = dock.titleBarWidget()
        dock.setTitleBarWidget(None if self._movable else QWidget())
        if old is not None:
            old.deleteLater()
        dock.setFeatures(_MOVABLE if self._movable else _FIXED)
