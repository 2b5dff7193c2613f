"""The environment in the middle of the window: a frame, a grid, or one line that says why neither."""

from collections.abc import Collection

from PyQt6.QtCore import QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PyQt6.QtWidgets import QHBoxLayout, QSizePolicy, QStackedWidget, QVBoxLayout, QWidget

from mosaic_contracts.grid import Grid
from mosaic_gui.state.language import tr
from mosaic_gui.theme.apply import current, ui_font
from mosaic_gui.theme.tokens import Tokens, mixed
from mosaic_gui.viewmodels.stage import StageModel
from mosaic_gui.views.bases import VisibilityFrame
from mosaic_gui.views.text import ElidedLabel, IconLabel, label

LINE_HEIGHT = 44
"""Height of the stage without a picture: one line."""
LEAST_HEIGHT = 280
_MARGIN = 12
_UNBOUNDED = 16_777_215
"""Qt's largest height."""
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


class StageView(VisibilityFrame):
    """Shows the environment of the watched run."""

    def __init__(self, model: StageModel) -> None:
        super().__init__()
        self.setProperty("kind", "panel")
        self.setObjectName("stage")
        self._model = model
        self._parts = QStackedWidget()
        self.picture = Picture(model)
        self._words = self._line()
        self.is_large = False
        self._empty = self._large_words()
        for part in (self.picture, self._words, self._empty):
            self._parts.addWidget(part)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(1, 1, 1, 1)
        layout.addWidget(self._parts)
        model.changed.connect(self.refresh)
        self.refresh()

    def set_large(self, on: bool) -> None:
        """Set whether the stage keeps its space while there is no picture."""
        self.is_large = on
        self.refresh()

    def refresh(self) -> None:
        """Shrink to one line where there is no picture."""
        has = self._model.has_picture
        without = self._empty if self.is_large else self._words
        self._parts.setCurrentWidget(self.picture if has else without)
        takes_room = has or self.is_large
        self.setMaximumHeight(_UNBOUNDED if takes_room else LINE_HEIGHT)
        self.setMinimumHeight(LEAST_HEIGHT if takes_room else LINE_HEIGHT)
        self._explain()
        self.picture.update()

    def _large_words(self) -> QWidget:
        made = QWidget()
        layout = QVBoxLayout(made)
        layout.setContentsMargins(28, 20, 28, 20)
        layout.setSpacing(8)
        icon = IconLabel("stage", "muted", 40)
        self._name, self._how = label("", "hero"), label("", "muted", wraps=True)
        layout.addStretch(2)
        for part in (icon, self._name):
            layout.addWidget(part, 0, Qt.AlignmentFlag.AlignHCenter)
        self._how.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        layout.addWidget(self._how)
        layout.addStretch(3)
        return made

    def _line(self) -> QWidget:
        made = QWidget()
        row = QHBoxLayout(made)
        row.setContentsMargins(12, 0, 12, 0)
        row.setSpacing(10)
        icon = IconLabel("stage", "muted")
        self._why = ElidedLabel("", "muted")
        row.addWidget(icon)
        row.addWidget(self._why, 1)
        return made

    def _explain(self) -> None:
        name = self._model.environment
        if not name:
            short, how = tr("Choose a run to see its environment."), ""
        else:
            short = tr("{environment} sends no picture.", environment=name)
            how = tr(
                "The picture appears here with the first frame that the run sends. A grid world is drawn from the "
                "run's configuration, where that describes a grid."
            )
        self._why.set_whole(short)
        self._why.setToolTip(f"{short}\n{how}".strip())
        self._name.setText(name or tr("No run is chosen"))
        self._how.setText(how or short)


class Picture(QWidget):
    """Paints the newest frame or the grid, as large as its space allows."""

    def __init__(self, model: StageModel) -> None:
        super().__init__()
        self._model = model
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(tr("Environment"))

    def sizeHint(self) -> QSize:
        return QSize(360, 300)

    def paintEvent(self, _event: QPaintEvent | None) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        model, room = (
            self._model,
            QRectF(self.rect()).adjusted(_MARGIN, _MARGIN, -_MARGIN, -_MARGIN),
        )
        if model.frame is not None:
            painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
            size = model.frame.size().scaled(
                room.size().toSize(), Qt.AspectRatioMode.KeepAspectRatio
            )
            place = QRectF(0, 0, size.width(), size.height())
            place.moveCenter(room.center())
            painter.drawImage(place, model.frame)
        elif model.grid is not None:
            draw_world(painter, room, model.grid, model.place)


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
