"""Folders below `runs` that belong to no run: left by a killed deletion, or by hand."""

import fcntl
import os
import re
import time
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from mosaic_contracts.choices import RUN_ID_PATTERN
from mosaic_contracts.launch import RUNNER_LOCK
from mosaic_contracts.stack import IMPORTS_DIR, RUNS_DIR
from mosaic_scheduler.retention.trash import size_of

MIN_AGE_S = 3600.0
"""Seconds since the last change of a folder: what is being imported gets its run later than its folder."""
_RUN_ID = re.compile(RUN_ID_PATTERN)


class OrphanFolder(NamedTuple):
    """A folder of no run."""

    name: str
    bytes: int


def find_orphans(home: Path, known: Collection[str]) -> list[OrphanFolder]:
    """Find them. Blocks: call it in a thread.

    Args:
        home: MOSAIC_HOME.
        known: ids of all runs.
    """
    runs = home / RUNS_DIR
    if not runs.is_dir():
        return []
    now = time.time()
    found = []
    for path in runs.iterdir():
        if path.name in known or _RUN_ID.fullmatch(path.name) is None or path.is_symlink():
            continue
        if not path.is_dir() or (home / IMPORTS_DIR / path.name).exists():
            continue
        try:
            found_at = path.stat()
        except OSError:  # it has gone meanwhile
            continue
        changed = max(found_at.st_mtime, found_at.st_ctime)
        if now - changed >= MIN_AGE_S and not _has_runner(path):
            found.append(OrphanFolder(path.name, size_of(path)))
    return found


def _has_runner(folder: Path) -> bool:
    """Whether a process of a run lives in it."""
    try:
        fd = os.open(folder / RUNNER_LOCK, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
