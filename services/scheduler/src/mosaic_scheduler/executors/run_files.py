"""Files in a run's folder, which its worker wrote: no link and no `..` leads out of it."""

import json
import os
import stat
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mosaic_contracts.launch import MANIFEST_FILE
from mosaic_scheduler.errors import InputUnusable

_MOST_MANIFEST_BYTES = 8 * 2**20
_OPEN = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


def open_inside(run_dir: Path, path: str) -> int:
    """Open a regular file below a run's folder, step by step, so that a link that is put there meanwhile is met too.

    Raises:
        InputUnusable: there is none, or it leaves the folder.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise InputUnusable(f"{path!r} leads out of the run's folder")
    folder = _open(run_dir, None, path, os.O_DIRECTORY)
    try:
        for part in parts[:-1]:
            inner = _open(part, folder, path, os.O_DIRECTORY)
            os.close(folder)
            folder = inner
        file = _open(parts[-1], folder, path)
    finally:
        os.close(folder)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise InputUnusable(f"{path} is no file")
    return file


class ListedCheckpoint(NamedTuple):
    """One that a run announced. The newer one is the greater one."""

    attempt: int
    step: int
    """Environment steps of that attempt."""
    place: int
    """In the run's list."""
    path: str
    """Relative to the run's folder."""


def listed_checkpoints(run_dir: Path) -> list[ListedCheckpoint]:
    """Those that a run announced and that are still there, the newest last; none where its list cannot be read."""
    try:
        with os.fdopen(open_inside(run_dir, MANIFEST_FILE), "rb") as file:
            entries = json.loads(file.read(_MOST_MANIFEST_BYTES))["artifacts"]
        found = [
            ListedCheckpoint(
                int(entry.get("attempt") or 1),
                int(entry.get("step") or 0),
                place,
                str(entry["path"]),
            )
            for place, entry in enumerate(entries)
            if entry["kind"] == "checkpoint" and _is_there(run_dir, str(entry["path"]))
        ]
    except (InputUnusable, OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return sorted(found)


def _is_there(run_dir: Path, path: str) -> bool:
    try:
        os.close(open_inside(run_dir, path))
    except InputUnusable:
        return False
    return True


def _open(name: str | Path, folder: int | None, path: str, more: int = 0) -> int:
    try:
        return os.open(name, _OPEN | more, dir_fd=folder)
    except OSError as error:
        raise InputUnusable(f"{path} is not there, or is a link ({error.strerror})") from error
