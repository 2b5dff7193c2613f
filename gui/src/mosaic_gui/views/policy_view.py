"""Draws values, policy and the agent's position over a grid world."""

from PyQt6.QtCore import QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PyQt6.QtWidgets import QSizePolicy

from mosaic_contracts.grid import Grid
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr
from mosaic_gui.state.policy_map import CellPolicy, Move, move_of
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.beliefs import BeliefsModel
from mosaic_gui.views.bases import PaintedWidget
from mosaic_gui.views.world import draw_world

NUMBERS_FROM = 62
"""Pixels of a cell from which the value of each action is written at its side, where numbers that short say enough."""
_ARROW = 0.34
"""Share of a cell's side that the arrow takes."""
_MARGIN = 6


class PolicyView(PaintedWidget):
    """Heat: the value of the best action; arrows: the actions with it; the dot: the agent."""

    def __init__(self, model: BeliefsModel) -> None:
        super().__init__()
        self._model = model
        self._whole = QRectF()
        self.setObjectName("beliefs.policy")
        self.setAccessibleName(tr("Values and policy over the grid"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(180, 150)
        model.place_changed.connect(self.update)
        model.decisions_changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(300, 260)

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        grid = self._model.grid
        if grid is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        room = QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN)
        policy = self._model.policy or []
        decision = self._model.decision
        learned = {
            (row, column)
            for row, cells in enumerate(policy)
            for column, cell in enumerate(cells)
            if cell.best
        }
        self._whole = draw_world(painter, room, grid, None, learned)
        for row, cells in enumerate(policy):
            for column, cell in enumerate(cells):
                self._draw_cell(painter, self._cell_rect(row, column), grid, cell)
        if decision is not None and decision.cell is not None:
            self._draw_agent(painter, self._cell_rect(*decision.cell))

    def words_at(self, point: QPointF) -> str:
        """Kind and action values of the cell under a point."""
        grid = self._model.grid
        if grid is None or not self._whole.contains(point):
            return ""
        side = self._whole.width() / grid.shape[1]
        row = min(int((point.y() - self._whole.top()) / side), grid.shape[0] - 1)
        column = min(int((point.x() - self._whole.left()) / side), grid.shape[1] - 1)
        words = [f"{row},{column}  {grid.cells[row][column]}"]
        if (policy := self._model.policy) is not None:
            values = policy[row][column].values
            best = policy[row][column].best
            words += [
                f"{action.name}  {wording.number(values[n])}{'  ◂' if n in best else ''}"
                for n, action in enumerate(grid.actions)
            ]
        return "\n".join(words)

    def _cell_rect(self, row: int, column: int) -> QRectF:
        columns = self._model.grid.shape[1] if self._model.grid else 1
        side = self._whole.width() / columns
        return QRectF(
            self._whole.left() + column * side, self._whole.top() + row * side, side, side
        )

    def _draw_cell(self, painter: QPainter, cell: QRectF, grid: Grid, policy: CellPolicy) -> None:
        if not policy.best:
            return
        tokens = current()
        side = cell.width()
        inner = cell.adjusted(side * 0.03, side * 0.03, -side * 0.03, -side * 0.03)
        heat = QColor(tokens.accent)
        heat.setAlphaF(0.06 + 0.42 * policy.share)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(heat)
        painter.drawRoundedRect(inner, side * 0.08, side * 0.08)
        ink = QColor(mixed(tokens.text, tokens.surface, 0.9))
        for action in policy.best:
            _draw_move(painter, cell, move_of(grid, action), ink)
        if side >= NUMBERS_FROM:
            self._write_values(painter, inner, grid, policy)

    def _write_values(
        self, painter: QPainter, inner: QRectF, grid: Grid, policy: CellPolicy
    ) -> None:
        tokens = current()
        painter.setFont(ui_font(9 if inner.width() < 84 else 10))
        inside = inner.adjusted(3, 2, -3, -2)
        metrics = painter.fontMetrics()
        room = (inside.width() - _ARROW * inner.width()) / 2
        digits = next(
            (
                n
                for n in (2, 1, 0)
                if all(metrics.horizontalAdvance(f"{v:.{n}f}") <= room for v in policy.values)
            ),
            None,
        )
        if digits is None or (digits == 0 and len({round(v) for v in policy.values}) == 1):
            return  # cut or all the same, they would say nothing
        for action, value in enumerate(policy.values):
            where = _SIDES.get(move_of(grid, action) or (0, 0))
            if where is None:
                continue  # an action that moves nothing has no side; the tool tip has it
            painter.setPen(QColor(tokens.text if action in policy.best else tokens.muted))
            painter.drawText(inside, where, f"{value:.{digits}f}")

    def _draw_agent(self, painter: QPainter, cell: QRectF) -> None:
        tokens = current()
        radius = cell.width() * 0.17
        painter.setPen(QPen(QColor(tokens.surface), max(2.0, cell.width() * 0.03)))
        painter.setBrush(QColor(tokens.warn))
        painter.drawEllipse(cell.center(), radius, radius)


_SIDES = {
    (-1, 0): Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignHCenter,
    (1, 0): Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignHCenter,
    (0, -1): Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter,
    (0, 1): Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter,
}


def _draw_move(painter: QPainter, cell: QRectF, move: Move | None, ink: QColor) -> None:
    side, centre = cell.width(), cell.center()
    if move is None:
        painter.setPen(QPen(ink, max(1.2, side * 0.03)))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawEllipse(centre, side * 0.1, side * 0.1)
        return
    length = max(abs(move[0]), abs(move[1]))
    ahead = QPointF(move[1] / length, move[0] / length)
    across = QPointF(-ahead.y(), ahead.x())
    tip, tail = centre + ahead * (side * 0.15), centre - ahead * (side * 0.15)
    neck = tip - ahead * (side * 0.12)
    painter.setPen(QPen(ink, max(1.2, side * 0.03)))
    painter.drawLine(tail, neck)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(ink)
    wing = across * (side * 0.08)
    painter.drawPolygon(QPolygonF([tip, neck + wing, neck - wing]))
