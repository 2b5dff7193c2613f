"""Which theme holds: the one that was chosen, else the desktop's own."""

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication

from mosaic_gui.state.settings import Scheme
from mosaic_gui.theme.tokens import DARK, LIGHT, THEMES, Tokens


def tokens_for(scheme: Scheme) -> Tokens:
    """The table of colours of a choice; the desktop that does not say which it has gets dark."""
    if scheme in THEMES:
        return THEMES[scheme]
    hints = QGuiApplication.styleHints()
    light = hints is not None and hints.colorScheme() is Qt.ColorScheme.Light
    return LIGHT if light else DARK
