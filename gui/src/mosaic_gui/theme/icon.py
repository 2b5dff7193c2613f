"""Icons in the colours of the theme: drawn from strokes, sharp at every scale."""

from functools import cache
from importlib.resources import files
from pathlib import Path

from PyQt6.QtCore import QByteArray, QRectF, Qt
from PyQt6.QtGui import QIcon, QPainter, QPixmap
from PyQt6.QtSvg import QSvgRenderer

_SIZE = 18
_SCALE = 3
"""Pixmaps are made larger than they are shown, for screens of high density."""


def icon(name: str, colour: str, selected: str | None = None) -> QIcon:
    """An icon in a colour; `selected` is its colour where it is checked."""
    made = QIcon(pixmap(name, colour))
    if selected is not None:
        made.addPixmap(pixmap(name, selected), QIcon.Mode.Normal, QIcon.State.On)
    return made


@cache
def pixmap(name: str, colour: str, size: int = _SIZE) -> QPixmap:
    """An icon as a picture of `size` logical pixels."""
    picture = QPixmap(size * _SCALE, size * _SCALE)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    renderer = QSvgRenderer(QByteArray(svg(name, colour).encode()))
    renderer.render(painter, QRectF(0, 0, size * _SCALE, size * _SCALE))
    painter.end()
    picture.setDevicePixelRatio(_SCALE)
    return picture


def svg(name: str, colour: str) -> str:
    """The drawing's text."""
    source = files("mosaic_gui.theme") / "icons" / f"{name}.svg"
    return source.read_text("utf-8").replace("COLOUR", colour)


def write_svg(name: str, colour: str, folder: Path) -> Path:
    """The drawing as a file, which is the only way in which a style sheet takes one."""
    path = folder / f"{name}-{colour.removeprefix('#')}.svg"
    path.write_text(svg(name, colour), encoding="utf-8")
    return path
