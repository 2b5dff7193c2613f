"""Where the parts of the embedded stack lie: the checkout, the environments, the data root."""

import errno
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from mosaic_cli.errors import EnvironmentMissing, HomeUnusable
from mosaic_cli.stack.private import make_private
from mosaic_client.location import data_root, owner_hint
from mosaic_contracts.stack_files import (
    LOG_DIR,
    RESTORING_DIR,
    STACK_FILE,
    STACK_LOCK,
    TOKEN_FILE,
)

_OWN_FOLDERS = ("stack", LOG_DIR, "secrets", "secrets/broker", "nats", "db")
"""What the services of a stack write, but for the runs."""
DEFAULT_DISK_RESERVE_BYTES = 512 * 2**20
"""As the recorder's: below it nothing is accepted (docs/interfaces.md)."""
_LOW_OF_RESERVE = 3
"""As in the scheduler's settings."""


class Layout(NamedTuple):
    """Folders of one embedded stack."""

    root: Path
    """The checkout."""
    home: Path
    venvs: Path

    @classmethod
    def of_environment(cls, environ: Mapping[str, str] = os.environ) -> "Layout":
        """As `./mosaic` says, else as seen from the current folder."""
        root = Path(environ.get("MOSAIC_ROOT") or Path.cwd()).absolute()
        venvs = Path(environ.get("MOSAIC_VENVS") or root / "var" / "venvs").absolute()
        return cls(root=root, home=data_root(environ), venvs=venvs)

    @property
    def stack_file(self) -> Path:
        return self.home / STACK_FILE

    @property
    def lock_file(self) -> Path:
        return self.home / STACK_LOCK

    @property
    def token_file(self) -> Path:
        return self.home / TOKEN_FILE

    @property
    def agreed_scripts(self) -> Path:
        """The scripts of the user's own that they agreed to run."""
        return self.home / "agreed_scripts.json"

    @property
    def supervisor_log(self) -> Path:
        return self.home / LOG_DIR / "supervisor.log"

    def log(self, service: str) -> str:
        """Log of a service, relative to the home."""
        return f"{LOG_DIR}/{service}.log"

    def program(self, room: str, name: str) -> str:
        """A program of a room's environment.

        Raises:
            EnvironmentMissing: it is not there.
        """
        path = self.venvs / room / "bin" / name
        if not os.access(path, os.X_OK):
            raise EnvironmentMissing(
                f"The environment of {room} is missing ({path}). Make it with `./mosaic sync {room}`."
            )
        return str(path)

    def prepare_home(self, reserve_bytes: int | None = None) -> None:
        """Make the folders that the supervisor itself writes to.

        Raises:
            HomeUnusable: read-only, not a folder, or the disk is full.
        """
        if (self.home / RESTORING_DIR).exists():
            raise HomeUnusable(
                f"A backup was not restored to its end in {self.home}. Begin again with `./mosaic backup restore "
                f"FILE`, or delete {self.home / RESTORING_DIR} and what is next to it."
            )
        try:
            for folder in (self.lock_file.parent, self.home / LOG_DIR):
                make_private(folder)
            probe = self.lock_file.parent / ".writable"
            probe.write_text("")
            probe.unlink()
            self._check_owned()
        except OSError as error:
            hint = owner_hint(Path(error.filename or self.home))
            remedy = hint or "Name another one with MOSAIC_HOME, or make it writable."
            raise HomeUnusable(
                f"The data root {self.home} cannot be written ({error.strerror}). {remedy}"
            ) from error
        import shutil  # imports compression libraries; a verb that only looks needs none

        if reserve_bytes is None:
            reserve_bytes = disk_reserve_bytes()
        free = shutil.disk_usage(self.home).free
        if free < reserve_bytes:
            raise HomeUnusable(
                f"The disk of {self.home} has {free >> 20} MiB left, and MOSAIC keeps "
                f"{reserve_bytes >> 20} MiB free. Free some space, name another "
                "MOSAIC_HOME, or lower MOSAIC_DISK_RESERVE_BYTES."
            )

    def _check_owned(self) -> None:
        """Find what another user left here, for example by one start with sudo.

        Raises:
            OSError: names the first path that cannot be written.
        """
        folders = [self.home / name for name in _OWN_FOLDERS]
        present = [folder for folder in folders if folder.exists()]
        for path in (*present, *(entry for folder in present for entry in folder.iterdir())):
            if not path.is_symlink() and not os.access(path, os.W_OK, effective_ids=True):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def disk_reserve_bytes(environ: Mapping[str, str] = os.environ) -> int:
    """Free bytes that are kept.

    Raises:
        HomeUnusable: the variable is no number.
    """
    return _bytes_of(environ, "MOSAIC_DISK_RESERVE_BYTES", DEFAULT_DISK_RESERVE_BYTES)


def disk_low_bytes(environ: Mapping[str, str] = os.environ) -> int:
    """Free bytes below which new trainings wait, as the scheduler reads them.

    Raises:
        HomeUnusable: a variable is no number.
    """
    default = _LOW_OF_RESERVE * disk_reserve_bytes(environ)
    return _bytes_of(environ, "MOSAIC_DISK_LOW_BYTES", default)


def _bytes_of(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name)
    if not text:
        return default
    if not text.isdecimal():
        raise HomeUnusable(f"{name} is {text!r}; it takes a number of bytes.")
    return int(text)
