"""The state of a run as a coloured word, and its progress as a bar."""

from functools import cache

from PyQt6.QtCore import QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PyQt6.QtWidgets import QLabel

from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import mixed

HEIGHT = 22


class Badge(QLabel):
    """A word on a tint of its tone, with a dot before it, so that it is read without colours too."""

    def __init__(self, word: str = "", tone: str = "neutral") -> None:
        super().__init__()
        self.tone = tone
        self.set_state(word, tone)

    def set_state(self, word: str, tone: str) -> None:
        """Show a word in a tone (ok, warn, bad, accent, neutral)."""
        self.tone = tone
        self.setText(word)
        self.setFixedSize(self.sizeHint())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(badge_width(self.text()), HEIGHT)

    def paintEvent(self, _event: object) -> None:
        painter = QPainter(self)
        draw_badge(painter, QRectF(self.rect()), self.text(), self.tone)


def draw_badge(painter: QPainter, rect: QRectF, word: str, tone: str) -> None:
    """A badge in a place."""
    tokens = current()
    colour = tokens.tone(tone)
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(_tint(colour, tokens.surface, 0.16))
    painter.drawRoundedRect(rect, rect.height() / 2, rect.height() / 2)
    painter.setBrush(QColor(colour))
    painter.drawEllipse(QRectF(rect.left() + 9, rect.center().y() - 3, 6, 6))
    painter.setPen(QColor(colour))
    painter.setFont(_badge_font())
    painter.drawText(rect.adjusted(20, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, word)
    painter.restore()


def draw_bar(painter: QPainter, rect: QRectF, fraction: float, tone: str) -> None:
    """A progress bar in a place."""
    tokens = current()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(_tint(tokens.edge, tokens.surface, 0.35))
    painter.drawRoundedRect(rect, 2, 2)
    painter.setBrush(QColor(tokens.tone(tone)))
    filled = QRectF(rect.left(), rect.top(), rect.width() * fraction, rect.height())
    painter.drawRoundedRect(filled, 2, 2)


@cache
def _tint(colour: str, ground: str, part: float) -> QColor:
    return QColor(mixed(colour, ground, part))


@cache
def _badge_font() -> QFont:
    return ui_font(12, QFont.Weight.Medium)


@cache
def badge_width(word: str) -> int:
    """Pixels that a badge needs."""
    return QFontMetrics(_badge_font()).horizontalAdvance(word) + 32
