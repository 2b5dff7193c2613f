"""Bytes by kind: a bar of coloured parts, and below it what each colour means."""

from collections.abc import Sequence

from PyQt6.QtCore import QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PyQt6.QtWidgets import QSizePolicy

from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.storage import kind_word, share_text
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.views.bases import PaintedWidget
from mosaic_gui.views.storage_painter import kind_tone

_BAR, _LINE, _SQUARE = 12, 22, 10
_GAP, _BETWEEN = 6, 16


class KindLegend(PaintedWidget):
    """A stacked bar with its legend. Where there is little room, the smallest kinds are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("storage.kinds")
        self._totals: list[tuple[str, int]] = []
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(_BAR + _LINE + 4)
        self.show_totals([])

    def show_totals(self, totals: Sequence[tuple[str, int]]) -> None:
        """Show these kinds, the largest first."""
        self._totals = list(totals)
        self.setAccessibleName(tr("Bytes by kind"))
        self.setAccessibleDescription(", ".join(self._words()))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, self.height())

    def words_at(self, _point: QPointF) -> str:
        """All kinds, since some may not fit."""
        return "\n".join(self._words())

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        tokens, total = current(), sum(size for _, size in self._totals)
        left = 0.0
        for kind, size in self._totals:
            width = self.width() * size / total if total else 0.0
            painter.fillRect(
                QRectF(left, 0, max(1.0, width - 1), _BAR), QColor(kind_tone(kind, tokens))
            )
            left += width
        self._paint_legend(painter, total)

    def _paint_legend(self, painter: QPainter, total: int) -> None:
        tokens, left, top = current(), 0, _BAR + 4
        bold, plain = ui_font(12, QFont.Weight.Medium), ui_font(12)
        for number, (kind, size) in enumerate(self._totals):
            word = kind_word(kind)
            figures = f"{wording.bytes_text(size)} · {share_text(size, total)}"
            width = _SQUARE + _GAP + _width(bold, word) + _GAP + _width(plain, figures)
            rest = len(self._totals) - number
            more = tr("+ {n} more", n=rest)
            room = self.width() - left - (_width(plain, more) + _BETWEEN if rest > 1 else 0)
            if width > room:
                _draw(painter, plain, tokens.muted, left, top, more)
                return
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(kind_tone(kind, tokens)))
            painter.drawRoundedRect(
                QRectF(left, top + (_LINE - _SQUARE) / 2, _SQUARE, _SQUARE), 2, 2
            )
            at = left + _SQUARE + _GAP
            _draw(painter, bold, tokens.text, at, top, word)
            _draw(painter, plain, tokens.muted, at + _width(bold, word) + _GAP, top, figures)
            left += width + _BETWEEN

    def _words(self) -> list[str]:
        total = sum(size for _, size in self._totals)
        return [
            f"{kind_word(kind)}: {wording.bytes_text(size)}, {share_text(size, total)}"
            for kind, size in self._totals
        ]


def _width(font: QFont, words: str) -> int:
    return QFontMetrics(font).horizontalAdvance(words)


def _draw(painter: QPainter, font: QFont, colour: str, left: int, top: int, words: str) -> None:
    painter.setFont(font)
    painter.setPen(QColor(colour))
    rect = QRectF(left, top, _width(font, words) + 2, _LINE)
    painter.drawText(rect, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
