"""Files of a run on another machine, written into the run's folder here: logs as they grow, all others whole.

From then on they are files of the run like any other: logs, downloads, replays, storage rules and archives find them.
"""

import hashlib
import os
import shutil
from pathlib import Path

from mosaic_contracts.nodes import FilePart, WriteAnswer, is_shipped
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError

INCOMING_DIR = "control/incoming"
"""Folder with files of which a part has arrived. It goes with the attempt."""
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class ReceivedFiles:
    """Takes parts of files."""

    def __init__(self, reserve_bytes: int) -> None:
        """`reserve_bytes`: free bytes that are never filled."""
        self._reserve_bytes = reserve_bytes

    def take(self, run_dir: Path, part: FilePart, data: bytes) -> WriteAnswer:
        """Write a part; how many bytes of the file are here.

        Parts may come twice. One that leaves a hole is not written, and the answer says where to go on.

        Raises:
            ProblemError: the path is none that a run may send, the disk has no room, or the digest is wrong.
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
        if part.total is None:
            return self._append(target, part, data)
        return self._whole(run_dir, target, part, data)

    def _append(self, target: Path, part: FilePart, data: bytes) -> WriteAnswer:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return WriteAnswer(bytes=_write_at(target, part.offset, data))

    def _whole(self, run_dir: Path, target: Path, part: FilePart, data: bytes) -> WriteAnswer:
        if part.transfer is None:
            return WriteAnswer(bytes=_known_bytes(target, part))
        draft = _draft(run_dir / INCOMING_DIR, part.path, part.transfer)
        if part.offset and not draft.exists():
            return WriteAnswer(bytes=0)  # another try of this file began since
        draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not part.offset:
            _drop_earlier(draft)
        size = _write_at(draft, part.offset, data)
        if part.sha256 is None or size != part.total:
            return WriteAnswer(bytes=size)
        if _digest(draft) != part.sha256:
            draft.unlink()
            raise _refused(f"{part.path}: the parts do not make the file that was sent")
        os.utime(draft, ns=(part.mtime_ns, part.mtime_ns))
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft.replace(target)
        return WriteAnswer(bytes=size)


def _draft(incoming: Path, path: str, transfer: str) -> Path:
    """Where the parts of one try are gathered: parts of different tries never meet in one file."""
    return incoming / f"{hashlib.sha256(path.encode()).hexdigest()}.{transfer}"


def _drop_earlier(draft: Path) -> None:
    """Delete what earlier tries of the same file left, so that a file has one draft."""
    for other in draft.parent.glob(f"{draft.stem}.*"):
        if other != draft:
            other.unlink(missing_ok=True)


def _write_at(path: Path, offset: int, data: bytes) -> int:
    """Size of the file afterwards; a part that would leave a hole is left out."""
    fd = os.open(path, _FLAGS, 0o600)
    try:
        if offset <= os.fstat(fd).st_size:
            os.pwrite(fd, data, offset)
        return os.fstat(fd).st_size
    finally:
        os.close(fd)


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
