"""The present theme, and functions that are called when it changes.

What paints with `current()` and what the style sheet colours needs nothing: Qt paints every widget again. What keeps a
colour (a pen of a chart, HTML, formats of text) registers with `on_theme`.
"""

from collections.abc import Callable

from PyQt6.QtCore import QObject, pyqtSignal

from mosaic_gui.theme.tokens import DARK, Tokens


class _Applied(QObject):
    changed = pyqtSignal()

    def __init__(self) -> None:
        super().__init__()
        self.tokens = DARK


class _Recolour(QObject):
    """Child of a widget, so that it is disconnected when the widget goes."""

    def __init__(self, owner: QObject, act: Callable[[], object]) -> None:
        super().__init__(owner)
        self._act = act
        _applied.changed.connect(self._run)

    def _run(self) -> None:
        self._act()


_applied = _Applied()


def current() -> Tokens:
    """The present theme."""
    return _applied.tokens


def set_current(tokens: Tokens) -> None:
    """Note which theme is applied; `announce` follows when palette and style sheet are those of it."""
    _applied.tokens = tokens


def announce() -> None:
    """Call all functions that were registered with `on_theme`."""
    _applied.changed.emit()


def on_theme(owner: QObject, act: Callable[[], object]) -> None:
    """Call `act` whenever another theme was applied, as long as `owner` lives."""
    _Recolour(owner, act)
