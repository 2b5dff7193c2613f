"""Deletion of runs by their users: deleted, restored within a day, or removed at once."""

import asyncio
import sqlite3
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import NamedTuple

from mosaic_contracts.deletion import EVENTS_KIND, DeletionReport
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import DeleteRequest, NoRequest, RunRequest
from mosaic_contracts.stored_files import StoredFilesRequest
from mosaic_contracts.verbs import RECORDER_FILES, RECORDER_SPACE
from mosaic_scheduler import problem
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.spare import SpareSpace
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.executors.protocol import AttemptRef, Executor
from mosaic_scheduler.reconcile.folder_size import bytes_by_kind
from mosaic_scheduler.reconcile.purge import RunPurge
from mosaic_scheduler.runs.needs import reasons_against_deletion
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.bus import Bus, Verb

KEPT_S = 24 * 3600.0
"""For a person who notices the next morning."""


class RecorderPart(NamedTuple):
    """What the recorder has of a run."""

    kinds: Mapping[str, str]
    """Kind of each announced path."""
    bytes: int


class RunDeletion:
    """The verbs `delete`, `deletion` and `restore`. What is due the purge deletes."""

    def __init__(
        self,
        database: Database,
        store: RunStore,
        views: RunViews,
        announcer: RunAnnouncer,
        purge: RunPurge,
        executor: Executor,
        bus: Bus,
        spare: SpareSpace,
    ) -> None:
        self._database = database
        self._store = store
        self._views = views
        self._announcer = announcer
        self._purge = purge
        self._executor = executor
        self._bus = bus
        self._spare = spare

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {
            "delete": (DeleteRequest, self.delete),
            "deletion": (RunRequest, self.deletion),
            "restore": (RunRequest, self.restore),
        }

    async def delete(self, request: DeleteRequest) -> RunRecord:
        """Delete an ended run: it can be restored for a day; with `now` it is removed at once.

        For a run that is deleted already only `now` changes something.
        """
        work = partial(_delete, now=request.now, force=request.force)
        await asyncio.to_thread(self._spare.release)
        changed = await self._change(request.run_id, work)
        self._purge.wake()
        return changed

    async def delete_all(self, run_ids: Sequence[str], *, now: bool, force: bool) -> None:
        """Delete ended runs, all or none. What one of them needs of another is no reason against it."""
        # Newest first: a run needs older ones only, and one that is deleted needs nothing.
        newest_first = sorted(run_ids, reverse=True)
        work = partial(_delete, now=now, force=force)
        await asyncio.to_thread(self._spare.release)
        for changed in await self._store.work_all(newest_first, work):
            await self._announcer.announce(changed)
        self._purge.wake()

    async def restore_all(self, run_ids: Sequence[str]) -> None:
        """Restore deleted runs, all or none."""
        for changed in await self._store.work_all(run_ids, _restore):
            await self._announcer.announce(changed)

    async def restore(self, request: RunRequest) -> RunRecord:
        """Restore a run. A run that is not deleted stays as it is."""
        return await self._change(request.run_id, _restore)

    async def deletion(self, request: RunRequest) -> DeletionReport:
        """What a deletion would free and what speaks against it, or what it has freed."""
        run = await self._store.get(request.run_id)
        if run is None:
            freed = self._purge.freed_bytes(request.run_id)
            if freed is None:
                raise problem.run_unknown(request.run_id)
            return DeletionReport(run_id=request.run_id, state="gone", freed_bytes=freed)
        record = run.record
        is_due = await self._database.call(_is_due, record.run_id)
        against = await self._database.call(reasons_against_deletion, record)
        stored = await self._stored(record.run_id)
        folder = self._executor.folder(AttemptRef(record.run_id, record.attempt))
        sizes = await asyncio.to_thread(bytes_by_kind, folder, stored.kinds if stored else {})
        if stored is not None and stored.bytes:
            sizes[EVENTS_KIND] = stored.bytes
        return DeletionReport(
            run_id=record.run_id,
            state="going" if is_due else "kept" if record.deleted_at is None else "archived",
            freed_bytes=sum(sizes.values()),
            bytes_by_kind=dict(sorted(sizes.items(), key=lambda item: -item[1])),
            against=against,
            is_store_known=stored is not None,
        )

    async def _stored(self, run_id: str) -> RecorderPart | None:
        """None: the recorder does not answer."""
        try:
            files = await self._bus.call(RECORDER_FILES, StoredFilesRequest(run_ids=[run_id]))
            spaces = await self._bus.call(RECORDER_SPACE, NoRequest())
        except ProblemError:
            return None
        kinds = {
            path: kind
            for run in files.runs
            for path, kind in zip(run.paths, run.kinds, strict=True)
        }
        return RecorderPart(kinds, sum(run.bytes for run in spaces.runs if run.run_id == run_id))

    async def _change(
        self, run_id: str, work: Callable[[sqlite3.Connection, RunRecord], RunRecord]
    ) -> RunRecord:
        changed = await self._store.work(run_id, work)
        if changed is None:
            raise problem.run_unknown(run_id)
        await self._announcer.announce(changed)
        return self._views.view(changed)


def _delete(connection: sqlite3.Connection, record: RunRecord, now: bool, force: bool) -> RunRecord:
    if not record.state.is_final:
        raise problem.run_live(record.run_id, record.state, "deleted")
    against = [] if force else reasons_against_deletion(connection, record)
    if against:
        raise problem.run_needed(record.run_id, against)
    t = time.time()
    connection.execute(
        "UPDATE runs SET purge_at = min(coalesce(purge_at, ?1), ?1) WHERE run_id = ?2",
        (t if now else t + KEPT_S, record.run_id),
    )
    return record.model_copy(update={"deleted_at": record.deleted_at or datetime.now(UTC)})


def _restore(connection: sqlite3.Connection, record: RunRecord) -> RunRecord:
    if _is_due(connection, record.run_id):
        raise problem.run_going(record.run_id)
    connection.execute("UPDATE runs SET purge_at = NULL WHERE run_id = ?", (record.run_id,))
    return record.model_copy(update={"deleted_at": None})


def _is_due(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether the run is being deleted for good."""
    row = connection.execute(
        "SELECT purge_at <= ? FROM runs WHERE run_id = ?", (time.time(), run_id)
    ).fetchone()
    return bool(row and row[0])
