"""Files of a run on another machine, written into the run's folder here: logs as they grow, all others whole.

From then on they are files of the run like any other: logs, downloads, replays, storage rules and archives find them.
"""

import errno
import hashlib
import os
import shutil
import stat
from pathlib import Path

from mosaic_contracts.nodes import LOGS, FilePart, WriteAnswer, is_shipped
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError

INCOMING_DIR = "control/incoming"
"""Folder with files of which a part has arrived. It goes with the attempt."""
_UNUSABLE = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""What a system says of one path, and not of the disk: a file where a folder was sent before, or the other way."""
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class ReceivedFiles:
    """Takes parts of files."""

    def __init__(self, reserve_bytes: int) -> None:
        """`reserve_bytes`: free bytes that are never filled."""
        self._reserve_bytes = reserve_bytes

    def take(self, run_dir: Path, part: FilePart, data: bytes, before: int = 0) -> WriteAnswer:
        """Write a part; how many bytes of the file are here.

        Parts may come twice. One that leaves a hole is not written, and the answer says where to go on. A file whose
        digest is wrong is to be sent again.

        Args:
            run_dir: folder of the run here.
            part: where the bytes belong.
            data: the bytes.
            before: bytes of a log that earlier attempts left here, after which this attempt's begin.

        Raises:
            ProblemError: the path is none that a run may send, or cannot be used here; or the disk has no room.
            OSError: it cannot be written.
        """
        if not is_shipped(part.path):
            raise _refused(f"{part.path[:200]} is no file that a run on another machine may send")
        if data and shutil.disk_usage(run_dir).free - len(data) < self._reserve_bytes:
            raise ProblemError(
                Problem(
                    code=ProblemCode.DISK_LOW,
                    title="The disk of the stack is full",
                    detail="The run keeps the file on its node and sends it again. Free some space.",
                )
            )
        target = run_dir / part.path
        try:
            if part.total is None:
                return self._append(target, part, data, before)
            return self._whole(run_dir, target, part, data)
        except OSError as error:
            if error.errno not in _UNUSABLE:
                raise
            raise _refused(f"{part.path[:200]}: {error.strerror}") from error

    def _append(self, target: Path, part: FilePart, data: bytes, before: int) -> WriteAnswer:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(target, _FLAGS, 0o600)
        try:
            if os.fstat(fd).st_size < before:
                os.ftruncate(fd, before)  # somebody cut it: what follows keeps its place
            return WriteAnswer(bytes=_write_at(fd, before + part.offset, data) - before)
        finally:
            os.close(fd)

    def _whole(self, run_dir: Path, target: Path, part: FilePart, data: bytes) -> WriteAnswer:
        if part.transfer is None:
            return WriteAnswer(bytes=_known_bytes(target, part))
        draft = _draft(run_dir / INCOMING_DIR, part.path, part.transfer)
        if part.offset and not draft.exists():
            return WriteAnswer(bytes=0)  # another try of this file began since
        draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not part.offset:
            _drop_earlier(draft)
        fd = os.open(draft, _FLAGS, 0o600)
        try:
            size = _write_at(fd, part.offset, data)
        finally:
            os.close(fd)
        if part.sha256 is None or size != part.total:
            return WriteAnswer(bytes=size)
        if _digest(draft) != part.sha256:
            draft.unlink()
            return WriteAnswer(bytes=0)
        os.utime(draft, ns=(part.mtime_ns, part.mtime_ns))
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft.replace(target)
        except OSError:
            draft.unlink()
            raise
        return WriteAnswer(bytes=size)


def _draft(incoming: Path, path: str, transfer: str) -> Path:
    """Where the parts of one try are gathered: parts of different tries never meet in one file."""
    return incoming / f"{hashlib.sha256(path.encode()).hexdigest()}.{transfer}"


def _drop_earlier(draft: Path) -> None:
    """Delete what earlier tries of the same file left, so that a file has one draft."""
    for other in draft.parent.glob(f"{draft.stem}.*"):
        if other != draft:
            other.unlink(missing_ok=True)


def _write_at(fd: int, offset: int, data: bytes) -> int:
    """Size of the file afterwards; a part that would leave a hole is left out."""
    if offset <= os.fstat(fd).st_size:
        os.pwrite(fd, data, offset)
    return os.fstat(fd).st_size


def _known_bytes(target: Path, part: FilePart) -> int:
    """Bytes of the file that is here when it is the same version by size and time, else 0."""
    try:
        status = target.lstat()
    except OSError:
        return 0
    is_same = status.st_size == part.total and status.st_mtime_ns == part.mtime_ns
    return status.st_size if is_same else 0


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _refused(why: str) -> ProblemError:
    problem = Problem(code=ProblemCode.REQUEST_INVALID, title="The file was refused", detail=why)
    return ProblemError(problem)


def log_bytes(run_dir: Path) -> dict[str, int]:
    """Bytes of each log that earlier attempts left here, by path. Raises OSError: they cannot be read."""
    folder = run_dir / LOGS
    if not folder.is_dir():
        return {}
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {
        path.relative_to(run_dir).as_posix(): status.st_size
        for path, status in found.items()
        if stat.S_ISREG(status.st_mode)
    }
