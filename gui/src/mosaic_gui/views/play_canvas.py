"""The picture of an environment that a person plays: it reads the keyboard while it has the focus."""

from collections.abc import Callable

from PyQt6.QtCore import QEvent, Qt, pyqtSignal
from PyQt6.QtGui import QFocusEvent, QKeyEvent, QMouseEvent
from PyQt6.QtWidgets import QBoxLayout, QFrame, QVBoxLayout

from mosaic_gui.views.frame_canvas import FrameCanvas
from mosaic_gui.views.key_reader import KeyReader, key_name
from mosaic_gui.views.text import label, restyle

_COMMANDS = (
    Qt.KeyboardModifier.ControlModifier
    | Qt.KeyboardModifier.AltModifier
    | Qt.KeyboardModifier.MetaModifier
)
STRIP_HEIGHT = 36
"""Height of the strip above the picture, in which notices cover nothing."""
_SWITCHES = frozenset({"ctrl", "alt", "meta"})


class PlayCanvas(FrameCanvas):
    """A canvas that emits the keys of a player. Without a player it is a picture like any other."""

    pressed = pyqtSignal(str)
    """Name of a key that went down."""
    released = pyqtSignal(str)
    captured = pyqtSignal(bool)
    """Whether it has the keyboard now. Once it has lost it, no key is down."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._reader = KeyReader()
        self._takes_keys = False
        self._means: Callable[[str], bool] = lambda _name: False
        self._notice = StageNotice()
        self.setAttribute(Qt.WidgetAttribute.WA_InputMethodEnabled, False)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.addWidget(self._notice)

    def set_takes_keys(self, on: bool, means: Callable[[str], bool]) -> None:
        """Read the keyboard while it has the focus, or not. `means`: whether a key does something in this play."""
        self._means = means
        if on is self._takes_keys:
            return
        self._takes_keys = on
        self.set_strip(STRIP_HEIGHT if on else 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus if on else Qt.FocusPolicy.NoFocus)
        if not on and self.hasFocus():
            self.clearFocus()

    def show_notice(self, headline: str, more: str, *, calls: bool) -> None:
        """Show what is asked of the player: above the picture, or in its middle as a call to click (`calls`)."""
        self._notice.show_words(headline, more, calls=calls)
        place = Qt.AlignmentFlag.AlignVCenter if calls else Qt.AlignmentFlag.AlignTop
        if (layout := self.layout()) is not None:
            layout.setAlignment(self._notice, place | Qt.AlignmentFlag.AlignHCenter)
        self.set_faded(calls)

    @property
    def notice(self) -> str:
        """The notice that is shown; empty: none."""
        return "" if self._notice.isHidden() else self._notice.text

    def event(self, event: QEvent | None) -> bool:
        """Keys of the player come before shortcuts, and before Tab moves the focus."""
        if isinstance(event, QKeyEvent) and self._takes_keys:
            kind = event.type()
            if kind is QEvent.Type.ShortcutOverride and self._is_of_player(event):
                event.accept()
                return True
            if kind is QEvent.Type.KeyPress and self._is_of_player(event):
                self.keyPressEvent(event)
                return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent | None) -> None:
        if event is None or not self._takes_keys or not self._is_of_player(event):
            super().keyPressEvent(event)
            return
        event.accept()
        if name := self._reader.press(event):
            if name == "escape" and not self._means(name):
                self.clearFocus()
            else:
                self.pressed.emit(name)

    def keyReleaseEvent(self, event: QKeyEvent | None) -> None:
        if event is None or not self._takes_keys:
            super().keyReleaseEvent(event)
        elif name := self._reader.release(event):
            event.accept()
            self.released.emit(name)

    def mousePressEvent(self, event: QMouseEvent | None) -> None:
        if self._takes_keys:
            self.setFocus(Qt.FocusReason.MouseFocusReason)
        super().mousePressEvent(event)

    def focusInEvent(self, event: QFocusEvent | None) -> None:
        super().focusInEvent(event)
        self.set_framed(True)
        self.captured.emit(True)

    def focusOutEvent(self, event: QFocusEvent | None) -> None:
        super().focusOutEvent(event)
        self._reader.clear()
        self.set_framed(False)
        self.captured.emit(False)

    def _is_of_player(self, event: QKeyEvent) -> bool:
        """Whether a key is for the play: all but commands of the window, unless the key map has them."""
        name = key_name(event)
        if self._means(name):
            return True
        if event.modifiers() & _COMMANDS or name in _SWITCHES:
            return False
        return bool(name) and name != "tab" and not (name[0] == "f" and name[1:].isdigit())


class StageNotice(QFrame):
    """One line, or two as a call; the pointer goes through it."""

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("kind", "notice")
        self.setProperty("calls", False)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._headline, self._more = label("", "strong"), label("", "small")
        self._layout = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._layout.setContentsMargins(12, 5, 12, 5)
        self._layout.setSpacing(10)
        for part in (self._headline, self._more):
            part.setAlignment(Qt.AlignmentFlag.AlignCenter)
            self._layout.addWidget(part)
        self.hide()

    @property
    def text(self) -> str:
        """What is shown."""
        return f"{self._headline.text()}\n{self._more.text()}".strip()

    def show_words(self, headline: str, more: str, *, calls: bool) -> None:
        """Show a line and a smaller one, below it in a call and else next to it; nothing where there is none."""
        self._headline.setText(headline)
        self._more.setText(more)
        self._more.setVisible(bool(more))
        if self.property("calls") is not calls:
            self.setProperty("calls", calls)
            way = QBoxLayout.Direction
            self._layout.setDirection(way.TopToBottom if calls else way.LeftToRight)
            for part in (self, self._headline, self._more):
                restyle(part)
        self.setVisible(bool(headline))
