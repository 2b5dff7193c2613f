"""The folder in which removed files rest: `MOSAIC_HOME/trash`. A move is a rename on one disk; no link is followed."""

import errno
import os
import shutil
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from mosaic_base.atomic import sync_folder
from mosaic_base.file_tree import open_folder
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.storage_words import TRASH_DIR
from mosaic_scheduler.retention.removals import RemovedFile
from mosaic_servicekit.privacy import private_folder

_HIDDEN = ".trash"
"""Name of the folder within `runs`, where `runs` is a disk of its own."""


class Trash:
    """Moves files into the trash, back, and out of it. Blocks: call it in a thread."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._runs = home / RUNS_DIR

    @property
    def folder(self) -> Path:
        """Where removed files rest; on the disk of the runs, so that a move is a rename."""
        if self._runs.exists() and self._runs.stat().st_dev != self._home.stat().st_dev:
            return self._runs / _HIDDEN
        return self._home / TRASH_DIR

    def has(self, row: RemovedFile) -> bool:
        """Whether the file is in the trash."""
        return row.is_folder or os.path.lexists(self.folder / str(row.id))

    def is_in_place(self, row: RemovedFile) -> bool:
        """Whether something is where the file was."""
        if row.is_folder:
            return False
        try:
            fd = open_folder(self._runs, self._above(row)[0])
        except OSError:
            return False
        try:
            os.stat(self._above(row)[1], dir_fd=fd, follow_symlinks=False)
        except FileNotFoundError:
            return False
        except OSError:  # it cannot be looked at: nothing may be moved there
            return True
        finally:
            os.close(fd)
        return True

    def take(self, row: RemovedFile) -> bool:
        """Move a file into the trash. False: it is not there.

        Raises:
            OSError: it cannot be moved.
        """
        if row.is_folder:
            return True
        private_folder(self.folder)
        above, last = self._above(row)
        try:
            source = open_folder(self._runs, above)
        except FileNotFoundError:
            return False
        target = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.rename(last, str(row.id), src_dir_fd=source, dst_dir_fd=target)
        except FileNotFoundError:
            return False
        finally:
            os.close(source)
            os.close(target)
        if row.name:
            self._drop_empty(row.run_id, row.name)
        return True

    def put_back(self, row: RemovedFile) -> bool:
        """Move a file back to its place. False: it is not in the trash, or something is in its place.

        Raises:
            OSError: it cannot be moved.
        """
        if self.is_in_place(row) or not self.has(row):
            return False
        if row.is_folder:
            return True
        above, last = self._above(row)
        target = _make_folders(self._runs, above)
        source = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.rename(str(row.id), last, src_dir_fd=source, dst_dir_fd=target)
        finally:
            os.close(source)
            os.close(target)
        return True

    def delete(self, row: RemovedFile) -> None:
        """Delete a file from the trash. One that is not there is deleted already.

        Raises:
            OSError: the disk refused.
        """
        _delete(self.folder / str(row.id))

    def sync(self) -> None:
        """Let moves survive a loss of power."""
        if self.folder.is_dir():
            sync_folder(self.folder)

    def strays(self, known: Collection[int]) -> list[Path]:
        """What is in the trash and belongs to no removal."""
        if not self.folder.is_dir():
            return []
        names = {str(number) for number in known}
        return [path for path in self.folder.iterdir() if path.name not in names]

    def delete_stray(self, path: Path) -> int:
        """Delete one of `strays`; returns its bytes. Raises OSError: the disk refused."""
        size = size_of(path)
        _delete(path)
        return size

    def _above(self, row: RemovedFile) -> tuple[bytes, bytes]:
        """The folder that the file is in, below `runs`, and its name in that."""
        full = os.fsencode(row.run_id) + (b"/" + row.name if row.name else b"")
        above, _, last = full.rpartition(b"/")
        return above, last

    def _drop_empty(self, run_id: str, name: bytes) -> None:
        """Remove the folders above a file that are empty now, up to the run's own."""
        above = name.rpartition(b"/")[0]
        while above:
            outer, _, last = above.rpartition(b"/")
            try:
                fd = open_folder(self._runs, os.fsencode(run_id) + (b"/" + outer if outer else b""))
            except OSError:
                return
            try:
                os.rmdir(last, dir_fd=fd)
            except OSError:
                return  # it has other files, or may not be removed
            finally:
                os.close(fd)
            above = outer


def size_of(path: Path) -> int:
    """Bytes of a file, or of all files below a folder. What vanishes meanwhile counts nothing."""
    total = 0
    with suppress(OSError):
        found = path.lstat()
        if not path.is_dir() or path.is_symlink():
            return found.st_size
        for above, _, names in os.walk(path):
            for name in names:
                with suppress(OSError):
                    total += os.lstat(os.path.join(above, name)).st_size  # noqa: PTH118 - bytes of many files
    return total


def _make_folders(root: Path, name: bytes) -> int:
    """Open a folder below `root`, and make what is missing of it."""
    made = b""
    for part in name.split(b"/") if name else ():
        fd = open_folder(root, made)
        try:
            with suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=fd)
        finally:
            os.close(fd)
        made = made + b"/" + part if made else part
    return open_folder(root, name)


def _delete(path: Path) -> None:
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno not in (errno.EISDIR, errno.EPERM):
            raise
        shutil.rmtree(path)
