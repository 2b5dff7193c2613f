"""A checkpoint with its facts as one zip, for another stack (ADR 0019)."""

import asyncio
import hashlib
import io
import os
import zipfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pydantic import TypeAdapter, ValidationError
from starlette.responses import StreamingResponse

from mosaic_contracts.checkpoint_words import EXPORT_FACTS, REASON_BEST, CheckpointState
from mosaic_contracts.checkpoints import CheckpointRow
from mosaic_contracts.choices import BEST, LAST
from mosaic_contracts.exported import ExportedCheckpoint
from mosaic_contracts.file_names import checkpoint_zip_name
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_gateway.checkpoints.registry import CheckpointRegistry
from mosaic_gateway.files.artifacts import artifact_unknown, open_file
from mosaic_gateway.files.download import CHUNK_BYTES, disposition
from mosaic_gateway.history import History
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.strict_json import write_json
from mosaic_store import CheckpointKey, StoredCheckpoint

MEDIA_TYPE = "application/zip"
_ARGUMENTS = TypeAdapter(dict[str, Any])


class CheckpointExporter:
    """Makes exports. Each is written as it is sent: nothing is copied on the disk."""

    def __init__(
        self, registry: CheckpointRegistry, runs: Runs, history: History, runs_dir: Path
    ) -> None:
        self._registry = registry
        self._runs = runs
        self._history = history
        self._runs_dir = runs_dir

    async def export(self, run_id: str, path: str | None) -> StreamingResponse:
        """The reply with the zip.

        Args:
            run_id: the run.
            path: path of one of its checkpoints, `best` or `last`; None: `last`.

        Raises:
            ProblemError: `artifact_unknown`, or `checkpoint_refused` where the file is not as its run recorded it.
        """
        row = _chosen(await self._registry.rows(run_id), path)
        file = await asyncio.to_thread(open_file, self._runs_dir / run_id, row.path)
        try:
            digest = await asyncio.to_thread(_digest, file.fd, file.size)
            if row.sha256 not in (None, digest):
                raise _altered(row)
            row = row.model_copy(update={"sha256": digest, "bytes": file.size})
            facts = await self._facts(row)
        except BaseException:
            os.close(file.fd)
            raise
        name = checkpoint_zip_name(row.run_name, row.run_id, row.path)
        headers = {
            "Content-Disposition": disposition(name),
            "X-Content-Type-Options": "nosniff",
        }
        source = _Source(file.fd, file.size, PurePosixPath(row.path).name)
        return StreamingResponse(_zipped(facts, source), media_type=MEDIA_TYPE, headers=headers)

    async def _facts(self, row: CheckpointRow) -> bytes:
        key = CheckpointKey(row.run_id, row.path)
        none: dict[CheckpointKey, StoredCheckpoint] = {}
        stored = await self._history.read(lambda reader: reader.checkpoints([key]), none)
        config: Mapping[str, Any] = stored[key].config if key in stored else {}
        record: RunRecord = await self._runs.get(row.run_id)
        return write_json(
            ExportedCheckpoint(
                file=PurePosixPath(row.path).name,
                checkpoint=row.model_copy(update={"marks": []}),
                seed=record.spec.seed,
                parameters=record.spec.parameters,
                arguments=_arguments(config),
            )
        )


class _Source(NamedTuple):
    fd: int
    size: int
    name: str


class _Sink(io.RawIOBase):
    """Holds what was written until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Everything since the last call."""
        parts, self._parts = self._parts, []
        return b"".join(parts)


async def _zipped(facts: bytes, source: _Source) -> AsyncIterator[bytes]:
    """The zip, a piece at a time; not compressed, so that its reader never has more than its size to write."""
    sink = _Sink()
    try:
        with zipfile.ZipFile(sink, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr(zipfile.ZipInfo(EXPORT_FACTS), facts)
            entry = zipfile.ZipInfo(source.name)
            entry.file_size = source.size
            with archive.open(entry, "w") as target:
                at = 0
                while at < source.size:
                    most = min(CHUNK_BYTES, source.size - at)
                    chunk = await asyncio.to_thread(os.pread, source.fd, most, at)
                    if not chunk:
                        raise EOFError(f"{source.name} became shorter while it was sent")
                    at += len(chunk)
                    await asyncio.to_thread(target.write, chunk)
                    yield sink.take()
        yield sink.take()
    finally:
        os.close(source.fd)


def _digest(fd: int, size: int) -> str:
    digest, at = hashlib.sha256(), 0
    while at < size and (chunk := os.pread(fd, CHUNK_BYTES, at)):
        digest.update(chunk)
        at += len(chunk)
    return digest.hexdigest()


def _chosen(rows: list[CheckpointRow], path: str | None) -> CheckpointRow:
    """The checkpoint that is asked for, of a run's own, newest first."""
    present = [row for row in rows if row.state is not CheckpointState.PRUNED]
    found = next((row for row in rows if row.path == path), None)
    if found is None and path in (None, LAST):
        found = next(iter(present), None)
    elif found is None and path == BEST:
        kept = [row for row in present if row.reason == REASON_BEST] or present
        rated = [row for row in kept if row.mean_return_20 is not None]
        found = max(rated, key=lambda row: row.mean_return_20 or 0.0, default=None)
    if found is None:
        raise artifact_unknown(path or LAST, " The run announced no such checkpoint.")
    if found.state in (CheckpointState.PRUNED, CheckpointState.MISSING):
        raise artifact_unknown(found.path, f" The file is {found.state}.")
    return found


def _altered(row: CheckpointRow) -> ProblemError:
    words = (
        f"{row.path} was altered after its run recorded it: its SHA-256 is another one. Take another checkpoint "
        "(`./mosaic checkpoints verify` lists those that are whole)."
    )
    return ProblemError(
        Problem(
            code=ProblemCode.CHECKPOINT_REFUSED,
            title="The checkpoint cannot be exported",
            detail=words,
            fields=[{"where": "file", "message": words}],
        )
    )


def _arguments(config: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return _ARGUMENTS.validate_python(config.get("arguments"), strict=True)
    except ValidationError:
        return {}  # a run that recorded none
