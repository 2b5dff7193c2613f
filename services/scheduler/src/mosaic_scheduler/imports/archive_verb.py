"""The verb `import_archive`: runs come back with their ids, from a file that was compared with its digests first."""

import asyncio
import os
import secrets
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from mosaic_base.atomic import sync_folder
from mosaic_contracts import wire
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.run_archives import (
    ArchivedGroup,
    ArchivedRun,
    ArchiveImport,
    ArchiveOrder,
    ImportedRun,
    ImportOutcome,
)
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import NoRequest
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.verbs import RECORDER_SPACE
from mosaic_scheduler import problem
from mosaic_scheduler.errors import FileRefused
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.events.archived import ARCHIVED_EVENTS, REPLACES, THINNED, is_waiting
from mosaic_scheduler.events.drain import TelemetryDrain
from mosaic_scheduler.events.publisher import EventPublisher
from mosaic_scheduler.executors.run_folder import fault_words
from mosaic_scheduler.imports.archive import FoundRun, RunArchive, require_space
from mosaic_scheduler.imports.folder import ImportFolder
from mosaic_scheduler.runs.groups import GroupRow
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Bus, Verb
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.privacy import private_folder
from mosaic_servicekit.ulid import RunIdSource

_SAME = ("spec", "created_at", "started_at", "ended_at", "state", "attempt")
"""Fields of a record that never change after the end of a run."""


class _Plan(NamedTuple):
    """What is to be done with a run."""

    run: FoundRun
    outcome: ImportOutcome


