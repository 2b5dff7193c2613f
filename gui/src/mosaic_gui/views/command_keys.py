"""Passes the keys of commands to their commands, also from a field that would use them.

On X11 a field takes Ctrl+U, Ctrl+K, Ctrl+E and Ctrl+D for editing, before any shortcut is looked for.
"""

from collections.abc import Callable, Iterable

from PyQt6.QtCore import QEvent, QObject, Qt
from PyQt6.QtGui import QKeyEvent, QKeySequence
from PyQt6.QtWidgets import QApplication, QPlainTextEdit, QWidget

OWN_UNDO = "ownUndo"
"""Property of a field of several lines in which Ctrl+Z undoes typing, as long as something was typed."""
TAKES_KEYS = "takesKeys"
"""Property of a widget that records keys now: none of them acts."""
_MODIFIERS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier


class CommandKeys(QObject):
    """Filters the events of the focused widget only, because a filter of the application sees every event."""

    def __init__(self, window: QWidget, keys: Callable[[], Iterable[QKeySequence]]) -> None:
        """`keys`: those of all commands that can be given now."""
        super().__init__(window)
        self._window, self._keys = window, keys
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus)

    def _on_focus(self, old: QWidget | None, new: QWidget | None) -> None:
        if old is not None:
            old.removeEventFilter(self)
        if new is not None and self._window.isAncestorOf(new):
            new.installEventFilter(self)

    def eventFilter(self, watched: QObject | None, event: QEvent | None) -> bool:
        """Return True to withhold a key from the widget, so that Qt finds its shortcut."""
        if not isinstance(event, QKeyEvent) or event.type() is not QEvent.Type.ShortcutOverride:
            return False
        if not event.modifiers() & _MODIFIERS:
            return False  # what is typed is typed
        if watched is not None and watched.property(TAKES_KEYS):
            return False
        pressed = QKeySequence(event.keyCombination())
        if pressed not in list(self._keys()) or _undoes_typing(watched, event):
            return False
        event.ignore()
        return True


def _undoes_typing(watched: QObject | None, event: QKeyEvent) -> bool:
    if not isinstance(watched, QPlainTextEdit) or not watched.property(OWN_UNDO):
        return False
    document = watched.document()
    return (
        document is not None
        and document.isUndoAvailable()
        and event.matches(QKeySequence.StandardKey.Undo)
    )
