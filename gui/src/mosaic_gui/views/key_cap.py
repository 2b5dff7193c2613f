"""Keycaps: keys of a play that light while they are held, and that can be changed."""

from PyQt6.QtCore import Qt, pyqtSignal
from PyQt6.QtGui import QFocusEvent, QKeyEvent
from PyQt6.QtWidgets import QPushButton

from mosaic_gui.state.language import tr
from mosaic_gui.state.play_keys import entry_text
from mosaic_gui.views.key_reader import key_name
from mosaic_gui.views.text import button, restyle


class KeyCap(QPushButton):
    """An entry of a key map: a key, or keys together."""

    key_chosen = pyqtSignal(str)
    """The key that was pressed in its place."""
    remove_wanted = pyqtSignal()

    def __init__(self, entry: str, *, name: str) -> None:
        """`entry`: empty for a cap that waits for a key to be added."""
        super().__init__()
        self.entry = entry
        self._is_editable = self._is_waiting = False
        self.setObjectName(name)
        self.setProperty("kind", "keycap")
        self.setProperty("held", False)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.clicked.connect(self._wait)
        self._show()

    def set_editable(self, on: bool) -> None:
        """Let a click change its key, or not."""
        self._is_editable = on
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor if on else Qt.CursorShape.ArrowCursor)
        self._show()

    def set_held(self, held: frozenset[str]) -> None:
        """Light up while all of its keys are held."""
        is_held = bool(self.entry) and held.issuperset(self.entry.split("+"))
        if self.property("held") is not is_held:
            self.setProperty("held", is_held)
            restyle(self)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is None or not self._is_waiting:
            super().keyPressEvent(event)
            return
        event.accept()
        name = key_name(event)
        if name == "escape":
            self._stop_waiting()
        elif name and not event.isAutoRepeat():
            self._stop_waiting()
            if name in ("delete", "backspace") and self.entry:
                self.remove_wanted.emit()
            else:
                self.key_chosen.emit(name)

    def focusNextPrevChild(self, forward: bool) -> bool:
        """While it waits, Tab is a key like any other."""
        return not self._is_waiting and super().focusNextPrevChild(forward)

    def focusOutEvent(self, event: QFocusEvent | None) -> None:
        super().focusOutEvent(event)
        self._stop_waiting()

    def _wait(self) -> None:
        if self._is_editable:
            self._is_waiting = True
            self.setFocus()
            self._show()

    def _stop_waiting(self) -> None:
        if self._is_waiting:
            self._is_waiting = False
            self._show()

    def _show(self) -> None:
        word = entry_text(self.entry) if self.entry else "+"
        self.setText(tr("Press a key") if self._is_waiting else word)
        if self._is_editable and self.entry:
            self.setToolTip(
                tr("Click, then press another key. Del removes this one, Esc keeps it.")
            )
        else:
            self.setToolTip(tr("Click, then press the key to add") if self._is_editable else "")
        name = tr("Add a key") if not self.entry else tr("Key {key}", key=word)
        self.setAccessibleName(name)
        if self.property("waits") is not self._is_waiting:
            self.setProperty("waits", self._is_waiting)
            restyle(self)


def edit_button(name: str) -> QPushButton:
    """The button that begins and ends the editing of keys."""
    made = button(tr("Edit"), "quiet", name)
    made.setCheckable(True)
    made.setToolTip(tr("Change the keys. The play is paused meanwhile."))
    return made
