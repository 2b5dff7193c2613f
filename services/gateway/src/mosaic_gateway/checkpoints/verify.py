"""Hashes the files of checkpoints again and compares them with what their runs recorded."""

import asyncio
import hashlib
import os
from pathlib import Path

from mosaic_contracts.checkpoint_words import CheckpointState
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.problems import ProblemError
from mosaic_gateway.checkpoints.registry import CheckpointRegistry
from mosaic_gateway.files.artifacts import artifact_unknown, open_file


class CheckpointVerifier:
    """Reads whole files, those of one request at a time: the disk serves everybody."""

    def __init__(self, registry: CheckpointRegistry, runs_dir: Path) -> None:
        self._registry = registry
        self._runs_dir = runs_dir
        self._turn = asyncio.Lock()

    async def verify(self, run_id: str, path: str | None) -> list[CheckpointRow]:
        """Checkpoints of a run with the state that their content has.

        Args:
            run_id: the run.
            path: one of its checkpoints; None: all.

        Raises:
            ProblemError: `artifact_unknown`, the run announced no such checkpoint.
        """
        rows = [row for row in await self._registry.rows(run_id) if path in (None, row.path)]
        if path is not None and not rows:
            raise artifact_unknown(path, " The run announced no such checkpoint.")
        async with self._turn:
            for row in rows:
                if row.state is CheckpointState.PRESENT:
                    folder = self._runs_dir / run_id
                    row.state = await asyncio.to_thread(_content_state, folder, row)
        return rows


def _content_state(folder: Path, row: CheckpointRow) -> CheckpointState:
    try:
        file = open_file(folder, row.path)
    except ProblemError:
        return CheckpointState.MISSING
    with os.fdopen(file.fd, "rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return CheckpointState.PRESENT if digest == row.sha256 else CheckpointState.ALTERED
