"""Lists and hashes what lies below a folder that other programs write. No link is followed.

Every folder is opened from the one above it, so that a link that is put there meanwhile leads nowhere. The folder
itself may be no link either: the files behind one belong to somebody else. Links above it are followed.
"""

import hashlib
import os
import stat
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NamedTuple

MAX_FILES = 100_000
"""Maximum number of files that one look lists; the rest is counted."""
MAX_DEPTH = 32
"""Maximum number of folders above a file; a deeper folder is counted as one file."""
FILE, LINK, SPECIAL = "file", "link", "special"
"""Types: a regular file, a link, and all else that is no folder (FIFO, socket, device)."""
_CHUNK_BYTES = 2**20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REGULAR = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class FoundFile(NamedTuple):
    """A file below the folder."""

    path: str
    """Relative path; bytes that are no UTF-8 are written as `\\xNN`."""
    name: bytes
    """The same path as the disk has it."""
    type: str
    """`file`, `link` or `special`."""
    bytes: int
    mtime_us: int
    """Time of its last change, microseconds since the epoch."""

    @property
    def is_utf8(self) -> bool:
        """Whether `path` is the path as the disk has it."""
        return self.path.encode() == self.name


class FileTree(NamedTuple):
    """All files below a folder."""

    files: "list[FoundFile]"
    """In the order of their names, folder by folder."""
    folders: "frozenset[str]"
    """Relative paths of all folders that were looked into."""
    unlisted_files: int
    unlisted_bytes: int
    """Number and size of the files beyond the limits."""


def list_files(
    root: Path,
    leave_out: Collection[str] = (),
    max_files: int = MAX_FILES,
) -> FileTree:
    """List the files below a folder. What vanishes meanwhile, and what may not be read, is left out.

    Args:
        root: the folder.
        leave_out: names in it that are not looked into.
        max_files: maximum number of files in the list.

    Raises:
        OSError: the folder itself is not there, is a link, or may not be read.
    """
    fd = os.open(root, _FOLDER)
    look = _Look(max_files)
    try:
        look.into(fd, b"", {os.fsencode(name) for name in leave_out}, MAX_DEPTH)
    finally:
        os.close(fd)
    return FileTree(look.files, frozenset(look.folders), look.unlisted_files, look.unlisted_bytes)


def find_file(root: Path, path: str) -> "FoundFile | None":
    """Look for one file below a folder, without following a link.

    Args:
        root: the folder.
        path: relative path in its simplest form.

    Returns:
        None: it is not there, leads out of the folder, is a folder, or may not be looked at.
    """
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        return None
    try:
        name = path.encode()
        above, _, last = name.rpartition(b"/")
        fd = _open_real(root, above)
        try:
            found = os.stat(last, dir_fd=fd, follow_symlinks=False)
        finally:
            os.close(fd)
    except (OSError, ValueError):  # ValueError: a NUL, or no text that a name can be
        return None
    return None if stat.S_ISDIR(found.st_mode) else _found(path, name, found)


def hash_file(root: Path, found: FoundFile, is_over: Callable[[], bool]) -> "str | None":
    """Return the SHA-256 of a regular file, in hexadecimal digits.

    Args:
        root: the folder.
        found: a file below it.
        is_over: asked before each MiB; when it says so, reading ends.

    Returns:
        None: it is no regular file any more, cannot be read, has changed since it was found, or it was over.
    """
    try:
        fd = _open_below(root, found.name)
    except OSError:
        return None
    with os.fdopen(fd, "rb", buffering=0) as file:
        digest = hashlib.sha256()
        try:
            while not is_over():
                chunk = file.read(_CHUNK_BYTES)
                if not chunk:
                    return digest.hexdigest() if _is_same(os.fstat(fd), found) else None
                digest.update(chunk)
        except OSError:
            return None
    return None


class _Look:
    """What one look has found so far."""

    def __init__(self, max_files: int) -> None:
        self._room = max_files
        self._paths: set[str] = set()
        self.files: list[FoundFile] = []
        self.folders: set[str] = set()
        self.unlisted_files = 0
        self.unlisted_bytes = 0

    def into(self, fd: int, above: bytes, leave_out: Collection[bytes], depth: int) -> None:
        """List the folder that is open as `fd`."""
        with os.scandir(fd) as entries:
            names = sorted(os.fsencode(entry.name) for entry in entries)
        for name in names:
            if name in leave_out:
                continue
            try:
                found = os.stat(name, dir_fd=fd, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode) and depth > 0:
                    self._into_folder(name, fd, above, depth)
                    continue
            except OSError:
                continue  # it has vanished, was replaced, or may not be read
            self._add(above + name, found)

    def _into_folder(self, name: bytes, above_fd: int, above: bytes, depth: int) -> None:
        fd = os.open(name, _FOLDER, dir_fd=above_fd)
        self.folders.add(_text(above + name))
        try:
            self.into(fd, above + name + b"/", (), depth - 1)
        finally:
            os.close(fd)

    def _add(self, name: bytes, found: os.stat_result) -> None:
        if self._room <= 0 or stat.S_ISDIR(found.st_mode):
            self.unlisted_files += 1
            self.unlisted_bytes += found.st_size if stat.S_ISREG(found.st_mode) else 0
            return
        self._room -= 1
        path = _text(name)
        if path in self._paths:  # another file is really called so
            path += f" ({name.hex()})"
        self._paths.add(path)
        self.files.append(_found(path, name, found))


def _text(name: bytes) -> str:
    return name.decode("utf-8", "backslashreplace")


def _found(path: str, name: bytes, found: os.stat_result) -> FoundFile:
    size = found.st_size if stat.S_ISREG(found.st_mode) else 0
    return FoundFile(path, name, _type_of(found), size, found.st_mtime_ns // 1000)


def _type_of(found: os.stat_result) -> str:
    if stat.S_ISREG(found.st_mode):
        return FILE
    return LINK if stat.S_ISLNK(found.st_mode) else SPECIAL


def _is_same(now: os.stat_result, found: FoundFile) -> bool:
    known = (found.bytes, found.mtime_us)
    return stat.S_ISREG(now.st_mode) and (now.st_size, now.st_mtime_ns // 1000) == known


def _open_below(root: Path, name: bytes) -> int:
    above, _, last = name.rpartition(b"/")
    fd = _open_real(root, above)
    try:
        return os.open(last, _REGULAR, dir_fd=fd)
    finally:
        os.close(fd)


def _open_real(root: Path, name: bytes) -> int:
    """Open a folder below another one as `open_folder` does; `root` may be no link either."""
    return _open_parts(os.open(root, _FOLDER), name)


def open_folder(root: Path, name: bytes) -> int:
    """Open a folder below another one, each from the one above it, so that no link below `root` is followed.

    Args:
        root: the folder that it is below; it may be a link.
        name: relative path as the disk has it; empty: `root` itself.

    Returns:
        A file descriptor. The caller closes it.

    Raises:
        OSError: it is not there, is no folder, or may not be opened.
    """
    return _open_parts(os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC), name)


def _open_parts(fd: int, name: bytes) -> int:
    for part in name.split(b"/") if name else ():
        above = fd
        try:
            fd = os.open(part, _FOLDER, dir_fd=above)
        finally:
            os.close(above)
    return fd
