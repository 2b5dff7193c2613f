"""The lock that one supervisor holds for as long as it lives; free means that there is none, whatever files say."""

import json
import os
import time
from pathlib import Path
from typing import Self

from mosaic_base.locks import try_lock
from mosaic_base.procfs import pids, start_ticks
from mosaic_cli.errors import HomeUnusable, StackAlreadyUp
from mosaic_cli.stack.process import Process, current
from mosaic_client.location import owner_hint

LOOKER_S = 1.0
LOOK_EVERY_S = 0.005


class StackLock:
    """A held lock. Keep it until the process ends."""

    def __init__(self, fd: int, path: Path) -> None:
        self._fd = fd
        self.path = path

    @classmethod
    def take(cls, path: Path) -> Self:
        """Take the lock and write who has it.

        Raises:
            StackAlreadyUp: another supervisor has it.
            HomeUnusable: the file cannot be opened.
        """
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise HomeUnusable(
                f"{path} cannot be opened ({error.strerror}). {owner_hint(path)}".strip()
            ) from error
        if not _take_or_find_holder(fd):
            os.close(fd)
            raise StackAlreadyUp("A stack is already up here. `./mosaic status` shows it.")
        holder = {"pid": os.getpid(), "start_ticks": start_ticks(os.getpid())}
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(holder).encode(), 0)
        return cls(fd, path)

    def is_in_place(self) -> bool:
        """Whether the file is still the one that is held: deleted or replaced, nobody can see that it is."""
        try:
            found = self.path.stat()
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self._fd))

    def release(self) -> None:
        """Let go of the lock (the end of the process does too)."""
        os.close(self._fd)


def _take_or_find_holder(fd: int) -> bool:
    """Take the lock; False when a supervisor has it.

    Someone who only looks holds the lock for an instant (`is_held`), and writes no name into it.
    """
    deadline_s = time.monotonic() + LOOKER_S
    while True:
        if try_lock(fd):
            return True
        if _written_holder(fd) is not None or time.monotonic() > deadline_s:
            return False
        time.sleep(LOOK_EVERY_S)  # a lock that is let go of announces nothing


def _open_to_look(path: Path) -> int | None:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError as error:
        raise HomeUnusable(
            f"{path} cannot be read ({error.strerror}). {owner_hint(path)}".strip()
        ) from error
    except OSError:
        return None


def is_held(path: Path) -> bool:
    """Whether a supervisor of this data root lives.

    Raises:
        HomeUnusable: it is another user's.
    """
    fd = _open_to_look(path)
    if fd is None:
        return False
    try:
        return not try_lock(fd, shared=True)
    finally:
        os.close(fd)


def lock_holder(path: Path) -> Process | None:
    """The living supervisor of this data root, or None.

    Raises:
        HomeUnusable: it is another user's.
    """
    fd = _open_to_look(path)
    if fd is None:
        return None
    try:
        return None if try_lock(fd, shared=True) else _written_holder(fd)
    finally:
        os.close(fd)


def lost_holders(path: Path) -> list[Process]:
    """Supervisors of this data root whose lock file was deleted under them: they end themselves in a moment."""
    link = f"{path.resolve()} (deleted)"
    found = (current(pid) for pid in _lock_holding_pids())
    return [process for process in found if process is not None and link in process.open_files()]


def _lock_holding_pids() -> set[int]:
    """Pids that hold a lock of this kind on any file, as the kernel lists them."""
    try:
        lines = Path("/proc/locks").read_text().splitlines()
    except FileNotFoundError:  # not every kernel lists them; then any process may hold one
        return set(pids())
    rows = (line.split() for line in lines)
    # "1: FLOCK ADVISORY WRITE pid device:inode start end"; "->" marks one that waits, pid 0 another namespace
    return {int(row[4]) for row in rows if row[1] == "FLOCK" and int(row[4]) > 0}


def _written_holder(fd: int) -> Process | None:
    try:
        written = json.loads(os.pread(fd, 4096, 0))
        process = Process(int(written["pid"]), int(written["start_ticks"]))
    except (ValueError, KeyError, TypeError):
        return None  # taken this moment, not written yet
    return current(process.pid) if process.is_alive else None
