"""What several pages share: reported visibility, a tool tip for each place, a row in sight, a list next to a panel."""

from PyQt6.QtCore import QEvent, QPoint, QPointF, QRect, pyqtSignal
from PyQt6.QtGui import QHelpEvent, QHideEvent, QResizeEvent, QShowEvent
from PyQt6.QtWidgets import QAbstractItemView, QFrame, QHBoxLayout, QToolTip, QVBoxLayout, QWidget

from mosaic_gui.views.text import frame


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


def was_in_sight(view: QAbstractItemView, event: QResizeEvent | None) -> bool:
    """Whether the current row of a list was in sight before the list got another size."""
    rect = view.visualRect(view.currentIndex())
    return event is not None and QRect(QPoint(), event.oldSize()).intersects(rect)


def list_and_panel(rows: QWidget, side: QWidget) -> QWidget:
    """A list in a panel, and a panel of what is chosen on its right."""
    panel = frame("panel")
    inside = QVBoxLayout(panel)
    inside.setContentsMargins(1, 1, 1, 1)
    inside.addWidget(rows)
    made = QWidget()
    columns = QHBoxLayout(made)
    columns.setContentsMargins(0, 0, 0, 0)
    columns.setSpacing(12)
    columns.addWidget(panel, 1)
    columns.addWidget(side)
    return made
