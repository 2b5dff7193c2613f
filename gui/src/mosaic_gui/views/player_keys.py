"""The keys of the player, as in a video player. A control that uses a key itself keeps it while it has the focus."""

from collections.abc import Callable
from functools import partial

from PyQt6.QtCore import QEvent, QKeyCombination, QObject, Qt
from PyQt6.QtGui import QKeyEvent, QKeySequence
from PyQt6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QWidget,
)

from mosaic_gui.state.language import tr
from mosaic_gui.state.playback import LONG_STEP
from mosaic_gui.viewmodels.player import PlayerModel
from mosaic_gui.views.command import named_shortcut


class PlayerKeys(QObject):
    """Shortcuts of a page. All are listed in the palette (F1)."""

    def __init__(self, page: QWidget, player: PlayerModel) -> None:
        super().__init__(page)
        self._page = page
        commands: tuple[tuple[str, str, Callable[[], object]], ...] = (
            ("Space", tr("Play or pause"), player.toggle),
            ("Left", tr("One step back"), lambda: player.step_by(-1)),
            ("Right", tr("One step further"), lambda: player.step_by(1)),
            (",", tr("One step back"), lambda: player.step_by(-1)),
            (".", tr("One step further"), lambda: player.step_by(1)),
            ("Shift+Left", tr("10 steps back"), lambda: player.step_by(-LONG_STEP)),
            ("Shift+Right", tr("10 steps further"), lambda: player.step_by(LONG_STEP)),
            ("Home", tr("First step"), player.go_first),
            ("End", tr("Last step"), player.go_last),
            ("J", tr("Previous event"), lambda: player.go_moment(-1)),
            ("L", tr("Next event"), lambda: player.go_moment(1)),
            ("[", tr("Slower"), lambda: player.faster(-1)),
            ("]", tr("Faster"), lambda: player.faster(1)),
        )
        for keys, text, act in commands:
            named_shortcut(page, keys, text, partial(self._give, QKeySequence(keys), act))

    def _give(self, keys: QKeySequence, act: Callable[[], object]) -> None:
        """Act, unless the focused control uses the key itself."""
        focused = QApplication.focusWidget()
        pressed = keys[0]
        if focused is None or not self._page.isAncestorOf(focused) or not _uses(focused, pressed):
            act()
            return
        key, modifiers = pressed.key(), pressed.keyboardModifiers()
        # called, not sent: as an event it would be this shortcut again
        focused.keyPressEvent(QKeyEvent(QEvent.Type.KeyPress, key, modifiers))
        focused.keyReleaseEvent(QKeyEvent(QEvent.Type.KeyRelease, key, modifiers))


def _uses(focused: QWidget, pressed: QKeyCombination) -> bool:
    """Whether a control keeps a key: buttons and choices Space, choices of a group arrows, and lists Home and End."""
    is_button, is_choice = isinstance(focused, QAbstractButton), isinstance(focused, QComboBox)
    in_group = isinstance(focused, QAbstractButton) and focused.group() is not None
    if pressed.key() == Qt.Key.Key_Space:
        return is_button or is_choice
    if pressed.key() in (Qt.Key.Key_Left, Qt.Key.Key_Right):
        return in_group and pressed.keyboardModifiers() == Qt.KeyboardModifier.NoModifier
    if pressed.key() in (Qt.Key.Key_Home, Qt.Key.Key_End):
        is_list = isinstance(focused, QAbstractItemView) and focused.objectName() != "replay.steps"
        return is_choice or is_list
    return False
