"""Icons in the colours of the theme: drawn from strokes, sharp at every scale."""

from functools import cache
from importlib.resources import files

from PyQt6.QtCore import QByteArray, QPoint, QRect, QRectF, QSize, Qt
from PyQt6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PyQt6.QtSvg import QSvgRenderer

from mosaic_gui.theme.current import current
from mosaic_gui.theme.tokens import mixed

_SIZE = 18
_WINDOW_SIZES = (16, 24, 32, 48, 64, 128)
_SCALE = 3
"""Pixmaps are made larger than they are shown, for screens of high density."""


def icon(name: str, colour: str, selected: str = "") -> QIcon:
    """An icon in a colour of the theme, by the colour's name; `selected`: its colour where it is checked."""
    return QIcon(_ThemeIcon(name, colour, selected or colour))


class _ThemeIcon(QIconEngine):
    """Draws with each paint, in the colours of that moment."""

    def __init__(self, name: str, colour: str, selected: str) -> None:
        super().__init__()
        self._name, self._colour, self._selected = name, colour, selected

    def clone(self) -> QIconEngine:
        return _ThemeIcon(self._name, self._colour, self._selected)

    def paint(
        self, painter: QPainter | None, rect: QRect, mode: QIcon.Mode, state: QIcon.State
    ) -> None:
        tokens = current()
        role = self._selected if state is QIcon.State.On else self._colour
        colour = getattr(tokens, role)
        if mode is QIcon.Mode.Disabled:
            colour = mixed(tokens.muted, tokens.surface, 0.6)
        _renderer(self._name, colour).render(painter, QRectF(rect))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        picture = QPixmap(size)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        self.paint(painter, QRect(QPoint(0, 0), size), mode, state)
        painter.end()
        return picture


@cache
def _renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(svg(name, colour).encode()))


@cache
def pixmap(name: str, colour: str, size: int = _SIZE) -> QPixmap:
    """An icon as a picture of `size` logical pixels."""
    picture = QPixmap(size * _SCALE, size * _SCALE)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    _renderer(name, colour).render(painter, QRectF(0, 0, size * _SCALE, size * _SCALE))
    painter.end()
    picture.setDevicePixelRatio(_SCALE)
    return picture


def window_icon(colour: str) -> QIcon:
    """The program's icon in the sizes that window managers and task bars ask for."""
    made = QIcon()
    for size in _WINDOW_SIZES:
        picture = QPixmap(size, size)
        picture.fill(Qt.GlobalColor.transparent)
        painter = QPainter(picture)
        _renderer("mosaic", colour).render(painter, QRectF(0, 0, size, size))
        painter.end()
        made.addPixmap(picture)
    return made


def svg(name: str, colour: str) -> str:
    """The drawing's text."""
    source = files("mosaic_gui.theme") / "icons" / f"{name}.svg"
    return source.read_text("utf-8").replace("COLOUR", colour)
