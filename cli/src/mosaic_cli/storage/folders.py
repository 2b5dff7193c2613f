"""Sizes of folders that share files by hard links, as environments share them with uv's cache."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

_BLOCK_BYTES = 512
"""Unit of `st_blocks`, whatever the file system uses."""


class FolderSize(NamedTuple):
    """What a folder takes on the disk."""

    bytes: int
    """All files in it."""
    own_bytes: int
    """The part that its removal would free: files without a link elsewhere."""


class _Inode(NamedTuple):
    bytes: int
    links: int


def folder_sizes(
    folders: Mapping[str, Path], on_folder: Callable[[str], None] = lambda _name: None
) -> dict[str, FolderSize]:
    """Measure folders. Links are not followed, and a file with several names counts once in a folder.

    Args:
        folders: by name; one that is not there is left out of the answer.
        on_folder: is called with the name of each folder before it is read.

    Returns:
        The size of each folder by its name.
    """
    found: dict[str, FolderSize] = {}
    for name, folder in folders.items():
        if folder.is_dir():
            on_folder(name)
            found[name] = _measured(folder)
    return found


def _measured(folder: Path) -> FolderSize:
    linked: dict[tuple[int, int], _Inode] = {}
    seen: dict[tuple[int, int], int] = {}
    """Names in the folder of each file that has several."""
    total = own = 0
    waiting = [os.fspath(folder)]
    while waiting:
        for entry in _entries(waiting.pop()):
            try:
                facts = entry.stat(follow_symlinks=False)
            except OSError:  # it is gone, or nobody may read it
                continue
            size = facts.st_blocks * _BLOCK_BYTES
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            elif facts.st_nlink > 1:
                key = facts.st_dev, facts.st_ino
                linked[key] = _Inode(size, facts.st_nlink)
                seen[key] = seen.get(key, 0) + 1
                continue
            total += size
            own += size
    for key, inode in linked.items():
        total += inode.bytes
        own += inode.bytes if seen[key] == inode.links else 0
    return FolderSize(total, own)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except OSError:  # it is gone, or belongs to another user
        return []
