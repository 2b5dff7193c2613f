"""Makes palette, style sheet and fonts from a table of colours."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from string import Template

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PyQt6.QtWidgets import QApplication, QHeaderView, QStyleFactory

from mosaic_gui.theme.current import announce, current, set_current
from mosaic_gui.theme.drawings import drawing
from mosaic_gui.theme.tokens import DARK, LIGHT, THEMES, Tokens, mixed

__all__ = ["apply_theme", "current", "load_fonts", "mono_font", "tokens_for", "ui_font"]

FAMILY = "Inter"
SIZE_PX = 13
STYLE = "fusion"


def load_fonts() -> None:
    """The typeface that comes with the client: the same text has the same width on every machine."""
    font = files("mosaic_gui.theme") / "fonts" / "Inter.ttf"
    QFontDatabase.addApplicationFontFromData(font.read_bytes())


def apply_theme(app: QApplication, tokens: Tokens) -> None:
    """Give every window of the program these colours. Widgets that are there stay as they are but for their colours."""
    set_current(tokens)
    if app.property("mosaic.style") != STYLE:
        app.setStyle(QStyleFactory.create(STYLE))
        app.setFont(ui_font())
        app.setProperty("mosaic.style", STYLE)
    app.setPalette(_palette(tokens))
    sheet = (files("mosaic_gui.theme") / "style.qss").read_text("utf-8")
    names = _names(tokens) | {
        "check": drawing("check", tokens.on_accent),
        "arrow_down": drawing("arrow_down", tokens.muted),
        "arrow_right": drawing("arrow_right", tokens.muted),
        "arrow_up": drawing("arrow_up", tokens.muted),
    }
    # by way of an empty sheet it would take a third of the time, and lists would lose their place
    with _columns_kept():
        app.setStyleSheet(Template(sheet).substitute(names))
    announce()


@contextmanager
def _columns_kept() -> Iterator[None]:
    """Measure the columns of tables once, at the end: else Qt measures all their cells dozens of times."""
    measured = QHeaderView.ResizeMode.ResizeToContents
    kept = [
        (header, section)
        for header in QApplication.allWidgets()
        if isinstance(header, QHeaderView)
        for section in range(header.count())
        if header.sectionResizeMode(section) == measured
    ]
    for header, section in kept:
        header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
    yield
    for header, section in kept:
        header.setSectionResizeMode(section, measured)


def tokens_for(choice: str) -> Tokens:
    """The theme of this name, else the desktop's own; dark where the desktop does not say which it has."""
    if choice in THEMES:
        return THEMES[choice]
    hints = QGuiApplication.styleHints()
    light = hints is not None and hints.colorScheme() is Qt.ColorScheme.Light
    return LIGHT if light else DARK


def ui_font(size_px: int = SIZE_PX, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """The client's font. Digits have one width, so that numbers do not dance."""
    return QFont(_made_font(size_px, weight))


@cache
def _made_font(size_px: int, weight: QFont.Weight) -> QFont:
    font = QFont(FAMILY)
    font.setPixelSize(size_px)
    font.setWeight(weight)
    font.setFeature(QFont.Tag(b"tnum"), 1)
    return font


def mono_font(size_px: int = 12) -> QFont:
    """For output of programs."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(size_px)
    return font


def _palette(tokens: Tokens) -> QPalette:
    palette = QPalette()
    roles = {
        QPalette.ColorRole.Window: tokens.ground,
        QPalette.ColorRole.WindowText: tokens.text,
        QPalette.ColorRole.Base: tokens.surface,
        QPalette.ColorRole.AlternateBase: tokens.raised,
        QPalette.ColorRole.Text: tokens.text,
        QPalette.ColorRole.Button: tokens.raised,
        QPalette.ColorRole.ButtonText: tokens.text,
        QPalette.ColorRole.Highlight: tokens.selection,
        QPalette.ColorRole.HighlightedText: tokens.text,
        QPalette.ColorRole.ToolTipBase: tokens.raised,
        QPalette.ColorRole.ToolTipText: tokens.text,
        QPalette.ColorRole.PlaceholderText: tokens.muted,
        QPalette.ColorRole.Link: tokens.accent,
        QPalette.ColorRole.Mid: tokens.line,
        QPalette.ColorRole.Light: tokens.hover,
        QPalette.ColorRole.Dark: tokens.line,
    }
    for role, colour in roles.items():
        palette.setColor(role, QColor(colour))
    disabled = QPalette.ColorGroup.Disabled
    for role in (
        QPalette.ColorRole.Text,
        QPalette.ColorRole.WindowText,
        QPalette.ColorRole.ButtonText,
    ):
        palette.setColor(disabled, role, QColor(mixed(tokens.muted, tokens.surface, 0.6)))
    return palette


def _names(tokens: Tokens) -> dict[str, str]:
    return {
        "ground": tokens.ground,
        "surface": tokens.surface,
        "raised": tokens.raised,
        "hover": tokens.hover,
        # what can be typed into is never greyer than what lies around it
        "field": tokens.ground if tokens.is_dark else tokens.surface,
        # what is chosen lies above its ground: lighter than it in both themes
        "lifted": tokens.hover if tokens.is_dark else tokens.selection,
        "line": tokens.line,
        "edge": tokens.edge,
        "edge_soft": mixed(tokens.edge, tokens.surface, 0.55),
        "text": tokens.text,
        "muted": tokens.muted,
        "disabled": mixed(tokens.muted, tokens.surface, 0.6),
        "accent": tokens.accent,
        "accent_hover": mixed(tokens.accent, tokens.text, 0.85),
        "accent_soft": mixed(tokens.accent, tokens.surface, 0.16),
        "on_accent": tokens.on_accent,
        "selection": tokens.selection,
        "ok": tokens.ok,
        "warn": tokens.warn,
        "bad": tokens.bad,
        "bad_soft": mixed(tokens.bad, tokens.surface, 0.14),
        "warn_soft": mixed(tokens.warn, tokens.surface, 0.14),
        "neutral": tokens.neutral,
        "readout": mixed(tokens.raised, tokens.surface, 0.92),
    }
