"""Files of a run: the list of what was announced, and where a file really lies."""

import stat
from pathlib import Path

from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import ArtifactRow
from mosaic_gateway.artifacts.folder import PathRefused, resolve_inside
from mosaic_gateway.history import History


class Artifacts:
    """Artifacts of all runs."""

    def __init__(self, history: History) -> None:
        self._history = history

    async def rows(self, run_id: str, folder: Path) -> list[ArtifactRow]:
        """What the run announced, and whether it is still there."""
        none: list[ArtifactRow] = []
        rows = await self._history.read(lambda reader: reader.artifacts(run_id), none)
        return [
            row.model_copy(update={"exists": row.exists and _is_there(folder, row.path)})
            for row in rows
        ]


def find_file(folder: Path, path: str) -> Path:
    """The real path of a file below the run folder.

    Raises:
        ProblemError: `artifact_unknown`, also for what must not be read: whether it exists is nobody's business.
    """
    try:
        real = resolve_inside(folder, path)
        is_file = stat.S_ISREG(real.stat().st_mode)
    except (PathRefused, FileNotFoundError) as error:
        raise _unknown(path, "") from error
    if not is_file:
        raise _unknown(path, " It is a folder: ask for a file in it.")
    return real


def _is_there(folder: Path, path: str) -> bool:
    try:
        resolve_inside(folder, path)
    except (PathRefused, FileNotFoundError):
        return False
    return True


def _unknown(path: str, why: str) -> ProblemError:
    shown = path[:200].encode(errors="replace").decode()
    return ProblemError(
        Problem(
            code=ProblemCode.ARTIFACT_UNKNOWN,
            title="There is no such file in this run",
            detail=f"{shown!r} cannot be had.{why} The list of artifacts has paths that can.",
        )
    )