class RunArchives:
    """Imports one archive at a time: each reads and writes as fast as the disk does."""

    def __init__(
        self,
        home: Path,
        reserve_bytes: int,
        store: RunStore,
        bus: Bus,
        announcer: RunAnnouncer,
        publisher: EventPublisher,
        drain: TelemetryDrain,
    ) -> None:
        self._home = home
        self._reserve_bytes = reserve_bytes
        self._store = store
        self._bus = bus
        self._announcer = announcer
        self._publisher = publisher
        self._drain = drain
        self._ids = RunIdSource()
        self._turn = asyncio.Lock()

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"import_archive": (ArchiveOrder, self.import_archive)}

    async def import_archive(self, order: ArchiveOrder) -> ArchiveImport:
        """Import the runs of an uploaded archive."""
        async with self._turn:
            upload = ImportFolder(self._home, self._ids.next())
            try:
                path = await asyncio.to_thread(upload.claim, order.upload, order.file)
                archive = await asyncio.to_thread(RunArchive, path)
                with archive:
                    return await self._import(archive, order)
            except FileRefused as error:
                raise _refused(error) from error
            except OSError as error:
                raise problem.folder_refused(fault_words(upload.path, error)) from error
            finally:
                await asyncio.to_thread(upload.discard)

    async def _import(self, archive: RunArchive, order: ArchiveOrder) -> ArchiveImport:
        plans = [_Plan(run, await self._outcome(run)) for run in archive.runs]
        wanted = [plan.run for plan in plans if plan.outcome is not ImportOutcome.PRESENT]
        if wanted:
            needed = sum(archive.size(run.facts.run_id) for run in wanted)
            require_space(self._home, needed, self._reserve_bytes)
            fresh = [plan.run for plan in plans if plan.outcome is ImportOutcome.IMPORTED]
            await self._add_all(archive, fresh, order)
            for plan in plans:
                if plan.outcome is ImportOutcome.RESTORED:
                    await self._restore(archive, plan.run, order)
        return ArchiveImport(sha256=order.sha256, runs=[_imported(plan) for plan in plans])

    async def _outcome(self, run: FoundRun) -> ImportOutcome:
        """Compare a run with what is here.

        Raises:
            FileRefused: another run has its id, or it cannot be imported now.
        """
        run_id = run.facts.run_id
        known = await self._store.get(run_id)
        if known is None:
            if await asyncio.to_thread((self._home / RUNS_DIR / run_id).exists):
                raise FileRefused(
                    f"{RUNS_DIR}/{run_id} is in the data folder, and the stack knows no such run. Move that folder "
                    "away, and import the archive again."
                )
            return ImportOutcome.IMPORTED
        if known.record.deleted_at is not None:
            raise FileRefused(
                f"Run {run_id} is here and was deleted. Bring it back with `./mosaic restore {run_id}`, or delete it "
                f"for good (`./mosaic rm --now {run_id}`) and import the archive again."
            )
        differing = [
            name for name in _SAME if _shown(known.record, name) != _shown(run.record, name)
        ]
        if differing:
            raise FileRefused(
                f"Run {run_id} is here with other content: {', '.join(differing)} differ. Nothing was changed. Two "
                "runs with one id cannot be on one stack; import the archive on another one."
            )
        folder = self._home / RUNS_DIR / run_id
        is_sending = await asyncio.to_thread(is_waiting, folder)
        if is_sending and known.record.telemetry_pending:
            return ImportOutcome.PRESENT  # an earlier import still sends its events
        if not is_sending and await self._is_whole(folder, run.facts):
            return ImportOutcome.PRESENT
        if known.record.telemetry_pending:
            raise FileRefused(
                f"Some events of run {run_id} are still on their way to the store. Import the archive again in a "
                "moment."
            )
        return ImportOutcome.RESTORED

    async def _is_whole(self, folder: Path, facts: ArchivedRun) -> bool:
        """Whether a run that is here has all files and events that the archive has."""
        if await asyncio.to_thread(_missing, folder, facts):
            return False
        spaces = await self._bus.call(RECORDER_SPACE, NoRequest())
        stored = [space.events for space in spaces.runs if space.run_id == facts.run_id]
        return max(stored, default=0) >= facts.events

    async def _restore(self, archive: RunArchive, run: FoundRun, order: ArchiveOrder) -> None:
        """Bring files and events of a run back that were removed here.

        The store's own copy goes when the archived one is sent. Until the database says so, nothing has changed but
        that missing files are in their places: a kill before it costs a repetition.
        """
        run_id = run.facts.run_id
        place = ImportFolder(self._home, run_id)
        try:
            await asyncio.to_thread(place.prepare)
            await asyncio.to_thread(archive.extract, run_id, place.run)
            await self._publisher.drop(run_id)
            folder = self._home / RUNS_DIR / run_id
            await asyncio.to_thread(_put_back, place.run, folder, run.facts)
            note = _note(order, datetime.now(UTC), "Restored")
            changed = await self._store.bring_back(
                run_id, run.record.attempt, _supervisor_seq(run), note
            )
        finally:
            await asyncio.to_thread(place.close)
        if changed is not None:
            get_log().info("run.brought_back", run_id=run_id, archive=order.sha256)
            await self._announcer.announce(changed)
        self._drain.wake()

    async def _add_all(
        self, archive: RunArchive, runs: list[FoundRun], order: ArchiveOrder
    ) -> None:
        """Prepare all folders, compare the rest of the archive, then add the runs.

        What is extracted is compared while it is copied. Nobody sees the folders before everything was compared. After
        an error none of them stays that was not added.
        """
        prepared: deque[tuple[FoundRun, ImportFolder]] = deque()
        try:
            for run in runs:
                place = ImportFolder(self._home, run.facts.run_id)
                await asyncio.to_thread(place.prepare)
                prepared.append((run, place))
                await asyncio.to_thread(archive.extract, run.facts.run_id, place.run)
            await asyncio.to_thread(archive.verify, [run.facts.run_id for run in runs])
            while prepared:
                run, place = prepared.popleft()
                await self._add(run, place, archive, order)
        finally:
            for _, place in prepared:
                await asyncio.to_thread(place.discard)

    async def _add(
        self, run: FoundRun, place: ImportFolder, archive: RunArchive, order: ArchiveOrder
    ) -> None:
        """Add a run whose folder is prepared.

        While the database cannot be used, nobody knows whether the run is there: then the next scheduler finds out.
        """
        try:
            await asyncio.to_thread(place.publish)
        except OSError:
            await asyncio.to_thread(place.discard)
            raise
        record = _record(run, order, datetime.now(UTC))
        group = None
        if record.group is not None:
            group = _group_row(archive.groups.get(record.group.group_id))
            if group is None and await self._store.group(record.group.group_id) is None:
                # a list shows runs of groups with their group
                record = record.model_copy(update={"group": None})
        nonce = secrets.token_hex(16)
        await self._store.insert_archived(record, nonce, _supervisor_seq(run), group)
        await asyncio.to_thread(place.close)
        get_log().info("run.imported", run_id=record.run_id, archive=order.sha256)
        await self._announcer.announce(record)
        self._drain.wake()


