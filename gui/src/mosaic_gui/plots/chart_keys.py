"""Keys of a chart that has the focus."""

from enum import Enum, auto

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QKeyEvent

from mosaic_gui.state.x_zoom import PAN_SHARE, WHEEL_FACTOR, Span, moved, scaled

_MOVE = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier


class ChartKey(Enum):
    """What a key does."""

    NEARER = auto()
    FARTHER = auto()
    LEFT = auto()
    RIGHT = auto()
    ALL = auto()
    ENLARGE = auto()
    LEAVE = auto()
    EARLIER = auto()
    LATER = auto()
    HIGHER = auto()
    LOWER = auto()


_KEYS = {
    Qt.Key.Key_Plus: ChartKey.NEARER,
    Qt.Key.Key_Equal: ChartKey.NEARER,
    Qt.Key.Key_Minus: ChartKey.FARTHER,
    Qt.Key.Key_Left: ChartKey.LEFT,
    Qt.Key.Key_Right: ChartKey.RIGHT,
    Qt.Key.Key_Home: ChartKey.ALL,
    Qt.Key.Key_Return: ChartKey.ENLARGE,
    Qt.Key.Key_Enter: ChartKey.ENLARGE,
    Qt.Key.Key_Escape: ChartKey.LEAVE,
}
_MOVES = {
    Qt.Key.Key_Left: ChartKey.EARLIER,
    Qt.Key.Key_Right: ChartKey.LATER,
    Qt.Key.Key_Down: ChartKey.HIGHER,
    Qt.Key.Key_Up: ChartKey.LOWER,
}
"""With Ctrl and Shift."""


def action_of(event: QKeyEvent) -> ChartKey | None:
    """What a key press does with a chart; None: nothing."""
    held = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
    key = Qt.Key(event.key())
    if held == _MOVE:
        return _MOVES.get(key)
    if held & ~Qt.KeyboardModifier.ShiftModifier:
        return None
    return _KEYS.get(key)


def span_after(act: ChartKey, span: Span) -> Span:
    """The visible stretch after a key press."""
    middle, width = (span[0] + span[1]) / 2, span[1] - span[0]
    match act:
        case ChartKey.NEARER:
            return scaled(span, middle, WHEEL_FACTOR)
        case ChartKey.FARTHER:
            return scaled(span, middle, 1 / WHEEL_FACTOR)
        case ChartKey.LEFT:
            return moved(span, -PAN_SHARE * width)
        case ChartKey.RIGHT:
            return moved(span, PAN_SHARE * width)
    return span
