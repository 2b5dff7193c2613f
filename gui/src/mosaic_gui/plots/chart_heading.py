"""The line above a chart: its name, the newest value of each curve, and its menu."""

from collections.abc import Sequence

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QFont, QFontMetrics, QMouseEvent
from PyQt6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QMenu,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import icon

MOST_VALUES = 5
LEAST_NAME = 0.4
"""Share of the width that a long name keeps, however many values there are."""
_BETWEEN_PX = 8


class ChartHeading(QWidget):
    """As wide as its chart: a name that does not fit is elided, and values that do not fit are left out.

    The chart is moved by dragging it.
    """

    dragged = pyqtSignal(QPoint)
    """Place of the pointer on the screen."""
    dropped = pyqtSignal(QPoint)
    opened = pyqtSignal()
    """Double-clicked."""

    def __init__(self, name: str, menu: QMenu) -> None:
        super().__init__()
        self._name = name
        self._values: list[tuple[str, str]] = []
        self._pressed: QPoint | None = None
        self._is_dragged = False
        self.setCursor(Qt.CursorShape.OpenHandCursor)
        self._title, self.values = QLabel(), QLabel()
        self._title.setProperty("kind", "section")
        self._title.setTextFormat(Qt.TextFormat.PlainText)
        self._title.setToolTip(name)
        self.values.setTextFormat(Qt.TextFormat.RichText)
        self.more = QToolButton()
        self.more.setIcon(icon("more", "muted"))
        self.more.setMenu(menu)
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setToolTip(tr("Axis, place and files of this chart"))
        self.more.setCursor(Qt.CursorShape.ArrowCursor)
        self.more.setAccessibleName(tr("Menu of {name}", name=name))
        for text in (self._title, self.values):
            text.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._row = row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(_BETWEEN_PX)
        row.addWidget(self._title)
        row.addStretch(1)
        row.addWidget(self.values)
        row.addWidget(self.more)

    def show_values(self, values: Sequence[tuple[str, str]]) -> None:
        """Show texts, each in its colour."""
        if list(values) != self._values:
            self._values = list(values)
            self._fit()

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        super().mousePressEvent(event)
        if event is not None and event.button() is Qt.MouseButton.LeftButton:
            event.accept()
            self._pressed, self._is_dragged = event.globalPosition().toPoint(), False

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        super().mouseMoveEvent(event)
        if event is None or self._pressed is None:
            return
        place = event.globalPosition().toPoint()
        way = (place - self._pressed).manhattanLength()
        if self._is_dragged or way >= QApplication.startDragDistance():
            self._is_dragged = True
            self.dragged.emit(place)

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        super().mouseReleaseEvent(event)
        self._pressed = None
        if event is not None and self._is_dragged:
            self._is_dragged = False
            self.dropped.emit(event.globalPosition().toPoint())

    def mouseDoubleClickEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and event.button() is Qt.MouseButton.LeftButton:
            event.accept()
            self.opened.emit()

    def _fit(self) -> None:
        free = self.width() - self.more.sizeHint().width() - 3 * _BETWEEN_PX
        wanted = QFontMetrics(self._title.font()).horizontalAdvance(self._name) + 2
        shown = self._values_within(free - min(wanted, round(LEAST_NAME * free)))
        self.values.setText(self._html(shown))
        self.values.setFixedWidth(self._width_of(shown))
        self.values.setToolTip(self._html(len(self._values)) if shown < len(self._values) else "")
        free -= self.values.width()
        elided = QFontMetrics(self._title.font()).elidedText(
            self._name, Qt.TextElideMode.ElideMiddle, max(0, free - 2)
        )
        self._title.setText(elided)
        self._title.setFixedWidth(max(0, min(wanted, free)))
        # at once: until the next turn of the event loop the new values would lie over the menu's button
        self._row.activate()

    def _values_within(self, width: int) -> int:
        most = min(len(self._values), MOST_VALUES)
        return next((n for n in range(most, 0, -1) if self._width_of(n) <= width), 0)

    def _width_of(self, count: int) -> int:
        bold = QFont(self.values.font())
        bold.setBold(True)
        text = "  ".join(text for text, _ in self._values[:count])
        return QFontMetrics(bold).horizontalAdvance(text + self._rest(count)) + 2 if count else 0

    def _html(self, count: int) -> str:
        coloured = (
            f"<b><span style='color:{colour}'>{text}</span></b>"
            for text, colour in self._values[:count]
        )
        return "&nbsp; ".join(coloured) + self._rest(count)

    def _rest(self, count: int) -> str:
        return " …" if count < len(self._values) else ""
