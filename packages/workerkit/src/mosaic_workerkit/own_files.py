"""Makes a run's own files again when its program deletes them, e.g. to begin with an empty output folder.

Standard library only, for the runner. The outbox is made again by the process that writes it.
"""

import fcntl
import os
import stat
import time
from pathlib import Path

from mosaic_base.atomic import replace_file

_LOCK = "control/runner.lock"
_CREDENTIALS = "control/broker.creds"
"""Written again by the scheduler while the run lives."""
_KEPT = ("control/launch.json", "spec.json", _CREDENTIALS)
_CHUNK_BYTES = 2**20
SETTLE_S = 2.0
"""Seconds before a missing file is made again, because a program that is still deleting its folder would fail."""
DELETED = (
    "The program deleted files of the run folder that MOSAIC needs, as a script does that empties its output folder "
    "first. They were made again; give the program a folder of its own below the run folder."
)
"""Note of a run whose files were deleted."""


class OwnFiles:
    """Files that runner, shipper and scheduler need, and the logs, which are restored when a program deletes them.

    Args:
        lock_fd: the runner's lock, which is held.
    """

    def __init__(self, run_dir: Path, lock_fd: int) -> None:
        self._run_dir = run_dir
        self._lock_fd = lock_fd
        self._contents: dict[str, bytes] = {}
        self._written: dict[str, int] = {}
        self._logs: dict[str, int] = {}
        self._copied: dict[str, int] = {}
        """Bytes of a deleted log that the log made in its place has."""
        self._missing_since: float | None = None
        self._remember()

    def add_log(self, name: str, fd: int) -> None:
        """Watch over a log that is open for writing; `fd` is taken over."""
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return
        before = self._logs.pop(name, None)
        if before is not None:
            os.close(before)
        self._logs[name] = fd
        self._copied[name] = 0

    def look(self) -> bool:
        """Restore what has been missing for a while, and return whether that was needed.

        Raises:
            OSError: the disk refused, or the folder may not be written.
        """
        if self._is_whole():
            self._missing_since = None
            self._follow_logs()
            self._remember()
            return False
        now = time.monotonic()
        if self._missing_since is None:
            self._missing_since = now
        return now - self._missing_since >= SETTLE_S and self.restore()

    def restore(self) -> bool:
        """Restore what is missing at once, after the program has ended."""
        if self._is_whole():
            self._follow_logs()
            return False
        self._missing_since = None
        self._restore_control()
        for name, data in self._contents.items():
            if not (self._run_dir / name).exists():
                replace_file(self._run_dir / name, data, mode=0o600)
        self._follow_logs()
        return True

    def _is_whole(self) -> bool:
        paths = [self._run_dir / name for name in (*self._contents, *self._logs)]
        return _is_same(self._run_dir / _LOCK, self._lock_fd) and all(map(_exists, paths))

    def _restore_control(self) -> None:
        if _is_same(self._run_dir / _LOCK, self._lock_fd):
            return
        control = self._run_dir / "control"
        if control.is_symlink() or (control.exists() and not control.is_dir()):
            control.unlink()
        control.mkdir(mode=0o700, parents=True, exist_ok=True)
        (self._run_dir / _LOCK).unlink(missing_ok=True)
        fd = os.open(
            self._run_dir / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600
        )
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._lock_fd = fd  # the earlier one stays open as well: its file is gone

    def _follow_logs(self) -> None:
        """A process goes on writing a deleted log, so the log that was made in its place follows it until the end."""
        for name, fd in self._logs.items():
            path = self._run_dir / name
            if _is_same(path, fd):
                continue
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("ab") as log, Path(f"/proc/self/fd/{fd}").open("rb") as deleted:
                os.fchmod(log.fileno(), 0o600)
                deleted.seek(self._copied[name])
                while chunk := deleted.read(_CHUNK_BYTES):
                    log.write(chunk)
                    self._copied[name] += len(chunk)

    def _remember(self) -> None:
        for name in _KEPT:
            try:
                written = (self._run_dir / name).stat().st_mtime_ns
                if written != self._written.get(name):
                    self._contents[name] = (self._run_dir / name).read_bytes()
                    self._written[name] = written
            except OSError:
                continue  # there is none, or it is being replaced


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except OSError:
        return False
    return True


def _is_same(path: Path, fd: int) -> bool:
    """Whether `path` still names the open file."""
    try:
        found = path.stat()
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(fd))
