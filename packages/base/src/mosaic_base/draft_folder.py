"""The hidden folder next to a file in which it is made. What a killed process left there is removed by the next."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic_base.locks import open_lock

_LOCK = "lock"
_ENDING = ".mosaic-draft"


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder on the disk of `target`, and remove it at the end of the block.

    Drafts of any file of that folder that no living process holds are removed first.

    Args:
        target: the file that is being made.

    Raises:
        OSError: the disk refused.
    """
    _remove_abandoned(target.parent)
    folder, lock = _make(target)
    try:
        yield folder
    finally:
        # Another one may remove it at the same time; and on NFS a file that is open keeps its folder.
        if lock is not None:
            os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def _make(target: Path) -> tuple[Path, int | None]:
    """A new folder with the descriptor of its lock; None on Windows, which has no lock that shows who lives."""
    while True:
        folder = _new_name(target.parent, target.name)
        folder.mkdir(mode=0o700)
        if sys.platform == "win32":
            return folder, None
        try:
            lock = open_lock(folder / _LOCK)
        except FileNotFoundError:
            continue  # one that looked before it was locked removed it
        if lock is None:
            continue
        if (folder / _LOCK).exists():
            return folder, lock
        os.close(lock)


def _remove_abandoned(parent: Path) -> None:
    if sys.platform == "win32":
        return
    for folder in parent.glob(f".*{_ENDING}"):
        try:
            lock = open_lock(folder / _LOCK)
        except OSError:
            continue  # removed meanwhile, or another user's
        if lock is None:
            continue
        try:
            # Under another name nobody can lock it any more.
            renamed = folder.rename(_new_name(parent, "left"))
        except FileNotFoundError:
            continue  # its owner, which had ended its block, was faster
        finally:
            os.close(lock)
        shutil.rmtree(renamed, ignore_errors=True)


def _new_name(parent: Path, name: str) -> Path:
    return parent / f".{name[:100]}.{os.urandom(4).hex()}{_ENDING}"
