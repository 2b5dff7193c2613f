"""The verbs of storage: what the disks hold, what would go, removing it and bringing it back."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from mosaic_base.file_tree import list_files
from mosaic_contracts.manifest import MAX_LISTED, PRIVATE_DIRS, kind_of
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.storage_reports import (
    KindUse,
    PruneOrder,
    PrunePlan,
    PruneRequest,
    PruneResult,
    StorageProfileList,
    StorageQuery,
    StorageReport,
    UndoOrder,
    UndoRequest,
    UndoResult,
)
from mosaic_scheduler import problem
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.volume import VolumeUse
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.retention import removals, report, stack_files
from mosaic_scheduler.retention.facts import RetainedRun
from mosaic_scheduler.retention.janitor import FILES_AT_ONCE, Chosen, Janitor
from mosaic_scheduler.retention.look import Look
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.retention.removals import RemovedFile
from mosaic_servicekit.bus import Verb

ModelT = TypeVar("ModelT", bound=BaseModel)
_LIVE_AT_ONCE = 50
"""Runs without a list of their files whose folders are looked at for one report."""


class StorageVerbs:
    """Answers requests on storage."""

    def __init__(
        self,
        home: Path,
        database: Database,
        profiles: ProfileFile,
        janitor: Janitor,
        volumes: VolumeWatch,
    ) -> None:
        self._home = home
        self._database = database
        self._profiles = profiles
        self._janitor = janitor
        self._volumes = volumes

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "storage": (StorageQuery, self.storage),
            "plan_prune": (PruneOrder, self.plan),
            "prune": (PruneOrder, self.prune),
            "undo_prune": (UndoOrder, self.undo),
            "storage_profiles": (None, self.profiles),
        }

    async def storage(self, query: StorageQuery) -> StorageReport:
        """What the stack has on its disks."""
        look = await self._janitor.look()
        return await asyncio.to_thread(self._report, look, query)

    async def plan(self, order: PruneOrder) -> PrunePlan:
        """What would go now."""
        asked = _validated(PruneRequest, order.asked)
        look = await self._janitor.look()
        return await asyncio.to_thread(
            report.plan_of, look, _chosen(asked), asked.limit, self._profiles.findings()
        )

    async def prune(self, order: PruneOrder) -> PruneResult:
        """Remove what the plan says, in one bounded step."""
        asked = _validated(PruneRequest, order.asked)
        result = await self._janitor.step(_chosen(asked))
        if asked.empty_trash and not result.left:
            result.freed_bytes += await self._janitor.empty_trash(run_ids=asked.run_ids)
            result.undo_until = None
        return report.result_of(result)

    async def undo(self, order: UndoOrder) -> UndoResult:
        """Bring removed files back, in one bounded step."""
        asked = _validated(UndoRequest, order.asked)
        rows = _asked_rows(await self._database.call(removals.in_trash), asked)
        chosen = rows[:FILES_AT_ONCE]
        files, size, stuck = await self._janitor.undo(chosen)
        return UndoResult(
            files=files,
            bytes=size,
            left=len(rows) - len(chosen) if files else 0,
            refused=[
                f"{row.run_id}: {row.path} stays in the trash: something is in its place, or its folder cannot be "
                "written"
                for row in stuck
            ],
        )

    async def profiles(self) -> StorageProfileList:
        """Profiles as they are in force."""
        return await asyncio.to_thread(self._profiles.report)

    def _report(self, look: Look, query: StorageQuery) -> StorageReport:
        runs = [run for run in reversed(list(look.runs.values())) if run.run_id not in look.files]
        wanted = [run for run in runs if query.run in (None, run.run_id)]
        live = self._look_at_folders(wanted[:_LIVE_AT_ONCE])
        rows = report.run_rows(look, self._profiles.content().profiles, live)
        shown = [row for row in rows if query.run in (None, row.run_id)]
        trash = [row for row in look.trash if query.run in (None, row.run_id)]
        planned = [
            each.unit for each in look.decision.units if query.run in (None, each.unit.run.run_id)
        ]
        thinned = [each for each in look.decision.thinnings if query.run in (None, each.run.run_id)]
        sizes = {
            VolumeUse.RUNS: sum(row.bytes - row.event_bytes for row in rows)
            + sum(row.bytes for row in look.trash),
            VolumeUse.STORE: stack_files.store_bytes(self._home),
            VolumeUse.BROKER: stack_files.broker_bytes(self._home),
            VolumeUse.HOME: stack_files.other_bytes(self._home),
        }
        return StorageReport(
            volumes=[volume.shown(sizes) for volume in self._volumes.volumes],
            kinds=report.kind_totals(shown),
            runs=shown[: query.limit],
            run_count=len(shown),
            run_bytes=sum(row.bytes for row in shown),
            trash=report.trash_of(trash, look.runs, query.limit),
            store_bytes=sizes[VolumeUse.STORE],
            broker_bytes=sizes[VolumeUse.BROKER],
            other_bytes=sizes[VolumeUse.HOME],
            planned_files=sum(len(unit.items) for unit in planned),
            planned_bytes=sum(unit.bytes for unit in planned) + sum(each.bytes for each in thinned),
            planned_steps=sum(each.steps for each in thinned),
            checked_at=datetime.now(UTC),
            notes=self._profiles.findings(),
        )

    def _look_at_folders(self, runs: Sequence[RetainedRun]) -> Mapping[str, list[KindUse]]:
        """Files of runs that have not ended, or whose files are not listed yet."""
        found: dict[str, list[KindUse]] = {}
        for run in runs:
            try:
                tree = list_files(self._home / RUNS_DIR / run.run_id, PRIVATE_DIRS, MAX_LISTED)
            except OSError:  # it never started
                continue
            uses: dict[str, KindUse] = {}
            for file in tree.files:
                kind = kind_of(file.path)
                use = uses.setdefault(kind, KindUse(kind=kind))
                use.files += 1
                use.bytes += file.bytes
            found[run.run_id] = list(uses.values())
        return found


def _chosen(asked: PruneRequest) -> Chosen:
    return Chosen(
        None if asked.run_ids is None else frozenset(asked.run_ids),
        None if asked.kinds is None else frozenset(asked.kinds),
    )


def _asked_rows(rows: Sequence[RemovedFile], asked: UndoRequest) -> list[RemovedFile]:
    return [
        row
        for row in rows
        if not row.is_folder
        and (asked.run_ids is None or row.run_id in asked.run_ids)
        and (asked.items is None or row.id in asked.items)
    ]


def _validated(model: type[ModelT], asked: dict[str, Any]) -> ModelT:
    try:
        return model.model_validate(asked)
    except ValidationError as error:
        raise problem.request_invalid("request", error) from error
