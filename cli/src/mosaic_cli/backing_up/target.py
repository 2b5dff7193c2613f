"""The file that a backup becomes."""

import zipfile
from datetime import datetime
from pathlib import Path

from mosaic_cli.errors import ValueRefused
from mosaic_contracts.stack_files import BACKED_UP

BACKUP_SUFFIX = ".zip"


def backup_target(file: Path, home: Path) -> Path:
    """Return the file that a backup becomes.

    Args:
        file: what the user named; in a folder, a name is made.
        home: the data root.

    Raises:
        ValueRefused: the file lies in what is backed up, is something else, or its folder is missing.
    """
    target = file
    if file.is_dir():
        target = file / f"mosaic-{datetime.now():%Y%m%d-%H%M%S}{BACKUP_SUFFIX}"  # noqa: DTZ005 - the user's own clock
    whole = target.absolute().resolve()
    if not whole.parent.is_dir():
        raise ValueRefused(
            f"The folder {target.parent} does not exist. Make it, or name another one."
        )
    inside = whole.relative_to(home.resolve()).parts if whole.is_relative_to(home.resolve()) else ()
    if inside and inside[0] in BACKED_UP:
        raise ValueRefused(
            f"{target} lies in what is backed up. Name a file elsewhere, best on another disk."
        )
    if target.exists() and not _is_zip(target):
        raise ValueRefused(f"{target} is there and is no backup. Name another file.")
    return target


def _is_zip(path: Path) -> bool:
    return path.is_file() and (path.stat().st_size == 0 or zipfile.is_zipfile(path))
