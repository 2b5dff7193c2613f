"""Names of keys as key maps have them, read from Qt's key events."""

from PyQt6.QtCore import Qt
from PyQt6.QtGui import QGuiApplication, QKeyEvent

_NAMED = {
    Qt.Key.Key_Left: "left",
    Qt.Key.Key_Right: "right",
    Qt.Key.Key_Up: "up",
    Qt.Key.Key_Down: "down",
    Qt.Key.Key_Space: "space",
    Qt.Key.Key_Return: "enter",
    Qt.Key.Key_Enter: "enter",
    Qt.Key.Key_Tab: "tab",
    Qt.Key.Key_Backtab: "tab",
    Qt.Key.Key_Escape: "escape",
    Qt.Key.Key_Backspace: "backspace",
    Qt.Key.Key_Shift: "shift",
    Qt.Key.Key_Control: "ctrl",
    Qt.Key.Key_Alt: "alt",
    Qt.Key.Key_AltGr: "alt",
    Qt.Key.Key_Meta: "meta",
    Qt.Key.Key_Delete: "delete",
    Qt.Key.Key_Insert: "insert",
    Qt.Key.Key_Home: "home",
    Qt.Key.Key_End: "end",
    Qt.Key.Key_PageUp: "pageup",
    Qt.Key.Key_PageDown: "pagedown",
    Qt.Key.Key_Plus: "plus",
}
_LETTERS = {
    24: "q", 25: "w", 26: "e", 27: "r", 28: "t", 29: "y", 30: "u", 31: "i", 32: "o", 33: "p",
    38: "a", 39: "s", 40: "d", 41: "f", 42: "g", 43: "h", 44: "j", 45: "k", 46: "l",
    52: "z", 53: "x", 54: "c", 55: "v", 56: "b", 57: "n", 58: "m",
}  # fmt: skip
"""Letters of an American keyboard by the scan code of their place, on X11 and Wayland."""
_BY_PLACE = frozenset("wasd")
"""Keys for directions: their places matter, and not what is printed on them."""
_SCAN_PLATFORMS = ("xcb", "wayland")


def key_name(event: QKeyEvent) -> str:
    """The name of a key; empty: it has none in key maps.

    W, A, S and D are the keys in their places. On a keyboard that has other letters there, such as a French one, the
    keys that print W, A, S and D are called as an American one calls them, so that no two keys have one name.
    """
    key = event.key()
    named = _NAMED.get(Qt.Key(key)) if key in _QT_KEYS else None
    if named is not None:
        return named
    if Qt.Key.Key_F1 <= key <= Qt.Key.Key_F35:
        return f"f{key - Qt.Key.Key_F1 + 1}"
    character = chr(key).lower() if 0x21 <= key <= 0xFF else ""
    place = _LETTERS.get(event.nativeScanCode(), "") if _has_places() else ""
    if place and (place in _BY_PLACE or character in _BY_PLACE):
        return place
    return character


class KeyReader:
    """Reads which keys go down and up, over auto-repeat and changes of the layout while a key is down."""

    def __init__(self) -> None:
        self._down: dict[int, str] = {}
        """Names of the keys that are down, by scan code where there is one."""

    def press(self, event: QKeyEvent) -> str:
        """The key that goes down; empty: it was down before, or has no name."""
        name = key_name(event)
        if event.isAutoRepeat() or not name or name in self._down.values():
            return ""
        self._down[_code(event)] = name
        return name

    def release(self, event: QKeyEvent) -> str:
        """The key that goes up, by the name that it had when it went down; empty: it was not down."""
        if event.isAutoRepeat():
            return ""
        return self._down.pop(_code(event), "")

    def clear(self) -> None:
        """Forget which keys are down."""
        self._down.clear()


_QT_KEYS = frozenset(int(key) for key in _NAMED)


def _code(event: QKeyEvent) -> int:
    return event.nativeScanCode() or -event.key()


def _has_places() -> bool:
    return QGuiApplication.platformName().startswith(_SCAN_PLATFORMS)
