"""Paints a grid world: its cells by kind, and the agent."""

from collections.abc import Collection

from PyQt6.QtCore import QRectF, Qt
from PyQt6.QtGui import QColor, QPainter, QPen

from mosaic_contracts.grid import Grid
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import Tokens, mixed

_TONES = {
    "goal": "ok",
    "destination": "ok",
    "start": "accent",
    "hole": "bad",
    "cliff": "bad",
    "lava": "bad",
    "wall": "neutral",
    "passenger": "warn",
}
"""Colour of a kind of cell where the world uses a common word; others are plain."""


def draw_world(
    painter: QPainter,
    room: QRectF,
    grid: Grid,
    place: tuple[int, int] | None,
    unnamed: Collection[tuple[int, int]] = (),
) -> QRectF:
    """A grid in the middle of a room, cells square; returns where it lies. Cells in `unnamed` bear no word."""
    tokens = current()
    rows, columns = grid.shape
    side = min(room.width() / columns, room.height() / rows)
    whole = QRectF(0, 0, side * columns, side * rows)
    whole.moveCenter(room.center())
    gap = max(1.0, side * 0.03)
    for row in range(rows):
        for column in range(columns):
            kind = grid.cells[row][column]
            cell = QRectF(whole.left() + column * side, whole.top() + row * side, side, side)
            _draw_cell(
                painter,
                cell.adjusted(gap, gap, -gap, -gap),
                kind,
                tokens,
                (row, column) not in unnamed,
            )
    if place is not None:
        row, column = place
        _draw_agent(
            painter,
            QRectF(whole.left() + column * side, whole.top() + row * side, side, side),
            tokens,
        )
    return whole


def _draw_cell(painter: QPainter, cell: QRectF, kind: str, tokens: Tokens, named: bool) -> None:
    tone = _TONES.get(kind)
    ground = mixed(tokens.tone(tone), tokens.surface, 0.22) if tone else tokens.raised
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(ground))
    painter.drawRoundedRect(cell, cell.width() * 0.08, cell.width() * 0.08)
    size = int(cell.width() * 0.2)
    if named and tone and size >= 8:
        painter.setFont(ui_font(min(size, 15)))
        painter.setPen(QColor(tokens.tone(tone)))
        painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, kind)


def _draw_agent(painter: QPainter, cell: QRectF, tokens: Tokens) -> None:
    radius = cell.width() * 0.24
    painter.setPen(QPen(QColor(tokens.surface), max(2.0, cell.width() * 0.04)))
    painter.setBrush(QColor(tokens.accent))
    painter.drawEllipse(cell.center(), radius, radius)
