"""The theme of a test. To apply one takes half a second for each window that is there."""

from PyQt6.QtCore import QEvent
from PyQt6.QtWidgets import QApplication

from mosaic_gui.theme.apply import apply_theme, current
from mosaic_gui.theme.tokens import DARK, Tokens


def wear(app: QApplication, tokens: Tokens) -> None:
    """Apply a theme unless the program has it."""
    if current() is not tokens:
        apply_theme(app, tokens)


def back_to_dark(app: QApplication) -> None:
    """The next test begins with the dark theme. Windows that are to be deleted go first."""
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    wear(app, DARK)
