"""The folder in which an import is prepared, and the steps by which it becomes the folder of a run.

`imports/<run_id>/` is also the journal: while it is there, the run is not known to be complete. A scheduler that starts
removes what a killed one left, with the run's folder where the database has no such run.
"""

import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from mosaic_base.atomic import sync_folder
from mosaic_contracts.choices import RUN_ID_PATTERN
from mosaic_contracts.stack import IMPORTS_DIR, RUNS_DIR, UPLOADS_DIR
from mosaic_scheduler.errors import FileRefused, InputUnusable
from mosaic_scheduler.executors.run_files import open_inside
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import private_folder

_UPLOAD = re.compile(r"^[0-9a-f]{32}$")
_RUN_ID = re.compile(RUN_ID_PATTERN)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 120
"""Characters of a file name in a run's folder."""


class ImportFolder:
    """`MOSAIC_HOME/imports/<run_id>/`."""

    def __init__(self, home: Path, run_id: str) -> None:
        self._home = home
        self.path = home / IMPORTS_DIR / run_id
        self.given = self.path / "given"
        """The upload."""
        self.unpacked = self.path / "unpacked"
        """The checkpoint in it, where it is an export."""
        self.made = self.path / "made"
        """What the worker makes of it."""
        self.run = self.path / "run"
        """What becomes the run's folder."""
        self._target = home / RUNS_DIR / run_id

    def prepare(self) -> None:
        """Make the folders. Raises OSError: the disk refused."""
        for folder in (self.path, self.given, self.unpacked, self.made, self.run):
            private_folder(folder)

    def claim(self, upload: str, name: str) -> Path:
        """Take an upload out of the gateway's folder, whatever becomes of the gateway.

        Raises:
            FileRefused: it is not there (any more).
            OSError: the disk refused.
        """
        if _UPLOAD.fullmatch(upload) is None:
            raise FileRefused("The upload has no name that a gateway gives. Send the file again.")
        self.prepare()
        target = self.given / safe_name(name)
        try:
            (self._home / UPLOADS_DIR / upload).rename(target)
        except FileNotFoundError as error:
            raise FileRefused("The upload is no longer there. Send the file again.") from error
        if not stat.S_ISREG(target.lstat().st_mode):
            raise FileRefused("The upload is no regular file. Send the file again.")
        return target

    def take(self, source: Path, place: str) -> Path:
        """Move a file into the run's folder.

        Args:
            source: a file below this folder; no link on its way is followed.
            place: path in the run's folder.

        Raises:
            FileRefused: there is no such regular file.
            OSError: the disk refused.
        """
        try:
            opened = open_inside(self.path, source.relative_to(self.path).as_posix())
        except InputUnusable as error:
            raise FileRefused(f"The worker did not write what it named: {error}.") from error
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
        target = self.run / place
        private_folder(target.parent)
        source.replace(target)
        target.chmod(0o600)
        sync_folder(target.parent)
        return target

    def publish(self) -> None:
        """Put the run's folder in its place. Until `close` it is on trial. Raises OSError: the disk refused."""
        private_folder(self._target.parent)
        sync_folder(self.run)
        self.run.rename(self._target)
        sync_folder(self._target.parent)

    def discard(self) -> None:
        """Remove everything, also the run's folder: its run is not added."""
        shutil.rmtree(self._target, ignore_errors=True)
        self.close()

    def close(self) -> None:
        """Remove what is left here."""
        shutil.rmtree(self.path, ignore_errors=True)


def sweep(home: Path, is_known: Callable[[str], bool]) -> int:
    """Remove imports that a killed scheduler had begun, and return how many.

    Args:
        home: MOSAIC_HOME.
        is_known: whether there is a run with this id.
    """
    folder = home / IMPORTS_DIR
    found = [path for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []
    removed = 0
    for path in found:
        if path.is_symlink() or _RUN_ID.fullmatch(path.name) is None:
            get_log().warning("import.unknown_folder", folder=str(path))
            continue
        begun = ImportFolder(home, path.name)
        if is_known(path.name):
            begun.close()
        else:
            begun.discard()
        removed += 1
    return removed


def names(home: Path) -> list[str]:
    """Ids of imports that are being prepared, or were when a scheduler was killed."""
    folder = home / IMPORTS_DIR
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def safe_name(name: str) -> str:
    """A name for a file in a run's folder: of letters, digits, dots, dashes and underscores."""
    plain = _UNSAFE.sub("_", name).lstrip(".")[-_LONGEST:].lstrip(".")
    return plain or "checkpoint"


def copy_bounded(source: BinaryIO, target: Path, most: int, note: Callable[[bytes], None]) -> int:
    """Write a new file, and return its size.

    Args:
        source: what is read.
        target: the file.
        most: bytes that it may have.
        note: called with each piece.

    Raises:
        FileRefused: there is more.
        OSError: the disk refused.
    """
    size = 0
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        while piece := source.read(2**20):
            size += len(piece)
            if size > most:
                raise FileRefused(
                    f"The checkpoint in it has more than the {most:,} bytes that it announces."
                )
            note(piece)
            file.write(piece)
    return size
