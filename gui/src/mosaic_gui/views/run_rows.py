"""Paints rows of the run list without delegates and style sheet, which take 2 ms a row.

What is costly is made once and kept: a text in its shape and cut to its column, a badge and a bar as a picture. What is
kept belongs to one list, and goes with it.
"""

from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import lru_cache, partial
from typing import NamedTuple

from PyQt6.QtCore import QPoint, QRect, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPixmap, QStaticText

from mosaic_contracts.runs import RunView
from mosaic_gui.state import run_row, wording
from mosaic_gui.state.run_heads import RunHead
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.icon import pixmap
from mosaic_gui.viewmodels.run_list import RunListModel
from mosaic_gui.viewmodels.run_table import Column
from mosaic_gui.views.badge import HEIGHT, badge_width, draw_badge, draw_bar
from mosaic_gui.views.swatch import SWATCH, swatch

ROW_HEIGHT = 42
_INSET = 11
"""Between a column's edge and its text, as in the header."""
_BAR_HEIGHT = 4
_TEXTS, _PICTURES = 8_192, 1_024
"""Kept at most."""
_ARROW = 12
_CHIP_HEIGHT, _CHIP_INSET, _CHIP_GAP = 20, 8, 5
_CROSS = 14
"""Width of the part of a tag that removes it."""
_COMMON_OF_AT_MOST = 200
"""Runs of a group whose values are compared for its row."""
Cell = tuple[int, QRect]
"""Number of a column, and its place."""


