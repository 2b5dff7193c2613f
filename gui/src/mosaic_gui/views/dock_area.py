"""Panels around a middle; each can be moved, stacked, floated and closed, and its place is saved."""

from PyQt6.QtCore import QByteArray, QEvent, QObject, Qt
from PyQt6.QtGui import QResizeEvent, QShowEvent
from PyQt6.QtWidgets import QDockWidget, QMainWindow, QWidget

from mosaic_gui.views.arrangement import Arrangement

PLACES_VERSION = 1
"""Version of the panels' names; a layout of another version is refused."""
_FIXED = QDockWidget.DockWidgetFeature.NoDockWidgetFeatures
_MOVABLE = (
    QDockWidget.DockWidgetFeature.DockWidgetMovable
    | QDockWidget.DockWidgetFeature.DockWidgetFloatable
    | QDockWidget.DockWidgetFeature.DockWidgetClosable
)


class DockArea(QMainWindow):
    """An area with docks of its own. Title bars are shown only while panels can be moved."""

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
        self._share, self._width = 0.0, -1
        """Share of the width that one dock has, of a layout or as the user drew its edge, and the width of which."""

    @property
    def movable(self) -> bool:
        """Panels have title bars."""
        return self._movable

    def add(self, name: str, title: str, content: QWidget, area: Qt.DockWidgetArea) -> QDockWidget:
        """Add a panel."""
        dock = QDockWidget(title, self)
        dock.setObjectName(f"dock.{name}")
        dock.setWidget(content)
        self.addDockWidget(area, dock)
        self.docks[name] = dock
        dock.installEventFilter(self)
        self._dress(dock)
        return dock

    def set_movable(self, on: bool) -> None:
        """Show title bars by which panels are moved, or hide them."""
        self._movable = on
        for dock in self.docks.values():
            self._dress(dock)

    def arrange(self, plan: Arrangement) -> None:
        """Apply a built-in layout."""
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
        self._width = -1
        if self.isVisible():
            self._widen()

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self._widen()

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        if self.isVisible():
            self._widen()

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Note a dock's new share of the width when the user moved its edge."""
        is_resize = event is not None and event.type() is QEvent.Type.Resize
        if is_resize and watched is self._widened and self.width() == self._width:
            self._share = self._share_of(self._widened)
        return super().eventFilter(watched, event)

    def _share_of(self, dock: QDockWidget | None) -> float:
        return dock.width() / max(1, self.width()) if dock is not None else 0.0

    def _widen(self) -> None:
        dock = self._widened
        if dock is None or dock.isFloating() or dock.isHidden():
            return
        layout = self.layout()
        if layout is not None:
            layout.activate()
        share = self._share or self._share_of(dock)
        self._width = -1
        width = round(self.width() * share)
        self.resizeDocks([dock], [width], Qt.Orientation.Horizontal)
        if layout is not None:
            layout.activate()
        self._share, self._width = share, self.width()

    def show_middle(self, shown: bool) -> None:
        """Show or hide the middle."""
        middle = self.centralWidget()
        if middle is not None:
            middle.setVisible(shown)

    @property
    def shows_middle(self) -> bool:
        """Whether the middle is shown."""
        middle = self.centralWidget()
        return middle is not None and not middle.isHidden()

    def places(self) -> bytes:
        """State of all docks."""
        return self.saveState(PLACES_VERSION).data()

    @property
    def curves_share(self) -> float:
        """Share of the width that the curves have; 0 where another dock was widened."""
        return self._share if self._widened is self.docks["curves"] else 0.0

    def take_places(self, places: bytes, curves_share: float = 0.0) -> bool:
        """Restore the state of all docks; False for one of another version."""
        self._widened, self._share, self._width = self.docks["curves"], curves_share, -1
        if not self.restoreState(QByteArray(places), PLACES_VERSION):
            return False
        if self.isVisible():
            self._widen()
        return True

    def _dress(self, dock: QDockWidget) -> None:
        old = dock.titleBarWidget()
        dock.setTitleBarWidget(None if self._movable else QWidget())
        if old is not None:
            old.deleteLater()
        dock.setFeatures(_MOVABLE if self._movable else _FIXED)
