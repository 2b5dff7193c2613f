"""Adds MOSAIC to the desktop's applications menu, and removes it; both can be undone."""

from mosaic_gui.controllers.run_actions import Say
from mosaic_gui.errors import DesktopEntryRefused
from mosaic_gui.state import desktop_entry
from mosaic_gui.state.language import tr
from mosaic_gui.theme.icon import svg
from mosaic_gui.theme.tokens import DARK


class DesktopEntryController:
    """Writes and removes the `.desktop` file of the user."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def install(self) -> None:
        """Add MOSAIC to the menu."""
        try:
            entry = install_entry()
        except DesktopEntryRefused as error:
            self._say(str(error), "", None)
            return
        words = tr("MOSAIC is in the applications menu ({file}).", file=entry)
        self._say(words, tr("Undo"), self.remove)

    def remove(self) -> None:
        """Remove MOSAIC from the menu."""
        try:
            was_there = remove_entry()
        except DesktopEntryRefused as error:
            self._say(str(error), "", None)
            return
        if was_there:
            words = tr("MOSAIC is no longer in the applications menu.")
            self._say(words, tr("Undo"), self.install)
        else:
            self._say(tr("MOSAIC is not in the applications menu."), "", None)


def install_entry() -> str:
    """Write the file for this program; return its path.

    Raises:
        DesktopEntryRefused: it cannot be written.
    """
    folder, words = desktop_entry.user_data(), desktop_entry.command()
    return str(desktop_entry.install(folder, words, svg("mosaic", DARK.accent)))


def remove_entry() -> bool:
    """Remove the file; return whether it was there.

    Raises:
        DesktopEntryRefused: it is another program's, or cannot be removed.
    """
    folder = desktop_entry.user_data()
    was_there = desktop_entry.is_installed(folder)
    desktop_entry.remove(folder)
    return was_there
