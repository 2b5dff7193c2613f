"""The state of a run as a coloured word, and its progress as a bar."""

from functools import cache

from PyQt6.QtCore import QModelIndex, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QPainter
from PyQt6.QtWidgets import QLabel, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.run_table import Role

_HEIGHT = 22
_BAR_HEIGHT = 4
ROW_HEIGHT = 42


class Badge(QLabel):
    """A word on a tint of its tone, with a dot before it: the colour is not all that tells."""

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
        return QSize(_badge_width(self.text()), _HEIGHT)

    def paintEvent(self, _event: object) -> None:
        painter = QPainter(self)
        draw_badge(painter, QRectF(self.rect()), self.text(), self.tone)


class RowDelegate(QStyledItemDelegate):
    """Rows of one height."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex) -> QSize:
        return QSize(super().sizeHint(option, index).width(), ROW_HEIGHT)


class BadgeDelegate(RowDelegate):
    """Badges in a table."""

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        if painter is None:
            return
        _draw_ground(self, painter, option, index)
        if index.data(Role.GROUP):
            _draw_group(painter, option, index)
            return
        word = str(index.data() or "")
        rect = QRectF(option.rect)
        top = rect.center().y() - _HEIGHT / 2
        place = QRectF(rect.left() + 10, top, _badge_width(word), _HEIGHT)
        draw_badge(painter, place, word, index.data(Role.TONE) or "neutral")


class RunDelegate(RowDelegate):
    """A run's title, and below it what tells it from others."""

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        if painter is None:
            return
        _draw_ground(self, painter, option, index)
        tokens = current()
        rect = option.rect.adjusted(11, 5, -6, -5)
        half = rect.height() // 2
        painter.save()
        lines = (
            (_font(13, QFont.Weight.Medium), tokens.text, str(index.data() or "")),
            (_font(12), tokens.muted, str(index.data(Role.SUBTITLE) or "")),
        )
        for n, (font, colour, text) in enumerate(lines):
            place = rect.adjusted(0, n * half, 0, (n - 1) * half)
            shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, rect.width())
            painter.setFont(font)
            painter.setPen(QColor(colour))
            painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, shown)
        painter.restore()


class ProgressDelegate(RowDelegate):
    """How far a run is: the steps in words, and a bar where the end is known."""

    def paint(
        self, painter: QPainter | None, option: QStyleOptionViewItem, index: QModelIndex
    ) -> None:
        if painter is None:
            return
        _draw_ground(self, painter, option, index)
        tokens = current()
        rect = QRectF(option.rect).adjusted(11, 0, -12, 0)
        fraction = index.data(Role.FRACTION)
        painter.save()
        painter.setFont(_font(12))
        painter.setPen(QColor(tokens.text))
        words = rect.adjusted(0, 0, 0, -9) if fraction is not None else rect
        painter.drawText(words, Qt.AlignmentFlag.AlignVCenter, str(index.data() or ""))
        if fraction is not None:
            bar = QRectF(rect.left(), rect.bottom() - 10, rect.width(), _BAR_HEIGHT)
            draw_bar(painter, bar, float(fraction), index.data(Role.TONE) or "accent")
        painter.restore()


def _draw_group(painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex) -> None:
    """What a group has in common, and how much of it there is."""
    tokens = current()
    name, about = str(index.data() or ""), str(index.data(Role.SUBTITLE) or "")
    font = ui_font(13, QFont.Weight.DemiBold)
    place = option.rect.adjusted(6, 0, -6, 0)
    painter.save()
    painter.setFont(font)
    painter.setPen(QColor(tokens.text))
    painter.drawText(place, Qt.AlignmentFlag.AlignVCenter, name)
    painter.setFont(_font(12))
    painter.setPen(QColor(tokens.muted))
    beside = place.adjusted(QFontMetrics(font).horizontalAdvance(name) + 14, 0, 0, 0)
    painter.drawText(beside, Qt.AlignmentFlag.AlignVCenter, about)
    painter.restore()


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


def _draw_ground(
    delegate: QStyledItemDelegate,
    painter: QPainter,
    option: QStyleOptionViewItem,
    index: QModelIndex,
) -> None:
    """Selection and rule as in all other cells, without the text."""
    empty = QStyleOptionViewItem(option)
    delegate.initStyleOption(empty, index)
    empty.text = ""
    widget = option.widget
    style = widget.style() if widget is not None else None
    if style is not None:
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, empty, painter, widget)


@cache
def _font(size: int, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """A list paints some hundred texts a frame: their fonts and tints are made once."""
    return ui_font(size, weight)


@cache
def _tint(colour: str, ground: str, part: float) -> QColor:
    return QColor(mixed(colour, ground, part))


def _badge_font() -> QFont:
    return _font(12, QFont.Weight.Medium)


@cache
def _badge_width(word: str) -> int:
    return QFontMetrics(_badge_font()).horizontalAdvance(word) + 32
