"""Bytes that the deletion of a folder gives back to its disk."""

import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from mosaic_contracts.deletion import OUTBOX_KIND
from mosaic_contracts.manifest import PRIVATE_DIRS, kind_of

_BLOCK_BYTES = 512
"""Unit of `st_blocks`, whatever the file system's own blocks are."""


def bytes_by_kind(folder: Path, announced: Mapping[str, str]) -> dict[str, int]:
    """Bytes on disk of what lies below a run's folder, by kind. No link is followed.

    What vanishes meanwhile is left out. A file with a name outside the folder (a hard link) frees nothing, and does not
    count.

    Args:
        folder: the run's folder; one that is not there has nothing.
        announced: kind of each path that the run announced.
    """
    found: Counter[str] = Counter()
    links: dict[tuple[int, int], tuple[str, int, int]] = {}
    for path, entry in _files_below(folder, ""):
        size = entry.st_blocks * _BLOCK_BYTES
        kind = _kind_of(path, announced)
        if stat.S_ISDIR(entry.st_mode) or entry.st_nlink == 1:
            found[kind] += size
            continue
        key = (entry.st_dev, entry.st_ino)
        seen = links.get(key, (kind, 0, 0))[1] + 1
        links[key] = (kind, seen, size)
        if seen == entry.st_nlink:
            found[kind] += size
    return {kind: size for kind, size in found.items() if size}


def _kind_of(path: str, announced: Mapping[str, str]) -> str:
    if path.partition("/")[0] in PRIVATE_DIRS:
        return OUTBOX_KIND
    return announced.get(path) or kind_of(path)


def _files_below(folder: Path, above: str) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        path = f"{above}{entry.name}"
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        yield path, found
        if stat.S_ISDIR(found.st_mode):
            yield from _files_below(Path(entry.path), f"{path}/")
