"""The socket of a dashboard: found below its run's folder without following a link."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from mosaic_contracts.dashboards import DASHBOARD_SOCKET

_OPEN = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def socket_name(run_dir: Path) -> Iterator[str]:
    """A name to connect to. It leads to the socket that was found, whatever takes its place meanwhile, and is short.

    Raises:
        FileNotFoundError: there is no such socket.
    """
    place = PurePosixPath(DASHBOARD_SOCKET)
    folder = os.open(run_dir / place.parent, _OPEN | os.O_DIRECTORY)
    try:
        found = os.open(place.name, _OPEN, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        if not stat.S_ISSOCK(os.fstat(found).st_mode):
            raise FileNotFoundError(f"{DASHBOARD_SOCKET} is no socket")
        yield f"/proc/self/fd/{found}"
    finally:
        os.close(found)
