"""The corner by which a chart is made larger or smaller."""

from PyQt6.QtCore import QPoint, Qt, pyqtSignal
from PyQt6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QWidget

from mosaic_gui.state.language import tr
from mosaic_gui.theme.current import current

SIZE_PX = 14
_LINES = (4, 8)


class ChartGrip(QWidget):
    """Reports the wanted size while it is dragged."""

    resized = pyqtSignal(int, int)
    """Width and height that the chart is to have."""

    def __init__(self, chart: QWidget) -> None:
        super().__init__(chart)
        self.setFixedSize(SIZE_PX, SIZE_PX)
        self.setCursor(Qt.CursorShape.SizeFDiagCursor)
        self.setToolTip(tr("Drag to change the height of the rows and the number of columns"))
        self._begin: tuple[QPoint, int, int] | None = None

    def settle(self) -> None:
        """Take the place in the chart's corner."""
        chart = self.parentWidget()
        if chart is not None:
            self.move(chart.width() - SIZE_PX - 2, chart.height() - SIZE_PX - 2)

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        chart = self.parentWidget()
        if event is not None and chart is not None:
            self._begin = event.globalPosition().toPoint(), chart.width(), chart.height()

    def mouseMoveEvent(self, event: QMouseEvent | None) -> None:
        if event is not None and self._begin is not None:
            place, width, height = self._begin
            way = event.globalPosition().toPoint() - place
            self.resized.emit(width + way.x(), height + way.y())

    def mouseReleaseEvent(self, event: QMouseEvent | None) -> None:
        self._begin = None

    def paintEvent(self, event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(current().edge), 1))
        for length in _LINES:
            painter.drawLine(SIZE_PX - 3 - length, SIZE_PX - 3, SIZE_PX - 3, SIZE_PX - 3 - length)
        painter.end()
