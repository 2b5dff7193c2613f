"""Paints rows of the run list without delegates and style sheet, which take 2 ms a row.

What is costly is made once and kept: a text in its shape and cut to its column, a badge and a bar as a picture. What is
kept belongs to one list, and goes with it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import IntEnum
from functools import lru_cache, partial
from typing import NamedTuple

from PyQt6.QtCore import QPoint, QRect, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPixmap, QStaticText

from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.viewmodels.run_table import NUMERIC, Column, display_text
from mosaic_gui.views.badge import HEIGHT, badge_width, draw_badge, draw_bar

ROW_HEIGHT = 42
_INSET = 11
"""Between a column's edge and its text, as in the header."""
_BAR_HEIGHT = 4
_TEXTS, _PICTURES = 8_192, 1_024
"""Kept at most."""
Cell = tuple[Column, QRect]


class RowState(NamedTuple):
    """Whether a row is selected, current or under the pointer."""

    is_selected: bool
    is_hovered: bool
    is_current: bool
    """The row from which arrow keys move."""


class _Face(IntEnum):
    PLAIN = 0
    TITLE = 1
    SMALL = 2
    GROUP = 3


class RunRows:
    """Paints rows in one theme, for one device."""

    def __init__(self, device_ratio: Callable[[], float]) -> None:
        weights = QFont.Weight
        self._fonts = (
            ui_font(13),
            ui_font(13, weights.Medium),
            ui_font(12),
            ui_font(13, weights.DemiBold),
        )
        """By face."""
        tokens = current()
        names = ("text", "muted", "surface", "selection", "hover", "line", "edge")
        self._colours = {name: QColor(getattr(tokens, name)) for name in names}
        self._ratio = device_ratio
        self._shaped = lru_cache(_TEXTS)(partial(_shaped, self._fonts))
        self._badge = lru_cache(_PICTURES)(_badge)
        self._bar = lru_cache(_PICTURES)(_bar)

    @property
    def ground(self) -> QColor:
        """Paint the area without rows."""
        return self._colours["surface"]

    def paint_ground(self, painter: QPainter, rect: QRect, look: RowState) -> None:
        """Paint a row's background and the line below it."""
        name = "selection" if look.is_selected else "hover" if look.is_hovered else "surface"
        painter.fillRect(rect, self._colours[name])
        below = QRect(rect.left(), rect.bottom(), rect.width(), 1)
        painter.fillRect(below, self._colours["line"])
        if look.is_current and not look.is_selected:
            painter.setPen(self._colours["edge"])
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(rect.adjusted(0, 0, -1, -1))

    def paint_run(
        self, painter: QPainter, cells: Sequence[Cell], run: RunView, now: datetime
    ) -> None:
        """A run's cells."""
        for column, rect in cells:
            if column == Column.STATE:
                self._paint_badge(painter, rect, run)
            elif column == Column.RUN:
                self._paint_title(painter, rect, run)
            elif column == Column.PROGRESS:
                self._paint_progress(painter, rect, run)
            elif column == Column.REMAINING and all(words := run_row.outlook(run)):
                self._paint_pair(painter, rect.adjusted(_INSET, 5, -4, -5), *words)
            elif text := display_text(run, column, now):
                place = rect.adjusted(_INSET, 0, -_INSET, -1)
                self._paint_text(painter, place, text, _Face.PLAIN, "text", column in NUMERIC)

    def paint_group(self, painter: QPainter, rect: QRect, name: str, about: str) -> None:
        """Paint a group's heading with its number of runs."""
        place = rect.adjusted(6, 0, -6, 0)
        width = self._paint_text(painter, place, name, _Face.GROUP, "text")
        beside = place.adjusted(width + 14, 0, 0, 0)
        self._paint_text(painter, beside, about, _Face.SMALL, "muted")

    def _paint_badge(self, painter: QPainter, rect: QRect, run: RunView) -> None:
        word, tone = run_row.badge(run)
        top = rect.top() + (rect.height() - HEIGHT) // 2
        picture = self._badge(word, tone, self._ratio())
        painter.drawPixmap(QPoint(rect.left() + _INSET - 1, top), picture)

    def _paint_title(self, painter: QPainter, rect: QRect, run: RunView) -> None:
        place = rect.adjusted(_INSET, 5, -6, -5)
        words = run_row.title(run), run_row.subtitle_with_note(run)
        self._paint_pair(painter, place, *words, face=_Face.TITLE)

    def _paint_pair(
        self, painter: QPainter, place: QRect, word: str, about: str, face: _Face = _Face.PLAIN
    ) -> None:
        """Paint a line of text with a smaller one below."""
        half = place.height() // 2
        above, below = place.adjusted(0, 0, 0, -half), place.adjusted(0, half, 0, 0)
        self._paint_text(painter, above, word, face, "text")
        self._paint_text(painter, below, about, _Face.SMALL, "muted")

    def _paint_progress(self, painter: QPainter, rect: QRect, run: RunView) -> None:
        place = rect.adjusted(_INSET, 0, -_INSET, 0)
        words, part = run_row.steps_text(run), run_row.fraction(run)
        if part is None:
            self._paint_text(painter, place, words, _Face.SMALL, "text")
            return
        above = place.adjusted(0, 0, 0, -9)
        self._paint_text(painter, above, words, _Face.SMALL, "text")
        width, tone = place.width(), run_row.badge(run)[1]
        picture = self._bar(width, round(width * part), tone, self._ratio())
        painter.drawPixmap(QPoint(place.left(), place.bottom() - 10), picture)

    def _paint_text(
        self,
        painter: QPainter,
        rect: QRect,
        words: str,
        face: _Face,
        colour: str,
        is_right: bool = False,
    ) -> int:
        """One line in the middle of a place; its width."""
        font = self._fonts[face]
        text, width, height = self._shaped(words, face, rect.width())
        left = rect.left() + (rect.width() - width if is_right else 0)
        painter.setFont(font)
        painter.setPen(self._colours[colour])
        painter.drawStaticText(left, rect.top() + (rect.height() - height) // 2, text)
        return width


def _shaped(
    fonts: Sequence[QFont], words: str, face: _Face, room: int
) -> tuple[QStaticText, int, int]:
    """A text as it is drawn, cut to its room, with width and height."""
    font = fonts[face]
    one_line = words.replace("\n", " ")
    shown = QFontMetrics(font).elidedText(one_line, Qt.TextElideMode.ElideRight, room)
    text = QStaticText(shown)
    text.setTextFormat(Qt.TextFormat.PlainText)
    text.prepare(font=font)
    size = text.size()
    return text, round(size.width()), round(size.height())


def _badge(word: str, tone: str, ratio: float) -> QPixmap:
    picture = _blank(badge_width(word), HEIGHT, ratio)
    painter = QPainter(picture)
    draw_badge(painter, QRectF(0, 0, badge_width(word), HEIGHT), word, tone)
    painter.end()
    return picture


def _bar(width: int, filled: int, tone: str, ratio: float) -> QPixmap:
    picture = _blank(max(1, width), _BAR_HEIGHT, ratio)
    painter = QPainter(picture)
    draw_bar(painter, QRectF(0, 0, width, _BAR_HEIGHT), filled / max(1, width), tone)
    painter.end()
    return picture


def _blank(width: int, height: int, ratio: float) -> QPixmap:
    picture = QPixmap(round(width * ratio), round(height * ratio))
    picture.setDevicePixelRatio(ratio)
    picture.fill(Qt.GlobalColor.transparent)
    return picture
