"""Folders and logs of the stack that only its user can open, whatever the umask."""

import os
from pathlib import Path
from typing import BinaryIO

_OTHERS = 0o077


def make_private(folder: Path) -> None:
    """Make a folder that nobody else can open; one that others can open is closed to them.

    Raises:
        OSError: it cannot be made, or belongs to somebody else.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = folder.stat().st_mode
    if mode & _OTHERS:
        folder.chmod(mode & 0o7777 & ~_OTHERS)


def open_log(path: Path) -> BinaryIO:
    """Open a log to append to it; one that others can read is closed to them.

    Raises:
        OSError: it cannot be written.
    """
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if os.fstat(fd).st_mode & _OTHERS:
        os.fchmod(fd, 0o600)
    return os.fdopen(fd, "ab")
