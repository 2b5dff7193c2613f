"""Files in a run's folder, which its worker wrote: no link and no `..` leads out of it."""

import json
import math
import os
import stat
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mosaic_contracts.checkpoint_words import MEAN_RETURN, REASON_BEST
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
    mean_return: float | None = None
    """Mean return of the last episodes before it; None: nothing says it."""
    is_kept_best: bool = False
    """Whether its worker keeps it as the best one."""


def best_of(known: list[ListedCheckpoint]) -> ListedCheckpoint | None:
    """The best checkpoint of a run: the one that its worker keeps as such, else that with the highest mean return.

    None: nothing is said of how good any of them is.
    """
    kept = [each for each in known if each.is_kept_best]
    rated = [each for each in kept or known if each.mean_return is not None]
    return max(rated, key=lambda each: (each.mean_return or 0.0, each), default=None)


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
                _number(entry.get(MEAN_RETURN)),
                entry.get("reason") == REASON_BEST,
            )
            for place, entry in enumerate(entries)
            if entry["kind"] == "checkpoint" and _is_there(run_dir, str(entry["path"]))
        ]
    except (InputUnusable, OSError, ValueError, KeyError, TypeError, AttributeError):
        return []
    return sorted(found, key=lambda each: each[:4])


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and math.isfinite(value)
    return float(value) if is_number else None  # type: ignore[arg-type]  # a number


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
