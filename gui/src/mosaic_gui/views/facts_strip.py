"""A strip of short facts that wraps: a name and a value each, whose places stay while values change."""

from collections.abc import Sequence

from PyQt6.QtCore import QPointF, QRect, QSize, Qt
from PyQt6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PyQt6.QtWidgets import QSizePolicy

from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.views.bases import PaintedWidget

_NAME_PX, _VALUE_PX = 11, 13
_GAP, _BETWEEN = 5, 14
_LINE = 20


class FactsStrip(PaintedWidget):
    """Facts from left to right, in as many lines as they need."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._facts: list[tuple[str, str]] = []
        self._widths: list[int] = []
        """The widest value of each fact since the facts were others: a number that grows moves nothing."""
        self._places: list[QRect] = []
        self.help = ""
        """Tool tip."""
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    def show_facts(self, facts: Sequence[tuple[str, str]]) -> None:
        """Show these facts."""
        if [name for name, _ in facts] != [name for name, _ in self._facts]:
            self._widths = [0] * len(facts)
        self._facts = list(facts)
        metrics = QFontMetrics(ui_font(_VALUE_PX))
        wider = [
            max(before, metrics.horizontalAdvance(value) + 1)
            for before, (_, value) in zip(self._widths, facts, strict=True)
        ]
        if wider != self._widths:
            self._widths = wider
            self._arrange()
        self.update()

    @property
    def facts(self) -> list[tuple[str, str]]:
        """The facts that are shown."""
        return list(self._facts)

    def sizeHint(self) -> QSize:
        return QSize(200, self._height)

    def words_at(self, _point: QPointF) -> str:
        """Tool tip: all facts, since a value can be cut."""
        lines = [f"{name}  {value}" for name, value in self._facts]
        return "\n".join([*lines, self.help] if self.help else lines)

    def resizeEvent(self, event: QResizeEvent | None) -> None:
        super().resizeEvent(event)
        self._arrange()

    @property
    def _height(self) -> int:
        return max((place.bottom() + 1 for place in self._places), default=_LINE)

    def _arrange(self) -> None:
        """Place the facts; long values share the line's width."""
        metrics, x, line = QFontMetrics(ui_font(_NAME_PX)), 0, 0
        self._places = []
        for (name, _), value_width in zip(self._facts, self._widths, strict=True):
            whole = metrics.horizontalAdvance(name) + _GAP + value_width
            width = min(whole, max(1, self.width()))
            if x > 0 and x + width > self.width():
                x, line = 0, line + 1
            self._places.append(QRect(x, line * _LINE, width, _LINE))
            x += width + _BETWEEN
        if self.height() != self._height:
            self.setFixedHeight(self._height)

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter, tokens = QPainter(self), current()
        small, large = ui_font(_NAME_PX), ui_font(_VALUE_PX)
        names, values = QFontMetrics(small), QFontMetrics(large)
        for (name, value), place in zip(self._facts, self._places, strict=True):
            base = place.center().y() + values.ascent() // 2 - 1
            painter.setFont(small)
            painter.setPen(QColor(tokens.muted))
            painter.drawText(QPointF(place.left(), base), name)
            left = place.left() + names.horizontalAdvance(name) + _GAP
            painter.setFont(large)
            painter.setPen(QColor(tokens.text))
            room = place.right() + 1 - left
            shown = values.elidedText(value, Qt.TextElideMode.ElideRight, room)
            painter.drawText(QPointF(left, base), shown)
