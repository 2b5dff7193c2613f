"""One look at everything that retention decides on, and the decision."""

import asyncio
import dataclasses
import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mosaic_contracts.manifest_words import FileType
from mosaic_contracts.store_upkeep import RunSpace
from mosaic_scheduler.database import Database
from mosaic_scheduler.retention import removals
from mosaic_scheduler.retention.facts import RetainedRun, StoredRunRow, read_facts, read_rows
from mosaic_scheduler.retention.inventory import FileInventory, RunItems
from mosaic_scheduler.retention.orphans import OrphanFolder, find_orphans
from mosaic_scheduler.retention.planner import Decision, StorageFacts, decide
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.retention.removals import Removal, RemovedFile


@dataclass(frozen=True)
class Look:
    """What was found, and what follows from it."""

    runs: Mapping[str, RetainedRun]
    files: Mapping[str, RunItems]
    """Files that are in their place."""
    spaces: Mapping[str, RunSpace]
    trash: list[RemovedFile]
    orphans: list[OrphanFolder]
    newest: int
    """See `removals.note`."""
    decision: Decision
    unlisted: list[str]
    """Ended runs whose files nobody has listed yet, newest first."""
    took_s: float

    def emptied_folders(self, run_id: str, wanted: Sequence[Removal]) -> list[Removal]:
        """Folders that a run announced and of which nothing is left without these files."""
        found = self.files[run_id]
        gone = {removal.path: removal for removal in wanted}
        folders = []
        for folder, kind in found.folders.items():
            inside = [item.path for item in found.items if item.path.startswith(folder + "/")]
            if inside and all(path in gone for path in inside):
                first = gone[inside[0]]
                folders.append(
                    dataclasses.replace(
                        first,
                        path=folder,
                        name=folder.encode(),
                        kind=kind,
                        bytes=0,
                        type=FileType.FOLDER,
                    )
                )
        return folders


class Looks:
    """Makes looks."""

    def __init__(
        self, home: Path, database: Database, inventory: FileInventory, profiles: ProfileFile
    ) -> None:
        self._home = home
        self._database = database
        self._inventory = inventory
        self._profiles = profiles

    async def look(self) -> Look:
        """Look at all runs, and decide what goes.

        Raises:
            ProblemError: the recorder does not answer.
        """
        begun = time.monotonic()
        rows, newest, removed, kept = await self._database.call(_read)
        runs = {run.run_id: run for run in await asyncio.to_thread(read_facts, rows)}
        listed = {run_id: run.revision for run_id, run in runs.items() if run.is_listed}
        files = await self._inventory.files(listed)
        spaces = await self._inventory.spaces()
        known = {row.run_id for row in rows}
        orphans = await asyncio.to_thread(find_orphans, self._home, known)
        files, decision = await asyncio.to_thread(self._decide, runs, files, spaces, removed, kept)
        unlisted = [
            run_id
            for run_id, run in reversed(runs.items())
            if run.state.is_final and not run.has_report
        ]
        trash = [row for row in removed if row.state is removals.RemovalState.IN_TRASH]
        took_s = time.monotonic() - begun
        return Look(runs, files, spaces, trash, orphans, newest, decision, unlisted, took_s)

    def _decide(
        self,
        runs: Mapping[str, RetainedRun],
        files: Mapping[str, RunItems],
        spaces: Mapping[str, RunSpace],
        removed: list[RemovedFile],
        kept: set[tuple[str, str]],
    ) -> tuple[dict[str, RunItems], Decision]:
        gone: dict[str, set[str]] = {}
        for row in removed:
            gone.setdefault(row.run_id, set()).add(row.path)
        left = {
            run_id: found if run_id not in gone else _without(found, gone[run_id])
            for run_id, found in files.items()
        }
        restored: dict[str, set[str]] = {}
        for run_id, path in kept:
            restored.setdefault(run_id, set()).add(path)
        facts = StorageFacts(
            runs=list(runs.values()),
            files={run_id: found.items for run_id, found in left.items()},
            spaces=spaces,
            profile_of=self._profiles.find,
            restored={run_id: frozenset(paths) for run_id, paths in restored.items()},
            now=time.time(),
        )
        return left, decide(facts)


def _read(
    connection: sqlite3.Connection,
) -> tuple[list[StoredRunRow], int, list[RemovedFile], set[tuple[str, str]]]:
    return (
        read_rows(connection),
        removals.newest_run(connection),
        removals.all_rows(connection),
        removals.kept_files(connection),
    )


def _without(found: RunItems, gone: set[str]) -> RunItems:
    return found._replace(items=[item for item in found.items if item.path not in gone])
