"""Help next to a field: two lines at rest, all of it while the field is used, and always in the tool tip."""

from functools import lru_cache

from PyQt6.QtCore import QPointF, QSize, Qt
from PyQt6.QtGui import QColor, QFontMetrics, QPainter, QTextLayout, QTextOption
from PyQt6.QtWidgets import QSizePolicy, QWidget

from mosaic_gui.theme.apply import current, ui_font

REST_LINES = 2
_FONT_PX = 12
_MANY = 1_000


class HelpLabel(QWidget):
    """A help text as wide as its place and as high as its lines."""

    def __init__(self) -> None:
        super().__init__()
        self._text, self._is_fault, self._is_open = "", False, False
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    @property
    def is_cut(self) -> bool:
        """Whether the text is cut."""
        shown = self._shown_lines(self.width())
        return bool(shown) and shown[-1].endswith("…") and not self._text.endswith("…")

    def set_help(self, text: str, *, is_fault: bool) -> None:
        """Show a text, in the colour of faults if it is one; a fault is never cut."""
        if (text, is_fault) != (self._text, self._is_fault):
            self._text, self._is_fault = text, is_fault
            self.setToolTip(text)
            self.updateGeometry()
            self.update()

    def set_open(self, is_open: bool) -> None:
        """Show all of it, or two lines again."""
        if is_open != self._is_open:
            self._is_open = is_open
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(80, self.heightForWidth(max(80, self.width())))

    def heightForWidth(self, width: int) -> int:
        lines = max(1, len(self._shown_lines(width)))
        return lines * QFontMetrics(ui_font(_FONT_PX)).lineSpacing()

    def paintEvent(self, _event: object) -> None:
        tokens = current()
        font = ui_font(_FONT_PX)
        metrics = QFontMetrics(font)
        lines = self._shown_lines(self.width())
        painter = QPainter(self)
        painter.setFont(font)
        painter.setPen(QColor(tokens.bad if self._is_fault else tokens.muted))
        top = (self.height() - len(lines) * metrics.lineSpacing()) / 2 + metrics.ascent()
        for n, line in enumerate(lines):
            painter.drawText(QPointF(0, top + n * metrics.lineSpacing()), line)

    def _shown_lines(self, width: int) -> tuple[str, ...]:
        most = _MANY if self._is_open or self._is_fault else REST_LINES
        return _lines(self._text, width, most)


@lru_cache(maxsize=1_000)  # a layout asks for the same height many times
def _lines(text: str, width: int, most: int) -> tuple[str, ...]:
    font = ui_font(_FONT_PX)
    layout, metrics = QTextLayout(text, font), QFontMetrics(font)
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    layout.beginLayout()
    lines: list[str] = []
    while len(lines) < most and (line := layout.createLine()).isValid():
        line.setLineWidth(width)
        begin = line.textStart()
        if len(lines) == most - 1:
            rest = text[begin:]
            lines.append(metrics.elidedText(rest, Qt.TextElideMode.ElideRight, width))
        else:
            lines.append(text[begin : begin + line.textLength()].rstrip())
    layout.endLayout()
    return tuple(lines)
