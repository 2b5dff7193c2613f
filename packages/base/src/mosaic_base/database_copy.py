"""A copy of an SQLite file next to it, for as long as the file is brought to a newer version."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic_base.atomic import atomic_file

ROOM_BYTES = 64 * 2**20
"""Free bytes that must be left when the copy is there: the migration itself writes too."""


class CopyRefused(Exception):
    """There is no room for the copy, or it cannot be written; the file is as it was."""


def copy_path(path: Path, version: int) -> Path:
    """Return the path of the copy that is made before a file of this version is migrated."""
    return path.with_name(f"{path.name}.version-{version}")


@contextmanager
def copied(db: sqlite3.Connection, path: Path, version: int) -> Iterator[Path]:
    """Copy the open file first; the copy goes when the block has succeeded, and stays when it raises.

    Args:
        db: a connection to the file, outside a transaction. Other processes may read meanwhile.
        path: the file.
        version: version of the file, for the name of the copy.

    Yields:
        Path of the copy, which has all that is committed and the permissions 0600.

    Raises:
        CopyRefused: the block did not run.
    """
    copy = copy_path(path, version)
    size = file_bytes(db)
    free = shutil.disk_usage(path.parent).free
    if free < size + ROOM_BYTES:
        raise CopyRefused(
            f"{path} must be copied before it is brought to a newer version: that needs "
            f"{(size + ROOM_BYTES) // 2**20} MiB on its disk, and {free // 2**20} MiB are free; make room, or copy the "
            "file elsewhere by yourself and set MOSAIC_MIGRATION_COPY=no"
        )
    try:
        with atomic_file(copy, durable=True) as draft:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
            target = sqlite3.connect(draft, isolation_level=None)
            try:
                db.backup(target)
            finally:
                target.close()
    except (OSError, sqlite3.Error) as error:
        raise CopyRefused(
            f"{path} cannot be copied before it is brought to a newer version: {error}"
        ) from error
    yield copy
    copy.unlink()


def remove_copies(path: Path) -> list[Path]:
    """Remove copies of a file that is up to date: its migration was killed when it had all but removed its own.

    Returns:
        What was removed.
    """
    found = sorted(path.parent.glob(f"{path.name}.version-*"))
    for copy in found:
        copy.unlink()
    return found


def file_bytes(db: sqlite3.Connection) -> int:
    """Size of the open file with its log."""
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    return int(pages) * int(db.execute("PRAGMA page_size").fetchone()[0])
