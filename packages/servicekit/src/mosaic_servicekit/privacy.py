"""Only its user can read what a service makes, whatever umask it was started with and whatever made its folders."""

import os
from pathlib import Path

PRIVATE_UMASK = 0o077
_OTHERS = 0o077


class Umask:
    """The umask of this process, and the one that it was started with, which belongs to the user's programs."""

    def __init__(self) -> None:
        self.of_user = PRIVATE_UMASK
        self._is_private = False

    def make_private(self) -> None:
        """From now on nobody else can open what this process makes."""
        if not self._is_private:
            self._is_private = True
            self.of_user = os.umask(PRIVATE_UMASK)


umask = Umask()
"""The one of this process."""


def private_folder(folder: Path) -> None:
    """Make a folder that only its user can open; one that others can open is closed to them.

    Raises:
        OSError: it cannot be made.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    close_to_others(folder)


def close_to_others(folder: Path) -> None:
    """Take a folder's permissions from everybody but its owner. One that cannot be closed is logged and left."""
    try:
        mode = folder.stat().st_mode
        if mode & _OTHERS:
            folder.chmod(mode & 0o7777 & ~_OTHERS)
    except OSError as error:  # of another owner, or on a file system without modes
        # here: structlog takes 10 ms of each start of a stack, and this is seldom said
        from mosaic_servicekit.logging import get_log

        get_log().warning("folder.open_to_others", folder=str(folder), error=str(error))
