"""Colours of a program's output, adapted to the theme so that they stay readable."""

from functools import lru_cache

from PyQt6.QtGui import QColor, QFont, QTextCharFormat

from mosaic_gui.state.ansi import Style
from mosaic_gui.theme.apply import current
from mosaic_gui.theme.tokens import Tokens, contrast, mixed

LEAST_CONTRAST = 3.0


def text_format(style: Style) -> QTextCharFormat:
    """Text format of a style in the present theme."""
    return _format(style, current())


def ink_of(name: str, tokens: Tokens) -> str:
    """The theme's colour for a terminal colour; a pale one is moved towards the text colour."""
    named = {
        "black": tokens.muted,
        "red": tokens.bad,
        "green": tokens.ok,
        "yellow": tokens.warn,
        "blue": tokens.accent,
        "magenta": tokens.series[3],
        "cyan": tokens.series[6],
        "white": tokens.text,
    }
    if name in named:
        return named[name]
    for share in (1.0, 0.7, 0.45, 0.2):
        if contrast(colour := mixed(name, tokens.text, share), tokens.surface) >= LEAST_CONTRAST:
            return colour
    return tokens.text


@lru_cache(maxsize=256)
def _format(style: Style, tokens: Tokens) -> QTextCharFormat:
    made = QTextCharFormat()
    ink = ink_of(style.ink, tokens) if style.ink else tokens.text
    if style.ground:
        made.setBackground(QColor(mixed(ink_of(style.ground, tokens), tokens.surface, 0.25)))
    made.setForeground(QColor(mixed(ink, tokens.surface, 0.65) if style.faint else ink))
    if style.bold:
        made.setFontWeight(QFont.Weight.Bold)
    made.setFontItalic(style.italic)
    made.setFontUnderline(style.underline)
    return made
