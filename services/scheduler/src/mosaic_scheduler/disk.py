"""Free space, and whether a folder can be written."""

import errno
import os
import shutil
import tempfile
from pathlib import Path

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def free_bytes(home: Path) -> int:
    """Bytes free below `home` or, before it exists, its nearest parent that does."""
    folder = home
    while not folder.exists():
        folder = folder.parent
    return shutil.disk_usage(folder).free


def write_fault(folder: Path) -> str | None:
    """Why nothing can be made in `folder`, and what to do; None: it can be written. The folder is made if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        Path(tempfile.mkdtemp(prefix=".probe-", dir=folder)).rmdir()
    except OSError as error:
        return fault_words(folder, error)
    return None


def fault_words(path: Path, error: OSError) -> str:
    """A refused write below `path`, in words."""
    named = path if error.filename is None or ".probe-" in str(error.filename) else error.filename
    said = f"{named} cannot be written: {error.strerror or error}."
    if error.errno in _NO_SPACE:
        return f"{said} Free some space."
    if error.errno == errno.EROFS:
        return f"{said} Mount its file system for writing."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{said} {_whose(path)}"
    return said


def _whose(path: Path) -> str:
    folder = path
    while not folder.exists():
        folder = folder.parent
    owner, mode = folder.stat().st_uid, folder.stat().st_mode & 0o7777
    return (
        f"{folder} belongs to uid {owner} with mode {mode:o}, and the scheduler has uid {os.geteuid()}: let that uid "
        "write there (`chown`, `chmod u+rwx`)."
    )
