"""Colours, widths and dash patterns of curves."""

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QColor, QPen

from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import mixed
from mosaic_gui.viewmodels.curves import Drawn

SMOOTH_WIDTH = 1.6
ROUGH_FROM = 300
"""Points of a faint line from which it is drawn without antialiasing, which takes half of the time."""
OLDER_SHARE = 0.5
"""Share of the colour of a series in the colour of its earlier passes, which the newest pass repeats."""
BAND_SHARE = 0.16
_DASHES = (
    Qt.PenStyle.SolidLine,
    Qt.PenStyle.DashLine,
    Qt.PenStyle.DotLine,
    Qt.PenStyle.DashDotLine,
)
"""Dash patterns that distinguish lines of one colour once all colours are taken."""


def series_colour(index: int) -> str:
    """Colour of a curve by its index; colours repeat."""
    series = current().series
    return series[index % len(series)]


def dash_of(index: int) -> Qt.PenStyle:
    """Dash pattern of a curve by its index."""
    return _DASHES[index // len(current().series) % len(_DASHES)]


def line_colour(drawn: Drawn) -> QColor:
    """Colour of the smooth line, or of the raw one where it is alone; of earlier passes it is paler."""
    colour = series_colour(drawn.colour)
    return QColor(mixed(colour, current().surface, OLDER_SHARE) if drawn.is_older else colour)


def raw_colour(drawn: Drawn) -> QColor:
    """Colour of the raw line: that of the series, paler where a smooth line or a mean lies over it."""
    tokens = current()
    colour = line_colour(drawn).name()
    if is_alone(drawn):
        return QColor(colour)
    share = 0.14 if drawn.is_faint else 0.32 if tokens.is_dark else 0.28
    # mixed, not translucent: Qt draws a translucent line of many zigzags in ten times the time
    return QColor(mixed(colour, tokens.surface, share))


def is_alone(drawn: Drawn) -> bool:
    """Whether the raw line is all that is drawn of a curve."""
    return drawn.smooth is None and not drawn.is_faint


def smooth_pen(drawn: Drawn, width: float) -> QPen:
    """Pen of the smoothed line or the mean; `width` in pixels."""
    pen = QPen(line_colour(drawn), 1.0 if drawn.is_older else width)
    pen.setStyle(dash_of(drawn.colour))
    return pen


def band_brush(colour: QColor) -> QColor:
    """Colour of a band around a mean of this colour."""
    ground = QColor(colour)
    ground.setAlphaF(BAND_SHARE)
    return ground
