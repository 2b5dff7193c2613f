"""Files of a run: the list of what was announced, and where a file really lies."""

import asyncio
import fcntl
import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import ArtifactRow
from mosaic_gateway.files.clips import find_clips
from mosaic_gateway.files.folder import PathRefused, is_inside, resolve_inside
from mosaic_gateway.history import History


class Artifacts:
    """Artifacts of all runs."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def rows(self, run_id: str, folder: Path, *, has_ended: bool) -> list[ArtifactRow]:
        """What the run announced, and whether it is still there.

        Args:
            run_id: the run.
            folder: its folder.
            has_ended: whether the run has ended. Then clips are listed too that a killed worker could not announce.
        """
        none: list[ArtifactRow] = []
        rows = await self._history.read(lambda reader: reader.artifacts(run_id), none)
        # Each costs the disk a look.
        return await asyncio.to_thread(_listed, folder, rows, has_ended)


@dataclass(frozen=True)
class OpenFile:
    """A file that is open for reading. The caller closes `fd`. `size` is the size at the time of opening."""

    fd: int
    size: int
    mtime_ns: int


def open_file(folder: Path, path: str) -> OpenFile:
    """Open a file below the run folder. Blocks: call it in a thread.

    Raises:
        ProblemError: `artifact_unknown`, also for what must not be read: whether it exists is nobody's business.
    """
    try:
        real = resolve_inside(folder, path)
        # Not blocking: a pipe without a writer would hold the thread for ever.
        fd = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (PathRefused, OSError) as error:
        raise artifact_unknown(path) from error
    with suppress(OSError):  # a program has locked it for itself, or the disk knows no locks
        # The scheduler removes no file that is locked. The lock ends with the download.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    found = os.fstat(fd)
    # Asked again of what is open now: a link may have come into the path meanwhile.
    opened = Path(f"/proc/self/fd/{fd}").readlink()
    if stat.S_ISREG(found.st_mode) and is_inside(folder, opened):
        return OpenFile(fd, found.st_size, found.st_mtime_ns)
    os.close(fd)
    is_folder = stat.S_ISDIR(found.st_mode)
    raise artifact_unknown(path, " It is a folder: ask for a file in it." if is_folder else "")


def _listed(folder: Path, rows: list[ArtifactRow], has_ended: bool) -> list[ArtifactRow]:
    clips = find_clips(folder, {row.path for row in rows}) if has_ended else []
    return _seen(folder, rows) + clips


def _seen(folder: Path, rows: list[ArtifactRow]) -> list[ArtifactRow]:
    return [
        row.model_copy(update={"exists": row.exists and _is_there(folder, row.path)})
        for row in rows
    ]


def _is_there(folder: Path, path: str) -> bool:
    try:
        resolve_inside(folder, path)
    except (PathRefused, OSError):
        return False
    return True


def artifact_unknown(path: str, why: str = "") -> ProblemError:
    """No such file, as far as anybody may know."""
    shown = path[:200].encode(errors="replace").decode()
    return ProblemError(
        Problem(
            code=ProblemCode.ARTIFACT_UNKNOWN,
            title="There is no such file in this run",
            detail=f"{shown!r} is not available.{why} The list of artifacts has the available "
            "paths.",
        )
    )
