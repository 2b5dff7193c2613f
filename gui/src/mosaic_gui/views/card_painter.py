"""Paints cards of checkpoints, and the headings between them."""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from PyQt6.QtCore import QPointF, QRect, QRectF, Qt
from PyQt6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen, QPixmap, QPolygonF

from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_gui.state import checkpoint_texts as texts
from mosaic_gui.state.checkpoint_texts import CheckedFile, Tag
from mosaic_gui.state.language import tr
from mosaic_gui.state.reward_trend import RewardTrend
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.icon import pixmap
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.checkpoint_cards import GroupHeading, MoreCards
from mosaic_gui.views.badge import HEIGHT as BADGE_HEIGHT
from mosaic_gui.views.badge import badge_width, draw_badge

_PAD = 12
_RADIUS = 8
_TREND = (84, 34)
"""Width and height of a trend."""
_ICON = 14
_KEPT_TEXTS = 8_192
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class CardLook(NamedTuple):
    """How a card is painted besides its checkpoint."""

    is_current: bool
    is_hovered: bool
    has_focus: bool
    checked: CheckedFile | None
    trend: RewardTrend | None
    is_evaluated: bool
    """Whether an evaluation of it goes on."""


class CardPainter:
    """Paints in one theme."""

    def __init__(self) -> None:
        weights = QFont.Weight
        self._title = ui_font(13, weights.DemiBold)
        self._figure = ui_font(20, weights.DemiBold)
        self._small = ui_font(12)
        self._elided = lru_cache(_KEPT_TEXTS)(_elided)
        tokens = current()
        self._tokens = tokens
        self.ground = QColor(tokens.surface)

    def paint_card(
        self, painter: QPainter, rect: QRect, row: CheckpointRow, look: CardLook, now: datetime
    ) -> None:
        """A card: step and marks, return and trend, evaluation, run, and size."""
        self._paint_ground(painter, rect, look)
        inner = rect.adjusted(_PAD, 9, -_PAD, -9)
        head = QRect(inner.left(), inner.top(), inner.width(), BADGE_HEIGHT)
        self._paint_head(painter, head, row, look)
        beside_trend = inner.width() - _TREND[0] - 8
        self._paint_trend(
            painter,
            QRect(inner.right() - _TREND[0] + 1, head.bottom() + 4, *_TREND),
            row,
            look.trend,
        )
        figure = QRect(inner.left(), head.bottom() + 3, beside_trend, 28)
        width = self._text(painter, figure, texts.return_text(row), self._figure, "text")
        about = figure.adjusted(width + 7, 5, 0, 0)
        self._text(painter, about, texts.return_label(row), self._small, "muted")
        line = QRect(inner.left(), inner.bottom() - 34, inner.width(), 18)
        evaluated = texts.evaluation_text(row.evaluation)
        words = tr("evaluated {result}", result=evaluated) if evaluated else ""
        width = self._text(painter, line, words, self._small, "text")
        rest = line.adjusted(width + 10 if width else 0, 0, 0, 0)
        self._text(painter, rest, row.run_name, self._small, "muted")
        self._paint_foot(painter, line.translated(0, 18), row, look, now)

    def paint_heading(
        self, painter: QPainter, rect: QRect, entry: GroupHeading | MoreCards, look: CardLook
    ) -> None:
        """Environment, algorithm and number of a group, or what shows more of it."""
        if look.is_hovered or (look.is_current and look.has_focus):
            painter.setPen(self._edge(look) if look.is_current else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._tokens.hover))
            painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)
        is_heading = isinstance(entry, GroupHeading)
        inner = rect.adjusted(8, 0, -8, 0)
        if isinstance(entry, GroupHeading):
            name = "arrow_right" if entry.is_folded else "arrow_down"
            picture = pixmap(name, self._tokens.muted, _ICON)
            painter.drawPixmap(inner.left(), inner.center().y() - _ICON // 2, picture)
            inner.setLeft(inner.left() + _ICON + 8)
        colour = "text" if is_heading else "accent"
        width = self._text(painter, inner, entry.title, self._title, colour)
        self._text(painter, inner.adjusted(width + 12, 0, 0, 0), entry.about, self._small, "muted")

    def _paint_ground(self, painter: QPainter, rect: QRect, look: CardLook) -> None:
        name = "selection" if look.is_current else "hover" if look.is_hovered else "raised"
        painter.setBrush(QColor(getattr(self._tokens, name)))
        painter.setPen(self._edge(look))
        painter.drawRoundedRect(QRectF(rect).adjusted(0.5, 0.5, -0.5, -0.5), _RADIUS, _RADIUS)

    def _edge(self, look: CardLook) -> QPen:
        tokens = self._tokens
        if look.is_current:
            return QPen(QColor(tokens.accent if look.has_focus else tokens.edge), 1)
        return QPen(QColor(tokens.line), 1)

    def _paint_head(
        self, painter: QPainter, rect: QRect, row: CheckpointRow, look: CardLook
    ) -> None:
        tags = texts.tags(row, look.checked)
        if look.is_evaluated:
            tags.append(Tag(tr("Evaluating"), "accent"))
        right = self._paint_tags(painter, rect, tags)
        place = QRect(rect.left(), rect.top(), right - 6 - rect.left(), rect.height())
        self._text(painter, place, texts.step_text(row), self._title, "text")

    def _paint_tags(self, painter: QPainter, rect: QRect, tags: Sequence[Tag]) -> int:
        """Badges from the right; the place that is left of them."""
        right = rect.right() + 1
        for word, tone in reversed(tags):
            width = badge_width(word)
            draw_badge(painter, QRectF(right - width, rect.top(), width, BADGE_HEIGHT), word, tone)
            right -= width + 4
        return right

    def _paint_foot(
        self, painter: QPainter, rect: QRect, row: CheckpointRow, look: CardLook, now: datetime
    ) -> None:
        """Size, date and normaliser, with a tick where the hash was compared."""
        place = QRect(rect)
        if look.checked is not None and texts.integrity(row, look.checked)[1] == "ok":
            picture: QPixmap = pixmap("check", self._tokens.ok, _ICON)
            painter.drawPixmap(place.left(), place.center().y() - _ICON // 2 + 1, picture)
            place.setLeft(place.left() + _ICON + 5)
        self._text(painter, place, texts.card_foot(row, now), self._small, "muted")

    def _paint_trend(
        self, painter: QPainter, rect: QRect, row: CheckpointRow, trend: RewardTrend | None
    ) -> None:
        """Returns of the run as a line, with a dot where the checkpoint was saved."""
        if trend is None or len(trend.values) < 2:
            return
        low, high = min(trend.values), max(trend.values)
        first, last = trend.steps[0], trend.steps[-1]
        box = QRectF(rect).adjusted(3, 4, -3, -4)

        def at(step: float, value: float) -> QPointF:
            x = (step - first) / (last - first) if last > first else 1.0
            y = (value - low) / (high - low) if high > low else 0.5
            return QPointF(box.left() + x * box.width(), box.bottom() - y * box.height())

        points = [at(*point) for point in zip(trend.steps, trend.values, strict=True)]
        accent = self._tokens.accent
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(QColor(mixed(accent, self._tokens.raised, 0.75)), 1.4))
        painter.drawPolyline(QPolygonF(points))
        if row.step is not None:
            number = min(range(len(points)), key=lambda n: abs(trend.steps[n] - (row.step or 0)))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(accent))
            painter.drawEllipse(points[number], 3, 3)

    def _text(self, painter: QPainter, rect: QRect, words: str, font: QFont, colour: str) -> int:
        """One line, cut where it does not fit; its width."""
        if rect.width() < 12 or not words:
            return 0
        shown, width = self._elided(words, font.key(), font, rect.width())
        painter.setFont(font)
        painter.setPen(QColor(getattr(self._tokens, colour)))
        painter.drawText(rect, _LEFT, shown)
        return width


def _elided(words: str, _key: str, font: QFont, room: int) -> tuple[str, int]:
    metrics = QFontMetrics(font)
    shown = metrics.elidedText(words.replace("\n", " "), Qt.TextElideMode.ElideRight, room)
    return shown, metrics.horizontalAdvance(shown)
