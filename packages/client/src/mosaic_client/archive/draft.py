"""The hidden folder next to an archive in which it is made. What a killed process left there is removed by the next."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic_base.locks import open_lock

_LOCK = "lock"
_ENDING = ".archive-draft"


@contextmanager
def draft_folder(target: Path) -> Iterator[Path]:
    """Give an empty folder on the disk of `target`, and remove it at the end of the block.

    Args:
        target: the file that is being made.

    Raises:
        OSError: the disk refused.
    """
    beginning = f".{target.name[:100]}."
    _remove_abandoned(target.parent, beginning)
    folder = target.parent / f"{beginning}{os.urandom(4).hex()}{_ENDING}"
    folder.mkdir(mode=0o700)
    lock = None if sys.platform == "win32" else open_lock(folder / _LOCK)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _remove_abandoned(parent: Path, beginning: str) -> None:
    if sys.platform == "win32":
        return  # it has no lock by which one can see who lives
    for folder in parent.glob(f"{_escaped(beginning)}*{_ENDING}"):
        try:
            lock = open_lock(folder / _LOCK)
        except OSError:
            continue  # removed meanwhile, or another user's
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def _escaped(text: str) -> str:
    """Text as a pattern of `glob` that matches it alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)
