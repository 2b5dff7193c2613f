"""A small picture of how a curve is drawn: its colour and dash pattern."""

from PyQt6.QtCore import QPointF, QRectF, QSize, Qt
from PyQt6.QtGui import QColor, QPainter, QPen, QPixmap

from mosaic_gui.plots.curve_pens import dash_of, series_colour
from mosaic_gui.theme.current import current

SWATCH = QSize(16, 12)
"""Size of the picture."""
_SCALE = 3


def swatch(colour: int, *, is_hidden: bool = False) -> QPixmap:
    """A dot in the colour of a curve, a dashed line for curves that are dashed; hollow where it is hidden."""
    picture = QPixmap(SWATCH * _SCALE)
    picture.setDevicePixelRatio(_SCALE)
    picture.fill(Qt.GlobalColor.transparent)
    painter = QPainter(picture)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    drawn = QColor(current().muted if is_hidden else series_colour(colour))
    dash = dash_of(colour)
    middle = SWATCH.height() / 2
    if dash is not Qt.PenStyle.SolidLine:
        painter.setPen(QPen(drawn, 2.0, dash))
        painter.drawLine(QPointF(0, middle), QPointF(SWATCH.width(), middle))
    else:
        painter.setPen(QPen(drawn, 1.4))
        painter.setBrush(Qt.BrushStyle.NoBrush if is_hidden else drawn)
        painter.drawEllipse(QRectF(2, middle - 4.5, 9, 9))
    painter.end()
    return picture
