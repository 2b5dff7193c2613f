"""Replacing a file in one step: a reader sees the old content or the new, never a part.

A process that is killed while it writes leaves a hidden draft; the next one that replaces the file removes it.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_POSIX = os.name != "nt"
_ENDING = ".draft"
ABANDONED_S = 600.0
"""A draft that nobody has written to for so long belongs to a process that was killed."""


def replace_file(
    target: Path, data: bytes | str, *, mode: int = 0o666, durable: bool = False
) -> os.stat_result:
    """Write `data` next to `target` and move it there.

    When the disk refuses, nothing is left and an older `target` stays as it was. A link at `target` is replaced, not
    followed.

    Args:
        data: text is written as UTF-8, with line ends as they are.
        mode: permissions of the new file, less the umask. They hold from its first byte.
        durable: the new content also survives a loss of power.

    Returns:
        What the system says of the new file.

    Raises:
        OSError: the disk refused, or the folder is missing.
    """
    draft = _draft_of(target)
    try:
        # Exclusive: a link or a file that someone put there is never written to.
        fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(fd, "wb") as file:
            file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
            written = os.fstat(file.fileno())
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(target.parent)
    return written


@contextmanager
def atomic_file(target: Path, *, durable: bool = False) -> Iterator[Path]:
    """Give a path in the same folder; what the block writes there becomes `target` at its end.

    When the block or the disk fails, nothing is left and an older `target` stays as it was.

    Args:
        durable: the new content also survives a loss of power.

    Raises:
        OSError: the disk refused.
    """
    draft = _draft_of(target)
    try:
        yield draft
        if durable:
            _sync_file(draft)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if durable:
        sync_folder(target.parent)


def drafts_of(target: Path) -> set[Path]:
    """Find drafts of a file: of processes that write it now, and of those that were killed meanwhile.

    Raises:
        OSError: the folder cannot be read.
    """
    return {target.with_name(name) for name in _draft_names(target.parent, f".{target.name}.")}


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a loss of power. Windows cannot, and does nothing here."""
    if _POSIX:
        _sync(folder, os.O_RDONLY)


def _draft_of(target: Path) -> Path:
    beginning = f".{target.name}."
    _remove_abandoned(target.parent, beginning)
    # Random, for two threads or two containers may replace the same file at once.
    return target.with_name(f"{beginning}{os.urandom(4).hex()}{_ENDING}")


def _remove_abandoned(folder: Path, beginning: str) -> None:
    """Remove drafts of killed processes."""
    oldest = time.time() - ABANDONED_S
    for name in _draft_names(folder, beginning):
        draft = folder / name
        try:
            if draft.lstat().st_mtime < oldest:
                draft.unlink()
        except (FileNotFoundError, PermissionError):
            continue  # removed meanwhile, or another user's


def _draft_names(folder: Path, beginning: str) -> list[str]:
    names = os.listdir(folder)  # noqa: PTH208 - names alone: the folder may hold thousands
    return [name for name in names if name.startswith(beginning) and name.endswith(_ENDING)]


def _sync_file(path: Path) -> None:
    # A FIFO would wait for a writer. Windows syncs only what may be written.
    _sync(path, os.O_RDONLY | os.O_NONBLOCK if _POSIX else os.O_RDWR)


def _sync(path: Path, flags: int) -> None:
    fd = os.open(path, flags)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