def _record(run: FoundRun, order: ArchiveOrder, now: datetime) -> RunRecord:
    """The record of an imported run: what its stack said, less what is true of that stack only."""
    run_id = run.facts.run_id
    known = run.record.model_dump(mode="json", include=set(RunRecord.model_fields))
    record = RunRecord.model_validate(known)
    note = _note(order, now, "Imported")
    return record.model_copy(
        update={
            # above all of an earlier life of the run here, which a client may remember
            "revision": max(record.revision + 1, int(now.timestamp())),
            "run_dir": f"{RUNS_DIR}/{run_id}",
            "telemetry_pending": True,
            "deleted_at": None,
            "position": None,
            "waiting_reason": None,
            "expected_start_at": None,
            "unresponsive": False,
            "held": False,
            "notes": [*record.notes, note],
        }
    )


def _group_row(group: ArchivedGroup | None) -> GroupRow | None:
    if group is None:
        return None
    return GroupRow(group.group_id, group.name, group.spec, group.created_at)


def _note(order: ArchiveOrder, now: datetime, done: str) -> str:
    return f"{done} {now:%Y-%m-%d %H:%M} UTC from {order.file} (SHA-256 {order.sha256[:12]}...)."


def _missing(folder: Path, facts: ArchivedRun) -> list[str]:
    """Paths of archived files that are not in the run's folder."""
    return [file.path for file in facts.files if not os.path.lexists(folder / file.path)]


def _put_back(source: Path, folder: Path, facts: ArchivedRun) -> None:
    """Move what is missing from a prepared folder to that of the run. What is there stays as it is."""
    for path in _missing(folder, facts):
        target = folder / path
        private_folder(target.parent)
        (source / path).rename(target)
        sync_folder(target.parent)
    outbox = (folder / ARCHIVED_EVENTS).parent
    private_folder(outbox)
    (folder / REPLACES).touch(mode=0o600)
    sync_folder(outbox)
    if facts.thinned is None:
        (folder / THINNED).unlink(missing_ok=True)
    else:
        (source / THINNED).replace(folder / THINNED)
    (source / ARCHIVED_EVENTS).replace(folder / ARCHIVED_EVENTS)
    sync_folder(outbox)


def _supervisor_seq(run: FoundRun) -> int:
    """The last event of the run's newest attempt that its scheduler recorded; later ones count on from it."""
    found = [
        each.last_seq
        for each in run.facts.sources
        if (each.attempt, each.source) == (run.record.attempt, wire.SOURCE_SUPERVISOR)
    ]
    return max(found, default=0)


def _imported(plan: _Plan) -> ImportedRun:
    facts, record = plan.run
    return ImportedRun(
        run_id=facts.run_id,
        name=record.name,
        outcome=plan.outcome,
        events=facts.events,
        files=len(facts.files),
        left_out=len(facts.left_out),
    )


def _shown(record: RunRecord, name: str) -> object:
    return record.model_dump(mode="json", include={name})[name]


def _refused(error: FileRefused) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.ARCHIVE_REFUSED,
            title="The archive cannot be imported",
            detail=str(error),
            fields=[{"where": error.where, "message": str(error)}],
        )
    )
