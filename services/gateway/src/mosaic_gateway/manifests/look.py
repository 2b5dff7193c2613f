"""Looks at the folder of a run: which files it has now."""

import time
from pathlib import Path
from typing import NamedTuple

from mosaic_base.file_tree import FileTree, find_file, list_files
from mosaic_contracts.manifest import MAX_LISTED, PRIVATE_DIRS
from mosaic_gateway.files.clips import find_clips
from mosaic_store import KnownFiles

_REST = 10
"""Looks at one folder take at most one part in so many of the time."""
_NOTHING = FileTree([], frozenset(), 0, 0)


class FolderLook(NamedTuple):
    """What a look at a run's folder found."""

    tree: FileTree
    clips: set[str]
    """Videos that a killed worker did not announce and that can be played."""
    has_ended: bool
    """Whether the run had ended."""
    at: float
    """When the look ended, by the monotonic clock."""
    took_s: float

    def is_fresh(self, *, has_ended: bool) -> bool:
        """Whether a further look would take a noticeable share of the time."""
        age_s = time.monotonic() - self.at
        return age_s < _REST * self.took_s and self.has_ended is has_ended


def look_at(
    folder: Path, known: KnownFiles, *, has_ended: bool, max_files: int = MAX_LISTED
) -> FolderLook:
    """Look at a run's folder. Blocks: call it in a thread.

    Args:
        folder: the folder; it need not be there.
        known: what the events say. Announced files are found beyond the limit too.
        has_ended: whether the run has ended.
        max_files: maximum number of other files.
    """
    begun = time.monotonic()
    announced = {file.path for file in known.files if file.announced}
    clips = {row.path for row in find_clips(folder, announced)} if has_ended else set()
    try:
        tree = list_files(folder, PRIVATE_DIRS, max_files)
    except OSError:
        tree = _NOTHING  # it never started, or its folder is gone: what the events say is left
    if tree.unlisted_files:
        listed = {found.path for found in tree.files}
        others = (find_file(folder, path) for path in announced - listed)
        tree = tree._replace(files=[*tree.files, *(found for found in others if found is not None)])
    now = time.monotonic()
    return FolderLook(tree, clips, has_ended, now, now - begun)
