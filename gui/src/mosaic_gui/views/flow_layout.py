"""A layout that puts widgets side by side and begins a new line where one does not fit."""

from PyQt6.QtCore import QPoint, QRect, QSize, Qt
from PyQt6.QtWidgets import QLayout, QLayoutItem, QWidget


class FlowLayout(QLayout):
    """Its height depends on its width."""

    def __init__(self, parent: QWidget, between_px: int) -> None:
        super().__init__(parent)
        self._between = between_px
        self._items: list[QLayoutItem] = []

    def addItem(self, item: QLayoutItem | None) -> None:
        if item is not None:
            self._items.append(item)

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arrange(QRect(0, 0, width, 0), is_moving=False)

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._arrange(rect, is_moving=True)

    def sizeHint(self) -> QSize:
        return self.minimumSize()

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item in self._items]
        return QSize(
            max((size.width() for size in sizes), default=0),
            max((size.height() for size in sizes), default=0),
        )

    def _arrange(self, rect: QRect, *, is_moving: bool) -> int:
        """Place the items in a rectangle, or only find the height that they need."""
        x, y, line = rect.x(), rect.y(), 0
        for item in self._items:
            hint = item.sizeHint()
            width = min(hint.width(), max(rect.width(), 1))
            if x > rect.x() and x + width > rect.x() + rect.width():
                x, y, line = rect.x(), y + line + self._between, 0
            if is_moving:
                item.setGeometry(QRect(QPoint(x, y), QSize(width, hint.height())))
            x += width + self._between
            line = max(line, hint.height())
        return y + line - rect.y()
