"""The keys that the person chose for commands, and widgets that follow a change of them."""

from collections.abc import Callable, Mapping, Sequence

from PyQt6.QtCore import QObject, pyqtSignal
from PyQt6.QtGui import QAction, QKeySequence, QShortcut
from PyQt6.QtWidgets import QWidget

from mosaic_gui.state.command_keys import default_of, resolved


class _ChosenKeys(QObject):
    changed = pyqtSignal()

    def __init__(self) -> None:
        super().__init__()
        self.keys: dict[str, str] = {}


class _KeyFollower(QObject):
    """Child of what follows, so that it is disconnected with it."""

    def __init__(self, owner: QObject, act: Callable[[], object]) -> None:
        super().__init__(owner)
        self._act = act
        _chosen.changed.connect(self._run)

    def _run(self) -> None:
        self._act()


_chosen = _ChosenKeys()


def use_keys(chosen: Mapping[str, str]) -> None:
    """Give commands these keys, by name; all others have those of the beginning."""
    if (keys := resolved(chosen)) != _chosen.keys:
        _chosen.keys = keys
        _chosen.changed.emit()


def keys_of_command(name: str) -> str:
    """The present keys of a command."""
    return _chosen.keys.get(name, default_of(name))


def on_keys(owner: QObject, act: Callable[[], object]) -> None:
    """Call `act` now, and whenever keys have changed as long as `owner` lives."""
    act()
    _KeyFollower(owner, act)


def bind_action(action: QAction, name: str, further: Sequence[str] = ()) -> None:
    """Let an action have the keys of a command, and `further` ones that stay."""

    def follow() -> None:
        keys = keys_of_command(name)
        action.setShortcuts([QKeySequence(one) for one in (keys, *further)])
        action.setToolTip(f"{action.text()} ({keys})")

    on_keys(action, follow)


def bind_shortcut(shortcut: QShortcut, name: str) -> None:
    """Let a shortcut have the keys of a command."""
    on_keys(shortcut, lambda: shortcut.setKey(QKeySequence(keys_of_command(name))))


def tip_with_keys(widget: QWidget, words: str, name: str) -> None:
    """Give a widget a tool tip that ends with the keys of its command."""
    on_keys(widget, lambda: widget.setToolTip(f"{words} ({keys_of_command(name)})"))


def tip_of_action(widget: QWidget, action: QAction) -> None:
    """Give a button the tool tip of its action, which was bound before."""
    on_keys(widget, lambda: widget.setToolTip(action.toolTip()))
