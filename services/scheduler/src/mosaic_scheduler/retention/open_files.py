"""Which files of runs some program has open: those stay."""

import fcntl
import os
from contextlib import suppress
from pathlib import Path

from mosaic_base.file_tree import open_folder

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_paths(runs: Path) -> set[str]:
    """Files below `runs` that processes of this machine have open, by absolute path; other users' are not seen."""
    found: set[str] = set()
    beginning = f"{runs.resolve()}/"
    own = str(os.getpid())
    for process in os.scandir("/proc"):
        if not process.name.isdigit() or process.name == own:
            continue
        with suppress(OSError):  # it has ended, or belongs to somebody else
            for handle in os.scandir(f"/proc/{process.name}/fd"):
                with suppress(OSError):
                    target = os.readlink(handle.path)  # noqa: PTH115 - thousands of them
                    if target.startswith(beginning):
                        found.add(target)
    return found


def is_locked(runs: Path, run_id: str, name: bytes) -> bool:
    """Whether a program holds a lock on a file: the gateway locks what a client downloads, also from a container."""
    above, _, last = (os.fsencode(run_id) + b"/" + name).rpartition(b"/")
    try:
        folder = open_folder(runs, above)
    except OSError:
        return False
    try:
        fd = os.open(last, _READ, dir_fd=folder)
    except OSError:  # a link, or a file that nobody may read
        return False
    finally:
        os.close(folder)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a disk without locks
        return False
    finally:
        os.close(fd)
    return False


def may_move(runs: Path, run_id: str, name: bytes) -> bool:
    """Whether this process may take a file out of its folder. A file that is not there may be."""
    above = (os.fsencode(run_id) + b"/" + name).rpartition(b"/")[0]
    path = os.fsencode(runs) + b"/" + above
    return not os.path.isdir(path) or os.access(path, os.W_OK | os.X_OK)  # noqa: PTH112 - bytes
