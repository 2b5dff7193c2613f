"""A header whose first columns stay in sight while the others are scrolled sideways."""

from collections.abc import Iterable

from PyQt6.QtCore import QEvent, QPointF, QRect, Qt, pyqtSignal
from PyQt6.QtGui import QMouseEvent, QPainter, QPaintEvent
from PyQt6.QtWidgets import QHeaderView, QWidget


class PinnedHeader(QHeaderView):
    """Pinned columns are the first ones. They are painted over the scrolled ones, and pressed there."""

    pinned_changed = pyqtSignal()

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._pinned: set[int] = set()
        """Numbers of columns in the model."""
        self._is_arranging = False
        self.sectionMoved.connect(self._on_moved)
        self.setMouseTracking(True)

    @property
    def pinned(self) -> list[int]:
        """Pinned columns that are shown, from left to right."""
        shown = [number for number in self._pinned if not self.isSectionHidden(number)]
        return sorted(shown, key=self.visualIndex)

    def is_pinned(self, column: int) -> bool:
        """Whether a column is pinned, shown or not."""
        return column in self._pinned

    def set_pinned(self, columns: Iterable[int]) -> None:
        """Pin these columns, and move them to the front in the order that they have."""
        self._pinned = set(columns)
        self._is_arranging = True
        for place, column in enumerate(sorted(self._pinned, key=self.visualIndex)):
            self.moveSection(self.visualIndex(column), place)
        self._is_arranging = False
        self.repaint_pinned()
        self.pinned_changed.emit()

    @property
    def pinned_width(self) -> int:
        """Pixels that pinned columns take."""
        return sum(self.sectionSize(column) for column in self.pinned)

    def left_of(self, column: int) -> int:
        """Where a column begins in the viewport."""
        if column in self._pinned:
            return self.sectionPosition(column)
        return self.sectionViewportPosition(column)

    def column_at(self, x: int) -> int:
        """The column at a place of the viewport; -1: none."""
        is_pinned = x < self.pinned_width
        return self.logicalIndexAt(x - self.offset() if is_pinned else x)

    def paintEvent(self, event: QPaintEvent | None) -> None:
        super().paintEvent(event)
        viewport = self.viewport()
        if viewport is None or not self.offset():
            return
        painter = QPainter(viewport)
        for column in self.pinned:
            rect = QRect(self.left_of(column), 0, self.sectionSize(column), self.height())
            painter.fillRect(rect, self.palette().base())
            painter.save()
            self.paintSection(painter, rect, column)
            painter.restore()
        painter.end()

    def viewportEvent(self, event: QEvent | None) -> bool:
        """Take what happens over a pinned column to where Qt has the column."""
        if isinstance(event, QMouseEvent) and self.offset():
            at = event.position()
            if at.x() < self.pinned_width:
                moved = QMouseEvent(
                    event.type(),
                    at - QPointF(self.offset(), 0),
                    event.globalPosition(),
                    event.button(),
                    event.buttons(),
                    event.modifiers(),
                )
                return super().viewportEvent(moved)
        return super().viewportEvent(event)

    def repaint_pinned(self) -> None:
        """Paint again after the columns were scrolled."""
        viewport = self.viewport()
        if viewport is not None:
            viewport.update()

    def _on_moved(self, column: int, _before: int, place: int) -> None:
        """A column that is dragged among the pinned ones is pinned, and one that leaves them is not."""
        if self._is_arranging:
            return
        number = len(self._pinned)
        if column in self._pinned and place >= number:
            self._pinned.discard(column)
        elif column not in self._pinned and place < number:
            self._pinned.add(column)
        self.repaint_pinned()
        self.pinned_changed.emit()
