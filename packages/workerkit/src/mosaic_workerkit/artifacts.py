"""Files of a run that others may rely on: whole or absent, with their digest, listed in `manifest.json`."""

import hashlib
import json
import os
import stat
from pathlib import Path, PurePath
from typing import Any, BinaryIO

from mosaic_base.atomic import replace_file
from mosaic_contracts.launch import MANIFEST_FILE
from mosaic_workerkit.errors import ArtifactPathRefused

_CHUNK_BYTES = 2**20


def inside_run(run_dir: Path, path: str | Path) -> str:
    """Return the path relative to the run folder, in POSIX form, with links resolved.

    Raises:
        ArtifactPathRefused: it leaves the run folder (also through a link), does not exist, or cannot be resolved.
    """
    root = run_dir.resolve()
    try:
        full = (root / path).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a loop of links
        raise ArtifactPathRefused(f"{path} cannot be resolved: {error}") from error
    if full == root or not full.is_relative_to(root):
        raise ArtifactPathRefused(
            f"{path} is not inside the run folder; write run files below {root}"
        )
    if not os.path.lexists(full):
        raise ArtifactPathRefused(f"{path} does not exist; announce a file when it is complete")
    where = full.relative_to(root).as_posix()
    try:
        where.encode()
    except UnicodeEncodeError as error:
        raise ArtifactPathRefused(
            f"{where!a} is not a UTF-8 name; rename the file to announce it"
        ) from error
    return where


def measure(run_dir: Path, where: str) -> tuple[int, str | None]:
    """Return size and SHA-256 of a regular file below the run folder; a folder has a size and no digest.

    No link is followed, and a FIFO or a device is never read.

    Args:
        where: a path that `inside_run` returned.

    Raises:
        ArtifactPathRefused: it is neither a regular file nor a folder, or cannot be opened.
        OSError: the disk failed while the file was read.
    """
    fd = _open_below(run_dir, where)
    if stat.S_ISDIR(os.fstat(fd).st_mode):
        os.close(fd)
        return _folder_bytes(run_dir / where), None
    with os.fdopen(fd, "rb") as file:
        return _size_and_digest(file)


def _open_below(run_dir: Path, where: str) -> int:
    """Open a file or folder one component after the other, so that none of them can be a link."""
    fd = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    for part in PurePath(where).parts:
        try:
            # Asked before it is opened: to open a device may already act on it.
            mode = os.stat(part, dir_fd=fd, follow_symlinks=False).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise ArtifactPathRefused(
                    f"{where} is {_kind_of(mode)}; announce regular files and folders only"
                )
            # Non-blocking, or a FIFO put there since would wait for a writer.
            inner = os.open(
                part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=fd
            )
        except OSError as error:
            raise ArtifactPathRefused(f"{where} cannot be opened: {error.strerror}") from error
        finally:
            os.close(fd)
        fd = inner
    mode = os.fstat(fd).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        os.close(fd)
        raise ArtifactPathRefused(f"{where} was replaced by {_kind_of(mode)}")
    return fd


def _kind_of(mode: int) -> str:
    kinds = {
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
        stat.S_IFLNK: "a link",
    }
    return kinds.get(stat.S_IFMT(mode), "not a file")


def _size_and_digest(file: BinaryIO) -> tuple[int, str]:
    digest, size = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK_BYTES):
        digest.update(chunk)
        size += len(chunk)
    return size, digest.hexdigest()


def _folder_bytes(folder: Path) -> int:
    """Bytes of all regular files below a folder, which may change meanwhile; links count for nothing."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                found = Path(parent, name).lstat()
            except FileNotFoundError:
                continue
            total += found.st_size if stat.S_ISREG(found.st_mode) else 0
    return total


def add_to_manifest(run_dir: Path, entry: dict[str, Any]) -> None:
    """Add or replace the entry of `entry["path"]` in the run's manifest."""
    path = run_dir / MANIFEST_FILE
    entries = {known["path"]: known for known in read_manifest(run_dir)}
    entries[entry["path"]] = entry
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"v": 1, "artifacts": list(entries.values())}, indent=1)
    replace_file(path, text + "\n", durable=True)


def read_manifest(run_dir: Path) -> list[dict[str, Any]]:
    """Return the entries of the run's manifest, in the order in which they were first announced."""
    path = run_dir / MANIFEST_FILE
    if not path.exists():
        return []
    listed: list[dict[str, Any]] = json.loads(path.read_text())["artifacts"]
    return listed
