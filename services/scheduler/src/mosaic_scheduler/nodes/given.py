"""Files that a run on another machine begins with: its spec, secrets, logins and inputs."""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from mosaic_contracts.launch import INPUTS_DIR, SPEC_FILE
from mosaic_contracts.nodes import CHUNK_BYTES, NodeFile
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.xmpp import ACCESS_FILE
from mosaic_scheduler.executors.access import SECRETS_FOLDER

_TOPS = (SECRETS_FOLDER, str(Path(ACCESS_FILE).parent), INPUTS_DIR)


class Chunk(NamedTuple):
    """A part of a file."""

    data: bytes
    total: int
    """Size of the whole file."""


def given_files(run_dir: Path) -> list[NodeFile]:
    """All of them, as the scheduler prepared them. Raises OSError: they cannot be read."""
    found = [run_dir / SPEC_FILE]
    for top in _TOPS:
        found += [path for path in sorted((run_dir / top).rglob("*")) if path.is_file()]
    return [_entry(run_dir, path) for path in found]


def read_chunk(run_dir: Path, path: str, offset: int) -> Chunk:
    """A part of one of them.

    Raises:
        ProblemError: the run was given no such file.
        OSError: it cannot be read.
    """
    if path not in {file.path for file in given_files(run_dir)}:
        raise ProblemError(
            Problem(
                code=ProblemCode.ARTIFACT_UNKNOWN,
                title="The run was given no such file",
                detail=path[:200],
            )
        )
    fd = os.open(run_dir / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        return Chunk(os.pread(fd, CHUNK_BYTES, offset), os.fstat(fd).st_size)
    finally:
        os.close(fd)


def _entry(run_dir: Path, path: Path) -> NodeFile:
    status = path.lstat()
    return NodeFile(
        path=path.relative_to(run_dir).as_posix(),
        bytes=status.st_size,
        mode=stat.S_IMODE(status.st_mode),
    )
