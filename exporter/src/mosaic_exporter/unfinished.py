"""Folders that get their name when they are complete."""

import os
import shutil
import time
from pathlib import Path

from mosaic_base.atomic import ABANDONED_S
from mosaic_contracts.exports import UNFINISHED, unfinished_dataset


def unfinished_folder(target: Path) -> Path:
    """Return a hidden folder next to the target. One that a killed process left is removed."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beginning = f".{target.name}."
    for entry in target.parent.iterdir():
        is_ours = entry.name.startswith(beginning) and entry.name.endswith(UNFINISHED)
        if is_ours and entry.lstat().st_mtime < time.time() - ABANDONED_S:
            shutil.rmtree(entry, ignore_errors=True)
    return unfinished_dataset(target, os.getpid())
