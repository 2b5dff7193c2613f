"""The desktop over D-Bus: notifications with a button, and the progress that docks and task bars show.

It speaks org.freedesktop.Notifications and com.canonical.Unity.LauncherEntry (KDE Plasma, GNOME's docks, Unity). Where
nobody answers, `failed` says so.
"""

from collections import OrderedDict

from PyQt6.QtCore import QObject, pyqtSignal, pyqtSlot
from PyQt6.QtDBus import QDBusArgument, QDBusConnection, QDBusMessage

from mosaic_gui.state.language import tr

SERVICE = INTERFACE = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"
LAUNCHER = "com.canonical.Unity.LauncherEntry"
LAUNCHER_PATH = "/org/mosaic/window"
DESKTOP_FILE = "application://mosaic.desktop"
TIMEOUT_MS = 5_000
_UINT, _STRING_LIST = 3, 11
"""`QMetaType.Type.UInt` and `QStringList` as the numbers that a `QDBusArgument` takes."""
_DEFAULT, _OPEN = "default", "open"
"""Actions: a click on the notification, and its button."""
_BY_SERVER = -1
"""The notification service decides how long it stays."""
_KEPT = 100
"""Notifications of which a click is still understood."""


class DesktopBus(QObject):
    """Sends notifications and progress over the session bus. It never blocks."""

    opened = pyqtSignal(str)
    """Key of the notification that was clicked."""
    failed = pyqtSignal(str, str, str)
    """Key, title and text of a notification that nobody took."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bus = QDBusConnection.sessionBus()
        self._keys: OrderedDict[int, str] = OrderedDict()
        """Key by the id that the service gave."""
        self._waiting: list[tuple[str, str, str]] = []
        """Sent and not answered; a connection keeps the order."""
        self._is_listening = False

    def notify(self, key: str, title: str, text: str) -> None:
        """Show a notification. `key`: what `opened` says of a click."""
        if not self._bus.isConnected():
            self.failed.emit(key, title, text)
            return
        self._listen()
        message = QDBusMessage.createMethodCall(SERVICE, PATH, INTERFACE, "Notify")
        actions = [_DEFAULT, tr("Open"), _OPEN, tr("Open")]
        message.setArguments(
            [
                "MOSAIC",
                _unsigned(0),
                "",
                title,
                _escaped(text),
                _typed(actions, _STRING_LIST),
                {"desktop-entry": "mosaic"},
                _BY_SERVER,
            ]
        )
        self._waiting.append((key, title, text))
        self._bus.callWithCallback(message, self._on_taken, self._on_failed, TIMEOUT_MS)

    def show_progress(self, done: float | None) -> None:
        """Show progress at the window's icon; None: none."""
        if not self._bus.isConnected():
            return
        message = QDBusMessage.createSignal(LAUNCHER_PATH, LAUNCHER, "Update")
        shown = {"progress": float(done or 0.0), "progress-visible": done is not None}
        message.setArguments([DESKTOP_FILE, shown])
        self._bus.send(message)

    def _listen(self) -> None:
        if not self._is_listening:
            self._is_listening = self._bus.connect(
                SERVICE, PATH, INTERFACE, "ActionInvoked", self._on_action
            )

    @pyqtSlot(QDBusMessage)
    def _on_taken(self, answer: QDBusMessage) -> None:
        key, *_ = self._waiting.pop(0)
        self._keys[int(answer.arguments()[0])] = key
        while len(self._keys) > _KEPT:
            self._keys.popitem(last=False)

    @pyqtSlot("QDBusError", "QDBusMessage")
    def _on_failed(self, *_: object) -> None:
        self.failed.emit(*self._waiting.pop(0))

    @pyqtSlot(QDBusMessage)
    def _on_action(self, signal: QDBusMessage) -> None:
        key = self._keys.pop(int(signal.arguments()[0]), None)
        if key is not None:  # else one of another program
            self.opened.emit(key)


def _unsigned(number: int) -> QDBusArgument:
    return _typed(number, _UINT)


def _typed(value: object, kind: int) -> QDBusArgument:
    """A value with a type that Python does not distinguish."""
    made = QDBusArgument()
    made.add(value, kind)
    return made


def _escaped(text: str) -> str:
    """The body of a notification may have markup; names and messages are text."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
