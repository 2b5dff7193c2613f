"""Base classes of widgets: one that reports its visibility, and one with a tool tip for each place."""

from PyQt6.QtCore import QEvent, QPointF, pyqtSignal
from PyQt6.QtGui import QHelpEvent, QHideEvent, QShowEvent
from PyQt6.QtWidgets import QFrame, QToolTip, QWidget


class VisibilityFrame(QFrame):
    """A frame that reports when it is shown and when it is hidden, so that nothing is read for a hidden one."""

    shown = pyqtSignal(bool)
    """Whether it is visible now."""

    def showEvent(self, event: QShowEvent | None) -> None:
        super().showEvent(event)
        self.shown.emit(True)

    def hideEvent(self, event: QHideEvent | None) -> None:
        super().hideEvent(event)
        self.shown.emit(False)


class PaintedWidget(QWidget):
    """A widget that paints itself; its tool tip depends on the place of the pointer."""

    def words_at(self, point: QPointF) -> str:
        """The tool tip at a place; empty: none."""
        raise NotImplementedError

    def event(self, event: QEvent | None) -> bool:
        if isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.words_at(QPointF(event.pos())), self)
            return True
        return super().event(event)
