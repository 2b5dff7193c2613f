"""The theme: the user's choice, else the one of the desktop, applied when either changes."""

from PyQt6.QtCore import QObject, QTimer
from PyQt6.QtGui import QGuiApplication
from PyQt6.QtWidgets import QApplication

from mosaic_gui.controllers.preferences import PreferenceStore
from mosaic_gui.theme.apply import apply_theme, current, tokens_for
from mosaic_gui.theme.tokens import DARK, LIGHT, Tokens


class ThemeController(QObject):
    """Applies another theme to the running program."""

    def __init__(self, preferences: PreferenceStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preferences = preferences
        self._is_stopped = False
        self.fixed: Tokens | None = None
        """Theme of the command line; it holds until another one is chosen in the window."""
        hints = QGuiApplication.styleHints()
        if hints is not None:
            hints.colorSchemeChanged.connect(self.follow)

    def toggle(self) -> None:
        """Change from dark to light, or back; the choice is kept."""
        self.fixed = None
        self._preferences.change("theme", LIGHT.name if current().is_dark else DARK.name)

    def follow(self) -> None:
        """Apply the theme with the next turn of the event loop: by then the desktop's own change is over."""
        if self._wanted is not current() and not self._is_stopped:
            QTimer.singleShot(0, self._apply)

    def stop(self) -> None:
        """Change nothing after this."""
        self._is_stopped = True

    @property
    def _wanted(self) -> Tokens:
        return self.fixed or tokens_for(self._preferences.settings.theme)

    def _apply(self) -> None:
        app = QApplication.instance()
        if isinstance(app, QApplication) and self._wanted is not current() and not self._is_stopped:
            apply_theme(app, self._wanted)
