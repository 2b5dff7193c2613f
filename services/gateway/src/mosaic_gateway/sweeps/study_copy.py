"""Copies the study of a sweep, an SQLite file that the sweep's worker may be writing.

In containers the folder of runs is mounted read-only. SQLite reads a file in write-ahead mode there only next to its
`-shm` file. A worker that was killed while it closed its study, and a folder from a backup, leave none.
"""

import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from mosaic_contracts.sweeps import STUDY_FILE
from mosaic_gateway.files.folder import resolve_inside

_BUSY_S = 5.0
"""For the worker to end a write of its study."""
_SHARED = f"{STUDY_FILE}-shm"
"""Is there as long as a process has the study open."""
_LEFT_BY_SQLITE = ("-journal", "-wal")
_NEEDS_RECOVERY = frozenset({sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY})


def copy_study(run_dir: Path) -> bytes:
    """Return the study as of one moment.

    Raises:
        FileNotFoundError: there is none.
        PathRefused: its path leads out of the folder.
        OSError: there is no space to recover it.
        sqlite3.Error: it cannot be read now.
    """
    try:
        return _read(resolve_inside(run_dir, STUDY_FILE))
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in _NEEDS_RECOVERY:
            raise
    copied = copy_recovered(run_dir)
    if (run_dir / _SHARED).exists():  # a worker has opened it meanwhile
        return _read(resolve_inside(run_dir, STUDY_FILE))
    return copied


def copy_recovered(run_dir: Path) -> bytes:
    """Return a study that no process has open, with what its last writer left next to it. Raises as `copy_study`."""
    with TemporaryDirectory(prefix="mosaic-study-") as folder:
        target = Path(folder) / "study.db"
        shutil.copyfile(resolve_inside(run_dir, STUDY_FILE), target)
        for ending in _LEFT_BY_SQLITE:
            with suppress(FileNotFoundError):
                left = resolve_inside(run_dir, STUDY_FILE + ending)
                shutil.copyfile(left, f"{target}{ending}")
        return _read(target, mode="rw")


def _read(path: Path, mode: str = "ro") -> bytes:
    address = f"file:{quote(str(path))}?mode={mode}"
    with (
        closing(sqlite3.connect(address, uri=True, timeout=_BUSY_S)) as study,
        closing(sqlite3.connect(":memory:")) as copy,
    ):
        study.backup(copy)
        return copy.serialize()
