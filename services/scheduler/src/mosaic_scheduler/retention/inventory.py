"""Files of ended runs, as the recorder knows them. What is known of a run is kept until its record changes."""

from collections.abc import Mapping
from itertools import compress
from typing import NamedTuple

from mosaic_contracts.manifest import OTHER
from mosaic_contracts.manifest_words import FileType
from mosaic_contracts.services import NoRequest
from mosaic_contracts.storage_words import DRAFT
from mosaic_contracts.store_upkeep import RunSpace
from mosaic_contracts.stored_files import StoredFilesRequest, StoredRunFiles
from mosaic_contracts.verbs import RECORDER_FILES, RECORDER_SPACE
from mosaic_servicekit.bus import Bus

_RUNS_AT_ONCE = 500
_UNFINISHED = (".tmp", ".part", ".draft")
"""Endings of files that a writer renames when they are complete."""

_REMOVABLE = frozenset({FileType.FILE.value, FileType.LINK.value})


class StoredItem(NamedTuple):
    """A file of a run."""

    path: str
    name: bytes
    """The path as the disk has it."""
    kind: str
    bytes: int
    t: float | None
    """When it was announced, else its last change, seconds since the epoch."""
    step: int | None
    episode: int | None
    env: int | None
    mean: float | None
    """Mean return of a checkpoint."""
    reason: str | None
    place: int
    """See `StoredRunFiles.places`."""


class RunItems(NamedTuple):
    """Files of one run."""

    items: list[StoredItem]
    folders: dict[str, str]
    """Kind of each folder that the run announced."""


class _KnownRun(NamedTuple):
    revision: int
    files: RunItems


class FileInventory:
    """Files of runs, by run. Only runs whose record has changed are asked for again."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._known: dict[str, _KnownRun] = {}

    async def files(self, revisions: Mapping[str, int]) -> dict[str, RunItems]:
        """Files of these runs.

        Args:
            revisions: revision of each run's record, by its id.

        Raises:
            ProblemError: the recorder does not answer.
        """
        self._known = {
            run_id: known for run_id, known in self._known.items() if run_id in revisions
        }
        wanted = [
            run_id
            for run_id, revision in revisions.items()
            if run_id not in self._known or self._known[run_id].revision != revision
        ]
        while wanted:
            request = StoredFilesRequest(run_ids=wanted[:_RUNS_AT_ONCE])
            answer = await self._bus.call(RECORDER_FILES, request)
            for run in answer.runs:
                self._known[run.run_id] = _KnownRun(revisions[run.run_id], items_of(run))
            wanted = wanted[len(answer.runs) :]
        return {run_id: known.files for run_id, known in self._known.items()}

    async def spaces(self) -> dict[str, RunSpace]:
        """Room that runs take in the store. Raises ProblemError as `files`."""
        answer = await self._bus.call(RECORDER_SPACE, NoRequest())
        return {run.run_id: run for run in answer.runs}


def items_of(run: StoredRunFiles) -> RunItems:
    """The files of a run that can be removed: no folders, and nothing that its folder did not have at its end."""
    folders = {
        path: kind
        for path, kind, type, announced in zip(
            run.paths, run.kinds, run.types, run.announced, strict=True
        )
        if announced and type is None
    }
    kinds = [
        kind if kind != OTHER else _kind(path, folders)
        for path, kind in zip(run.paths, run.kinds, strict=True)
    ]
    names = [
        path.encode() if name is None else bytes.fromhex(name)
        for path, name in zip(run.paths, run.names, strict=True)
    ]
    columns = (
        *(run.paths, names, kinds, run.bytes, run.times, run.steps, run.episodes, run.envs),
        *(run.means, run.reasons, run.places),
    )
    is_file = [type in _REMOVABLE for type in run.types]
    rows = compress(zip(*columns, strict=True), is_file)
    return RunItems(list(map(StoredItem._make, rows)), folders)


def _kind(path: str, folders: Mapping[str, str]) -> str:
    """The kind of a file whose own path says nothing: that of an announced folder above it."""
    if path.endswith(_UNFINISHED):
        return DRAFT
    while folders and "/" in path:
        path = path.rpartition("/")[0]
        if path in folders:
            return folders[path]
    return OTHER