class TagChip(NamedTuple):
    """A tag in its place."""

    tag: str
    """Empty: how many more there are."""
    text: str
    rect: QRect

    @property
    def cross(self) -> QRect:
        """The part that removes the tag."""
        return QRect(
            self.rect.right() - _CROSS - 2, self.rect.top(), _CROSS + 3, self.rect.height()
        )


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
        names = ("text", "muted", "surface", "raised", "selection", "hover", "line", "edge")
        self._colours = {name: QColor(getattr(tokens, name)) for name in names}
        self._ratio = device_ratio
        self._shaped = lru_cache(_TEXTS)(partial(_shaped, self._fonts))
        self._badge = lru_cache(_PICTURES)(_badge)
        self._bar = lru_cache(_PICTURES)(_bar)
        self._swatch = lru_cache(_PICTURES)(swatch)

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
        self,
        painter: QPainter,
        cells: Sequence[Cell],
        run: RunView,
        model: RunListModel,
        pointed_tag: str = "",
    ) -> None:
        """A run's cells. `pointed_tag`: the tag under the pointer, which shows its cross."""
        for column, rect in cells:
            if column == Column.STATE:
                self._paint_badge(painter, rect, run_row.badge(run))
            elif column == Column.RUN:
                place = self._paint_colour(painter, rect, model.curve_colours.get(run.run_id))
                self._paint_title(painter, place, model.title(run), model.subtitle(run))
            elif column == Column.PROGRESS:
                self._paint_progress(painter, rect, run)
            elif column == Column.TAGS:
                self._paint_tags(painter, self.chips(rect, run.tags), pointed_tag)
            elif column == Column.REMAINING and all(words := run_row.outlook(run)):
                self._paint_pair(painter, rect.adjusted(_INSET, 5, -4, -5), *words)
            elif text := model.text(run, column):
                self._paint_value(painter, rect, text, is_right=model.is_numeric(column))

    def _paint_value(self, painter: QPainter, rect: QRect, text: str, *, is_right: bool) -> None:
        place = rect.adjusted(_INSET, 0, -_INSET, -1)
        self._paint_text(painter, place, text, _Face.PLAIN, "text", is_right)

    def paint_arrow(self, painter: QPainter, rect: QRect, is_folded: bool) -> None:
        """Paint what folds a head, in the left of its row."""
        picture = pixmap("arrow_right" if is_folded else "arrow_down", current().muted, _ARROW)
        top = rect.top() + (rect.height() - _ARROW) // 2
        painter.drawPixmap(QRect(rect.left() + 3, top, _ARROW, _ARROW), picture)

    def paint_head(self, painter: QPainter, rect: QRect, name: str, about: str) -> None:
        """Paint the head of runs with one value, over the whole row."""
        place = rect.adjusted(6, 0, -6, 0)
        width = self._paint_text(painter, place, name, _Face.GROUP, "text")
        beside = place.adjusted(width + 14, 0, 0, 0)
        self._paint_text(painter, beside, about, _Face.SMALL, "muted")

    def paint_group(
        self, painter: QPainter, cells: Sequence[Cell], head: RunHead, model: RunListModel
    ) -> None:
        """Paint a group's cells: its progress and state, and what is equal in all of its runs."""
        progress, runs = model.progress(head), model.runs_of_head(head)
        for column, rect in cells:
            if column == Column.STATE:
                self._paint_badge(painter, rect, progress.badge)
            elif column == Column.RUN:
                colours = {model.curve_colours.get(run.run_id) for run in runs}
                colour = colours.pop() if len(colours) == 1 else None
                place = self._paint_colour(painter, rect, colour)
                self._paint_title(painter, place, head.title, model.about(head))
            elif column == Column.PROGRESS:
                self._paint_bar(painter, rect, progress.text, progress.fraction, progress.badge[1])
            elif text := _common_text(runs, column, model):
                self._paint_value(painter, rect, text, is_right=model.is_numeric(column))

    def chips(self, rect: QRect, tags: Sequence[str]) -> list[TagChip]:
        """Places of a run's tags in their cell; those without room are counted."""
        metrics = QFontMetrics(self._fonts[_Face.SMALL])
        left, right = rect.left() + _INSET - 4, rect.right() - 4
        top = rect.top() + (rect.height() - _CHIP_HEIGHT) // 2
        found: list[TagChip] = []
        for number, tag in enumerate(tags):
            rest = len(tags) - number
            more = metrics.horizontalAdvance(f"+{rest}") + 8 if rest > 1 else 0
            width = metrics.horizontalAdvance(tag) + 2 * _CHIP_INSET
            room = right - left - (more + _CHIP_GAP if rest > 1 else 0)
            if width > room and found:
                text = f"+{rest}"
                place = QRect(left, top, metrics.horizontalAdvance(text) + 8, _CHIP_HEIGHT)
                found.append(TagChip("", text, place))
                break
            text = metrics.elidedText(
                tag, Qt.TextElideMode.ElideRight, max(8, room - 2 * _CHIP_INSET)
            )
            found.append(TagChip(tag, text, QRect(left, top, min(width, room), _CHIP_HEIGHT)))
            left += min(width, room) + _CHIP_GAP
        return found

    def _paint_tags(self, painter: QPainter, chips: Sequence[TagChip], pointed: str) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for chip in chips:
            if chip.tag:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._colours["raised"])
                painter.drawRoundedRect(chip.rect, 5, 5)
            inset = _CHIP_INSET if chip.tag else 2
            place = chip.rect.adjusted(inset, 0, 0, 0)
            self._paint_text(painter, place, chip.text, _Face.SMALL, "text")
            if chip.tag and chip.tag == pointed:
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(self._colours["hover"])
                painter.drawRoundedRect(chip.cross, 5, 5)
                centre = chip.cross.center()
                place = QRect(centre.x() - 5, centre.y() - 5, 12, 12)
                painter.drawPixmap(place, pixmap("close", current().text, 12))

    def _paint_badge(self, painter: QPainter, rect: QRect, badge: tuple[str, str]) -> None:
        top = rect.top() + (rect.height() - HEIGHT) // 2
        picture = self._badge(*badge, self._ratio())
        painter.drawPixmap(QPoint(rect.left() + _INSET - 1, top), picture)

    def _paint_colour(self, painter: QPainter, rect: QRect, colour: int | None) -> QRect:
        """Paint the colour of a run's curves before its name; return the place that is left."""
        if colour is None:
            return rect
        top = rect.top() + (rect.height() - SWATCH.height()) // 2
        painter.drawPixmap(QPoint(rect.left() + _INSET - 2, top), self._swatch(colour))
        return rect.adjusted(SWATCH.width() + 2, 0, 0, 0)

    def _paint_title(self, painter: QPainter, rect: QRect, title: str, about: str) -> None:
        place = rect.adjusted(_INSET, 5, -6, -5)
        self._paint_pair(painter, place, title, about, face=_Face.TITLE)

    def _paint_pair(
        self, painter: QPainter, place: QRect, word: str, about: str, face: _Face = _Face.PLAIN
    ) -> None:
        """Paint a line of text with a smaller one below."""
        half = place.height() // 2
        above, below = place.adjusted(0, 0, 0, -half), place.adjusted(0, half, 0, 0)
        self._paint_text(painter, above, word, face, "text")
        self._paint_text(painter, below, about, _Face.SMALL, "muted")

    def _paint_progress(self, painter: QPainter, rect: QRect, run: RunView) -> None:
        part, tone = run_row.fraction(run), run_row.badge(run)[1]
        self._paint_bar(painter, rect, run_row.steps_text(run), part, tone)

    def _paint_bar(
        self, painter: QPainter, rect: QRect, words: str, part: float | None, tone: str
    ) -> None:
        place = rect.adjusted(_INSET, 0, -_INSET, 0)
        if part is None:
            self._paint_text(painter, place, words, _Face.SMALL, "text")
            return
        above = place.adjusted(0, 0, 0, -9)
        self._paint_text(painter, above, words, _Face.SMALL, "text")
        width = place.width()
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


def _common_text(runs: Sequence[RunView], column: int, model: RunListModel) -> str:
    """What a group's row says in a column: the best of returns, the newest of times, else what all runs have."""
    if not runs:
        return ""
    if column == Column.CREATED:
        return wording.ago(max(run.created_at for run in runs), model.now)
    if column == Column.BEST_RETURN:
        best = [value for run in runs if (value := run_row.best_return(run)) is not None]
        return wording.number(max(best)) if best else ""
    if column in (Column.ELAPSED, Column.REMAINING) or len(runs) > _COMMON_OF_AT_MOST:
        return ""
    found = {model.text(run, column) for run in runs}
    return found.pop() if len(found) == 1 else ""


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
