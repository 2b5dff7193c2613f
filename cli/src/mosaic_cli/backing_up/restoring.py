"""Restores a backup into an empty data root, all of it or nothing (ADR 0032).

Everything is unpacked and compared in `restoring/` first. While that folder is there, no stack starts. A restore that
was killed is undone by the next one.
"""

import errno
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mosaic_base.atomic import replace_file, sync_folder
from mosaic_base.sealed_zip import SealedZipInvalid
from mosaic_cli.backing_up.reading import BackupItem, ItemType, OpenBackup, opened_backup, refused
from mosaic_cli.backing_up.writing import Progress
from mosaic_cli.errors import HomeUnusable, RestoreFailed, StackAlreadyUp
from mosaic_cli.stack.layout import Layout, disk_reserve_bytes
from mosaic_cli.stack.lock import StackLock
from mosaic_cli.stack.private import make_private
from mosaic_contracts.backups import BackupFacts, RestoredStack
from mosaic_contracts.stack_files import BACKED_UP, RESTORED_FILE, RESTORING_DIR

_CONTENT, _MOVED = "home", "moved"
"""In `restoring/`: what becomes the data root, and the names of what is moved there."""
_LAST = "db"
"""Moved last: without it there are no runs."""


def restore_backup(layout: Layout, path: Path, progress: Progress) -> BackupFacts:
    """Restore a backup.

    Args:
        layout: the stack; its data root must have no data.
        path: the backup.
        progress: called with the number of bytes that were written since its last call.

    Raises:
        BackupRefused, FileProblem: see `opened_backup`.
        RestoreFailed: the data root has data, a stack is up, or the disk has no room.
    """
    with opened_backup(path) as backup, _held(layout):
        staging = layout.home / RESTORING_DIR
        _undo(layout.home)
        _require_empty(layout.home)
        _require_room(layout.home, backup.bytes)
        try:
            make_private(staging)
            _unpack(backup, staging / _CONTENT, progress)
            _mark(staging / _CONTENT, backup.facts)
            _move(staging, layout.home)
        except SealedZipInvalid as error:
            _undo(layout.home)
            raise refused(path, str(error)) from error
        except OSError as error:
            _undo(layout.home)
            raise RestoreFailed(_fault_text(layout.home, error)) from error
        except BaseException:
            _undo(layout.home)
            raise
    return backup.facts


@contextmanager
def _held(layout: Layout) -> Iterator[None]:
    """Keep stacks and other restores away from the data root."""
    try:
        make_private(layout.lock_file.parent)
        lock = StackLock.take(layout.lock_file)
    except StackAlreadyUp as error:
        raise RestoreFailed(
            f"A stack is up on {layout.home}, or a backup is being restored there. Take it down with `./mosaic down`, "
            "or name an empty folder with MOSAIC_HOME."
        ) from error
    except OSError as error:
        raise HomeUnusable(f"{layout.home} cannot be written ({error.strerror}).") from error
    try:
        yield
    finally:
        lock.release()


def _undo(home: Path) -> None:
    """Remove what an unfinished restore has put there."""
    staging = home / RESTORING_DIR
    moved = staging / _MOVED
    for name in moved.read_text().split("\n") if moved.is_file() else ():
        if name in BACKED_UP:
            _remove(home / name)
    if staging.is_dir():
        # the list of what was moved goes last
        _remove(staging / _CONTENT)
        shutil.rmtree(staging)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _require_empty(home: Path) -> None:
    """Check that nothing is there that a restore would replace."""
    taken = [name for name in BACKED_UP if _has_data(home / name)]
    if taken:
        raise RestoreFailed(
            f"{home} has data already: {', '.join(taken)}. A backup is restored into an empty folder only. Name one "
            "with MOSAIC_HOME, or move this data away. Nothing was changed."
        )


def _has_data(path: Path) -> bool:
    if path.is_dir() and not path.is_symlink():
        return any(path.iterdir())
    return os.path.lexists(path)


def _require_room(home: Path, needed: int) -> None:
    free = shutil.disk_usage(home).free
    reserve = disk_reserve_bytes()
    if needed + reserve > free:
        raise RestoreFailed(
            f"The backup has {needed >> 20:,} MiB, {free >> 20:,} MiB are free on the disk of {home}, and MOSAIC keeps "
            f"{reserve >> 20:,} MiB of them free (MOSAIC_DISK_RESERVE_BYTES). Free some space, or name another "
            "MOSAIC_HOME. Nothing was changed."
        )


def _unpack(backup: OpenBackup, root: Path, progress: Progress) -> None:
    """Write everything below `root`. No link is there before all files are, so that none is written through."""
    make_private(root)
    links: list[BackupItem] = []
    for item in backup.items:
        place = root / item.path
        if item.type == ItemType.LINK:
            links.append(item)
        elif item.type == ItemType.FOLDER:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.chmod(item.mode & 0o777 | 0o700)
        else:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(backup, item, place, progress)
    for link in links:
        place = root / link.path
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        place.symlink_to(link.target)


def _write(backup: OpenBackup, item: BackupItem, place: Path, progress: Progress) -> None:
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(fd, "wb") as file:
        for piece in backup.zip.pieces(item.content):
            file.write(piece)
            progress(len(piece))
        os.fchmod(fd, item.mode & 0o777)
        file.flush()
        os.utime(fd, ns=(item.mtime_ns, item.mtime_ns))


def _mark(root: Path, facts: BackupFacts) -> None:
    """Leave a word for the scheduler: runs that had processes have none here."""
    restored = RestoredStack(
        backup_id=facts.id,
        made_at=facts.made_at,
        host=facts.host,
        restored_at=time.time(),
        stored=facts.stored,
    )
    replace_file(root / RESTORED_FILE, restored.model_dump_json(indent=1), mode=0o600)


def _move(staging: Path, home: Path) -> None:
    os.sync()  # the files, before a name says that they are there
    names = sorted(os.listdir(staging / _CONTENT), key=lambda name: (name == _LAST, name))  # noqa: PTH208
    replace_file(staging / _MOVED, "\n".join(names), durable=True)
    for name in names:
        if (home / name).is_dir():
            (home / name).rmdir()  # it is empty
        (staging / _CONTENT / name).rename(home / name)
    sync_folder(home)
    (staging / _MOVED).unlink()  # from here on it is complete
    shutil.rmtree(staging)


def _fault_text(home: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = "The disk is full. Free some space"
    elif error.errno in (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG):
        why = (
            f"{error.filename} is there twice, as a file and a folder, or has a name that this disk cannot keep. "
            "Take another backup"
        )
    else:
        why = f"{error.filename or home}: {error.strerror or error}. Make it writable"
    return (
        f"{why}, or name another MOSAIC_HOME. Nothing was restored, and nothing is left in {home}."
    )
