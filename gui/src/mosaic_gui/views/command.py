"""Commands of a page with their keys: actions, buttons and shortcuts, as one list."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from PyQt6.QtGui import QAction, QKeySequence, QShortcut
from PyQt6.QtWidgets import QAbstractButton, QWidget

Act = Callable[[], object]


@dataclass(frozen=True)
class Command:
    """One line of the palette."""

    text: str
    keys: str
    enabled: bool
    act: Act


def named_shortcut(
    parent: QWidget, keys: QKeySequence | QKeySequence.StandardKey | str, text: str, act: Act
) -> QShortcut:
    """A shortcut that the palette lists under this name."""
    made = QShortcut(QKeySequence(keys), parent)
    made.setWhatsThis(text)
    made.activated.connect(act)
    return made


def of_actions(actions: Iterable[QAction]) -> list[Command]:
    """Actions as commands."""
    return [
        Command(one.text(), one.shortcut().toString(), one.isEnabled(), one.trigger)
        for one in actions
    ]


def on_page(page: QWidget) -> list[Command]:
    """Visible widgets of a page that have keys, as commands."""
    buttons = [
        Command(
            one.text() or one.accessibleName(),
            one.shortcut().toString(),
            one.isEnabled(),
            one.click,
        )
        for one in page.findChildren(QAbstractButton)
        if one.isVisible() and not one.shortcut().isEmpty()
    ]
    shortcuts = [
        Command(one.whatsThis(), one.key().toString(), True, one.activated.emit)
        for one in page.findChildren(QShortcut)
        if one.whatsThis() and _is_in_sight(one)
    ]
    return buttons + shortcuts


def keys_of(actions: Iterable[QAction], page: QWidget | None) -> list[QKeySequence]:
    """Keys of all commands that can be given: of actions, and of shortcuts on a page."""
    found = [keys for one in actions if one.isEnabled() for keys in one.shortcuts()]
    if page is not None:
        found += [one.key() for one in page.findChildren(QShortcut) if _is_in_sight(one)]
    return found


def _is_in_sight(shortcut: QShortcut) -> bool:
    owner = shortcut.parent()
    return isinstance(owner, QWidget) and owner.isVisible() and shortcut.isEnabled()
