"""Locks that end with the process that holds them: `flock`, which Windows lacks."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file without waiting; return whether it worked. Closing the descriptor unlocks it.

    Args:
        shared: several may hold it at once, as long as nobody holds it exclusively.
    """
    try:
        _flock(fd, shared=shared, waits=False)
    except BlockingIOError:
        return False
    return True


def open_lock(path: Path, *, mode: int = 0o600) -> int | None:
    """Open a lock file, or make it, and lock it without waiting.

    Returns:
        The descriptor, which holds the lock until it is closed; None when another has the lock.

    Raises:
        OSError: the file cannot be opened.
    """
    fd = _open(path, mode)
    if try_lock(fd):
        return fd
    os.close(fd)
    return None


@contextmanager
def held_lock(path: Path, *, mode: int = 0o600, shared: bool = False) -> Iterator[None]:
    """Hold a lock file during the block; wait until it is free.

    Args:
        path: the file; it is made.
        mode: of a new file.
        shared: several may hold it at once, as long as nobody holds it exclusively.

    Raises:
        OSError: the file cannot be opened.
    """
    fd = _open(path, mode)
    try:
        _flock(fd, shared=shared, waits=True)
        yield
    finally:
        os.close(fd)


def is_locked(path: Path) -> bool:
    """Whether a process holds a lock file. To look is to hold it for an instant, together with others who look.

    Raises:
        OSError: there is no such file, or it cannot be opened.
    """
    fd = os.open(path, os.O_RDONLY)
    try:
        return not try_lock(fd, shared=True)
    finally:
        os.close(fd)


def _flock(fd: int, *, shared: bool, waits: bool) -> None:
    if sys.platform == "win32":
        raise OSError("this system has no flock")
    import fcntl  # here, for Windows has no such module

    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    fcntl.flock(fd, kind if waits else kind | fcntl.LOCK_NB)


def _open(path: Path, mode: int) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, mode)
