"""Paints the picture of what fills the disk: tiles of runs, divided by kind, in groups with headings."""

from functools import lru_cache
from typing import NamedTuple

from PyQt6.QtCore import QRect, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen

from mosaic_gui.state import wording
from mosaic_gui.state.storage import kind_colour, kind_word, tile_label
from mosaic_gui.state.storage_map import MapGrouping, MapTile, PlacedGroup, slices
from mosaic_gui.state.treemap import Tile
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.icon import pixmap
from mosaic_gui.theme.tokens import Tokens, mixed

SHARE = 0.34
"""Share of a kind's colour in its slice; the text on it has to be read."""
EDGE = 3
"""Pixels of full colour at the top of a slice."""
_LEAST_DIVIDED = 260
"""Square pixels; a smaller tile has the colour of its largest kind alone."""
_LEAST_FOR_NAME, _LEAST_FOR_SIZE = (52, 20), (52, 36)
_PAD = 6
_PIN = 13
_KEPT_TEXTS = 4_096
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class TileLook(NamedTuple):
    """How a tile is painted besides its content."""

    is_current: bool
    is_hovered: bool
    has_focus: bool


def kind_tone(kind: str, tokens: Tokens) -> str:
    """The colour of a kind in a theme."""
    number = kind_colour(kind)
    return tokens.neutral if number is None else tokens.series[number]


def slice_tone(kind: str, tokens: Tokens) -> str:
    """The colour of a slice of a kind, on which text is read."""
    return mixed(kind_tone(kind, tokens), tokens.surface, SHARE)


class StoragePainter:
    """Paints in one theme."""

    def __init__(self) -> None:
        self._tokens = current()
        self._name, self._small = ui_font(12, QFont.Weight.DemiBold), ui_font(11)
        self._elided = lru_cache(_KEPT_TEXTS)(_elided)
        self._by_kind: dict[str, tuple[QColor, QColor]] = {}
        self.ground = QColor(self._tokens.surface)

    def paint_group(self, painter: QPainter, placed: PlacedGroup, grouping: MapGrouping) -> None:
        """The ground of a group, its heading and its tiles."""
        if placed.group.title:
            painter.fillRect(_rect(placed.place), QColor(self._tokens.raised))
        if placed.heading.height > 0:
            self._paint_heading(painter, placed, grouping)
        for tile, place in zip(placed.group.tiles, placed.tiles, strict=True):
            self._paint_tile(painter, tile, place)

    def paint_look(self, painter: QPainter, place: Tile, look: TileLook) -> None:
        """What the pointer and the choice add to a tile."""
        rect = _rect(place.inset(1))
        if look.is_hovered:
            veil = QColor(self._tokens.text)
            veil.setAlpha(26)
            painter.fillRect(rect, veil)
        if look.is_current:
            name = self._tokens.accent if look.has_focus else self._tokens.text
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(name), 2.5))
            painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5))

    def _paint_heading(self, painter: QPainter, placed: PlacedGroup, grouping: MapGrouping) -> None:
        place = placed.heading.inset(0)
        title = placed.group.title
        words = kind_word(title) if grouping is MapGrouping.KIND else title
        size = wording.bytes_text(placed.group.bytes)
        rect = QRect(
            round(place.left) + _PAD,
            round(place.top),
            round(place.width) - 2 * _PAD,
            round(place.height),
        )
        width = QFontMetrics(self._small).horizontalAdvance(size) + 2
        room = rect.adjusted(0, 0, -width - 8, 0)
        self._text(painter, room, words, self._name, self._tokens.text)
        if room.width() > 24:
            rest = QRect(rect.right() - width + 1, rect.top(), width, rect.height())
            self._text(painter, rest, size, self._small, self._tokens.muted)

    def _paint_tile(self, painter: QPainter, tile: MapTile, place: Tile) -> None:
        inner = place.inset(0.75)
        if place.width * place.height < _LEAST_DIVIDED:
            kind = max(tile.kinds, key=lambda each: each[1])[0]
            painter.fillRect(_rect(inner), self._colours(kind)[0])
            return
        for (kind, _), part in zip(tile.kinds, slices(tile, inner), strict=True):
            rect = _rect(part)
            ground, edge = self._colours(kind)
            painter.fillRect(rect, ground)
            painter.fillRect(
                QRectF(rect.left(), rect.top(), rect.width(), min(EDGE, rect.height())), edge
            )
        self._paint_words(painter, tile, place)

    def _colours(self, kind: str) -> tuple[QColor, QColor]:
        """Colours of a slice and of its upper edge."""
        found = self._by_kind.get(kind)
        if found is None:
            names = slice_tone(kind, self._tokens), kind_tone(kind, self._tokens)
            found = self._by_kind[kind] = (QColor(names[0]), QColor(names[1]))
        return found

    def _paint_words(self, painter: QPainter, tile: MapTile, place: Tile) -> None:
        rect = QRect(
            round(place.left) + _PAD,
            round(place.top) + EDGE + 2,
            round(place.width) - 2 * _PAD,
            15,
        )
        if place.width < _LEAST_FOR_NAME[0] or place.height < _LEAST_FOR_NAME[1]:
            return
        if tile.is_pinned:
            painter.drawPixmap(
                rect.left() - 2, rect.top() + 1, pixmap("pin", self._tokens.text, _PIN)
            )
            rect.setLeft(rect.left() + _PIN + 1)
        self._text(painter, rect, tile_label(tile), self._name, self._tokens.text)
        if place.width >= _LEAST_FOR_SIZE[0] and place.height >= _LEAST_FOR_SIZE[1]:
            below = QRect(
                round(place.left) + _PAD, rect.bottom() + 1, round(place.width) - 2 * _PAD, 14
            )
            size = wording.bytes_text(tile.bytes)
            if QFontMetrics(self._small).horizontalAdvance(size) <= below.width():
                self._text(painter, below, size, self._small, self._tokens.text)

    def _text(self, painter: QPainter, rect: QRect, words: str, font: QFont, colour: str) -> None:
        if rect.width() < 12 or not words:
            return
        painter.setFont(font)
        painter.setPen(QColor(colour))
        painter.drawText(rect, _LEFT, self._elided(words, font.key(), font, rect.width()))


def _elided(words: str, _key: str, font: QFont, room: int) -> str:
    text = words.replace("\n", " ")
    return QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, room)


def _rect(place: Tile) -> QRectF:
    return QRectF(place.left, place.top, place.width, place.height)
