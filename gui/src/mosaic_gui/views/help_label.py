"""At most two lines of help beside a field; what does not fit ends in `…`, and the tool tip has all of it."""

from PyQt6.QtCore import QPointF, QSize, Qt
from PyQt6.QtGui import QColor, QFontMetrics, QPainter, QTextLayout, QTextOption
from PyQt6.QtWidgets import QSizePolicy, QWidget

from mosaic_gui.theme.apply import current, ui_font

MOST_LINES = 2
_FONT_PX = 12


class HelpLabel(QWidget):
    """Takes the room that there is and never asks for more."""

    def __init__(self) -> None:
        super().__init__()
        self._text, self._is_fault = "", False
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def text(self) -> str:
        """All of it, whatever is shown."""
        return self._text

    def set_help(self, text: str, *, is_fault: bool) -> None:
        """Show a text, in the colour of faults if it is one."""
        if (text, is_fault) != (self._text, self._is_fault):
            self._text, self._is_fault = text, is_fault
            self.setToolTip(text)
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(80, MOST_LINES * QFontMetrics(ui_font(_FONT_PX)).lineSpacing())

    def paintEvent(self, _event: object) -> None:
        tokens = current()
        font = ui_font(_FONT_PX)
        metrics = QFontMetrics(font)
        lines = _lines(self._text, font_metrics=metrics, width=self.width())
        painter = QPainter(self)
        painter.setFont(font)
        painter.setPen(QColor(tokens.bad if self._is_fault else tokens.muted))
        top = (self.height() - len(lines) * metrics.lineSpacing()) / 2 + metrics.ascent()
        for n, line in enumerate(lines):
            painter.drawText(QPointF(0, top + n * metrics.lineSpacing()), line)


def _lines(text: str, font_metrics: QFontMetrics, width: int) -> list[str]:
    layout = QTextLayout(text, ui_font(_FONT_PX))
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    lines: list[str] = []
    while len(lines) < MOST_LINES and (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        begin = line.textStart()
        if len(lines) == MOST_LINES - 1:
            rest = text[begin:]
            lines.append(font_metrics.elidedText(rest, Qt.TextElideMode.ElideRight, width))
        else:
            lines.append(text[begin : begin + line.textLength()].rstrip())
    layout.endLayout()
    return lines
