"""A Unix socket on which a worker answers the gateway."""

import socket
from contextlib import suppress
from pathlib import Path

from mosaic_workerkit.control import short_name


class SocketListener:
    """A listening Unix socket that only its user can open."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with short_name(path) as name:
            self.socket.bind(name)
        path.chmod(0o600)

    def close(self) -> None:
        """Close it and remove its file."""
        self.socket.close()
        with suppress(OSError):
            self._path.unlink()
