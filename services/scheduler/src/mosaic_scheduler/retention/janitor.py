"""Removes what profiles say, in bounded steps, brings it back on request, and empties the trash (ADR 0028).

Everything is noted in the database before the disk is touched, and a scheduler that starts completes what is noted.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mosaic_base.locks import open_lock
from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RunRequest
from mosaic_contracts.stack import RUNS_DIR
from mosaic_contracts.stack_files import BACKUP_LOCK
from mosaic_contracts.storage_words import ORPHAN, PROTECTED_KINDS, STEPS, KeptReason
from mosaic_contracts.store_upkeep import RULE_LENGTH, ThinRequest
from mosaic_contracts.verbs import RECORDER_THIN
from mosaic_scheduler import problem
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.spare import SpareSpace
from mosaic_scheduler.retention import removals
from mosaic_scheduler.retention.look import Look, Looks
from mosaic_scheduler.retention.open_files import is_locked, may_move, open_paths
from mosaic_scheduler.retention.planner import PlannedThinning, PlannedUnit
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.retention.removals import Removal, RemovalState, RemovedFile
from mosaic_scheduler.retention.trash import Trash
from mosaic_scheduler.retention.values import Unit, units_of
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

FILES_AT_ONCE = 500
"""Files of one step."""
STEP_S = 5.0
"""Seconds after which a step begins with nothing more."""
LOOK_EVERY_S = 3600.0
SETTLE_S = 20.0
"""Seconds after a run's end before a look: others may end too, and its events are on their way."""
RETRY_S = 30.0
SHORT_EVERY_S = 60.0
"""Seconds between two looks while a disk is nearly full."""
_MIN_WAIT_S = 1.0
_REPORTS_AT_ONCE = 20
"""Runs of older versions whose files are listed with one look."""
ORPHAN_RULE = "folders of no run"
_ALWAYS_KEPT = PROTECTED_KINDS | {"log"}
"""Kinds that an archived run keeps: it can still be looked at."""


@dataclass
class StepResult:
    """What one step did."""

    files: int = 0
    bytes: int = 0
    freed_bytes: int = 0
    steps: int = 0
    bytes_by_kind: dict[str, int] = field(default_factory=dict)
    left: int = 0
    kept: list[tuple[KeptReason, str, int, int]] = field(default_factory=list)
    """Reason, text, files and bytes of what stays."""
    undo_until: float | None = None

    @property
    def has_removed(self) -> bool:
        """Whether it did anything: another step goes on."""
        return bool(self.files or self.steps or self.freed_bytes)

    def add(self, kind: str, size: int) -> None:
        """Count a file."""
        self.files += 1
        self.bytes += size
        self.bytes_by_kind[kind] = self.bytes_by_kind.get(kind, 0) + size


@dataclass(frozen=True)
class Chosen:
    """What a request is about. None: everything."""

    run_ids: frozenset[str] | None = None
    kinds: frozenset[str] | None = None

    def takes(self, run_id: str, kind: str) -> bool:
        """Whether files of this run and kind are asked for."""
        is_run = self.run_ids is None or run_id in self.run_ids
        return is_run and (self.kinds is None or kind in self.kinds)


ALL = Chosen()


class Janitor:
    """Two loops, and steps on request. One step at a time."""

    def __init__(
        self,
        home: Path,
        database: Database,
        bus: Bus,
        looks: Looks,
        profiles: ProfileFile,
        announce: Callable[[RunRecord], Awaitable[None]],
        list_files: Callable[[RunRequest], Awaitable[object]],
        due: asyncio.Event,
        short: asyncio.Event,
        trash_due: asyncio.Event,
        spare: SpareSpace,
    ) -> None:
        """Take what it works with.

        Args:
            home: MOSAIC_HOME.
            database: the scheduler's.
            bus: for the recorder, which thins steps.
            looks: makes the plan.
            profiles: the user's file.
            announce: announces a record that has changed.
            list_files: lists the files of an ended run.
            due: set when a run has ended and its files are listed, and when a disk has another level.
            short: set while a disk is nearly full. Then nothing rests in the trash.
            trash_due: set when a run is gone whose files are in the trash.
            spare: gives up space for notes on a full disk.
        """
        self._home = home
        self._runs = home / RUNS_DIR
        self._database = database
        self._bus = bus
        self._looks = looks
        self._profiles = profiles
        self._announce = announce
        self._list_files = list_files
        self._due = due
        self._short = short
        self._trash = Trash(home)
        self._turn = asyncio.Lock()
        self._ready = asyncio.Event()
        self._trash_due = trash_due
        self._spare = spare
        self._complained = ""

    async def run(self) -> None:
        """Complete what an earlier scheduler noted, then apply the rules, for ever."""
        if not self._ready.is_set():
            await self._complete()
            self._ready.set()
        while True:
            self._due.clear()
            is_short = self._short.is_set()
            if is_short:
                await self.empty_trash()
            wait_s = await self._apply_rules()
            if is_short:
                await self.empty_trash()
                wait_s = min(wait_s, SHORT_EVERY_S)
            if await wait_up_to(self._due, wait_s):
                await wait_up_to(self._short, SETTLE_S)

    async def run_sweeps(self) -> None:
        """Delete from the trash what has been there long enough, for ever."""
        await self._ready.wait()
        while True:
            self._trash_due.clear()
            await self.empty_trash(time.time())
            due = await self._database.call(removals.next_expiry)
            wait_s = LOOK_EVERY_S if due is None else max(_MIN_WAIT_S, due - time.time())
            await wait_up_to(self._trash_due, min(wait_s, LOOK_EVERY_S))

    async def look(self) -> Look:
        """What would go now. Raises ProblemError: the recorder does not answer."""
        await self._ready.wait()
        return await self._looks.look()

    async def step(self, chosen: Chosen) -> StepResult:
        """Remove some of what the rules say, the least valuable first. Raises ProblemError as `look`."""
        await self._ready.wait()
        async with self._turn:
            result = await self._step(await self._looks.look(), chosen)
        self._trash_due.set()  # the grace time may be short
        return result

    async def free(self, run_id: str, paths: frozenset[str], rule: str, result: StepResult) -> None:
        """Remove files of a run that an archive has, and all of its steps, whatever profiles keep.

        Args:
            run_id: a run that has ended.
            paths: files that the archive has; no others are removed.
            rule: what asks for it.
            result: gets what was removed, also before an error.

        Raises:
            ProblemError: the recorder does not answer, or the run is protected as a whole.
        """
        await self._ready.wait()
        async with self._turn:
            look = await self._looks.look()
            run = look.runs.get(run_id)
            if run is None:
                raise problem.run_unknown(run_id)
            if run.kept is not None:
                raise problem.run_protected(run_id, run.kept[1])
            name, profile = self._profiles.find(run.profile)
            files = look.files.get(run_id)
            units = [] if files is None else units_of(run, files.items, None)
            planned: Sequence[PlannedUnit] = [
                PlannedUnit(unit, rule, rule, profile.grace_hours * 3600, name)
                for unit in _archived_units(units, paths, result)
            ]
            while planned:
                batch, planned = _first_files(planned)
                opened = await asyncio.to_thread(open_paths, self._runs)
                await self._remove(look, run_id, batch, opened, result)
            if not result.left:
                await self._thin_all(run_id, rule, result)
        self._trash_due.set()

    async def _thin_all(self, run_id: str, rule: str, result: StepResult) -> None:
        request = ThinRequest(run_id=run_id, every=0, rule=rule[:RULE_LENGTH])
        done = False
        while not done:
            answer = await self._bus.call(RECORDER_THIN, request)
            result.steps += answer.removed_steps
            result.freed_bytes += answer.freed_bytes
            done = answer.done

    async def undo(self, chosen: Sequence[RemovedFile]) -> tuple[int, int, list[RemovedFile]]:
        """Bring files back from the trash. Return their number and bytes, and those that something is in the way of."""
        await self._ready.wait()
        async with self._turn:
            taken = await asyncio.to_thread(
                lambda: [r for r in chosen if self._trash.is_in_place(r)]
            )
            blocked = {row.id for row in taken}
            free = [row for row in chosen if row.id not in blocked]
            async with self._no_backup():
                rows, changed = await self._database.call(removals.begin_undo, free)
                for record in changed:
                    await self._announce(record)
                back, stuck = await asyncio.to_thread(self._put_back, rows)
                await self._database.call(
                    removals.end_undo, [row.id for row in back], [row.id for row in stuck]
                )
            files = [row for row in back if not row.is_folder]
            for row in files:
                get_log().info("file.restored", run_id=row.run_id, path=row.path, bytes=row.bytes)
            return len(files), sum(row.bytes for row in files), [*taken, *stuck]

    async def empty_trash(
        self, now: float = float("inf"), run_ids: Sequence[str] | None = None
    ) -> int:
        """Delete files whose grace time is over at `now`; returns their bytes."""
        freed = 0
        due = await self._database.call(removals.next_expiry)
        if due is not None and due <= now:
            await asyncio.to_thread(self._spare.release)
        while True:
            rows = await self._database.call(removals.begin_end, now, FILES_AT_ONCE, run_ids)
            if not rows:
                return freed
            done = await asyncio.to_thread(self._delete, rows)
            await self._database.call(removals.end, [row.id for row in done])
            size = sum(row.bytes for row in done)
            freed += size
            get_log().info("trash.emptied", files=len(done), bytes=size)
            if len(done) < len(rows):
                return freed  # what could not be deleted is tried again with the next look

    async def _apply_rules(self) -> float:
        """Apply the rules until nothing is left. Return the seconds until the next look."""
        if not self._profiles.content().automatic:
            return LOOK_EVERY_S
        try:
            await self._list_older(await self._looks.look())
            while True:
                result = await self.step(ALL)
                if not result.left or not result.has_removed:
                    break
        except ProblemError as error:
            if self._complained != str(error):
                self._complained = str(error)
                get_log().info("retention.waits", reason=str(error))
            return RETRY_S
        self._complained = ""
        return LOOK_EVERY_S

    async def _list_older(self, look: Look) -> None:
        """List files of runs that ended under an older version."""
        for run_id in look.unlisted[:_REPORTS_AT_ONCE]:
            await self._list_files(RunRequest(run_id=run_id))
        if look.unlisted:
            self._due.set()

    async def _step(self, look: Look, chosen: Chosen) -> StepResult:
        """Remove files until the time of a step is over."""
        result = StepResult()
        until = time.monotonic() + STEP_S
        planned: Sequence[PlannedUnit] = [
            each
            for each in look.decision.units
            if chosen.takes(each.unit.run.run_id, each.unit.kind)
        ]
        while planned and time.monotonic() < until:
            batch, planned = _first_files(planned)
            opened = await asyncio.to_thread(open_paths, self._runs)
            for run_id, units in _by_run(batch).items():
                await self._remove(look, run_id, units, opened, result)
        result.left += sum(len(each.unit.items) for each in planned)
        if not planned:
            await self._remove_orphans(look, chosen, result)
            await self._thin(look, chosen, result, until)
        return result

    async def _remove(
        self,
        look: Look,
        run_id: str,
        batch: Sequence[PlannedUnit],
        opened: set[str],
        result: StepResult,
    ) -> None:
        """Remove files of one run."""
        wanted, kept = await asyncio.to_thread(self._sort_out, run_id, batch, opened)
        result.kept += kept
        run = look.runs[run_id]
        folders = look.emptied_folders(run_id, wanted)
        if wanted:
            await asyncio.to_thread(self._spare.release)
        async with self._no_backup():
            rows, changed = await self._database.call(
                removals.note, run_id, run.profile, look.newest, [*wanted, *folders]
            )
            if changed is None:  # the run has changed since the look: the next look decides again
                result.left += len(wanted)
                return
            await self._announce(changed)
            moved, vanished, failed = await asyncio.to_thread(self._take, rows)
            await self._finish(moved, vanished, failed)
        for row in moved:
            if not row.is_folder:
                result.add(row.kind, row.bytes)
                result.undo_until = min(result.undo_until or row.expires_at, row.expires_at)
        for row in failed:
            text = "the file cannot be moved; see the scheduler's log"
            result.kept.append((KeptReason.UNWRITABLE, text, 1, row.bytes))
        get_log().info(
            "files.removed",
            run_id=run_id,
            files=len(moved),
            bytes=sum(row.bytes for row in moved),
            rules=sorted({row.rule for row in rows}),
        )

    @asynccontextmanager
    async def _no_backup(self) -> AsyncIterator[None]:
        """Make backups wait, which have files as the database knew them at their beginning.

        Raises:
            ProblemError: one is being made.
        """
        lock = await asyncio.to_thread(open_lock, self._home / BACKUP_LOCK)
        if lock is None:
            raise problem.backup_going()
        try:
            yield
        finally:
            os.close(lock)

    async def _finish(
        self,
        moved: Sequence[RemovedFile],
        vanished: Sequence[RemovedFile],
        failed: Sequence[RemovedFile],
    ) -> None:
        await self._database.call(
            removals.arrived, [row.id for row in moved], [row.id for row in vanished]
        )
        if failed:
            for record in await self._database.call(removals.withdraw, failed):
                await self._announce(record)

    def _sort_out(
        self, run_id: str, batch: Sequence[PlannedUnit], opened: set[str]
    ) -> tuple[list[Removal], list[tuple[KeptReason, str, int, int]]]:
        """What of a batch can be removed, and what stays. A unit with an open file stays as a whole."""
        wanted: list[Removal] = []
        kept: list[tuple[KeptReason, str, int, int]] = []
        folder = (self._runs / run_id).resolve()
        for planned in batch:
            unit = planned.unit
            reason: tuple[KeptReason, str] | None = None
            for item in unit.items:
                if f"{folder}/{item.path}" in opened or is_locked(self._runs, run_id, item.name):
                    reason = KeptReason.OPEN, "a program has the file open"
                elif not may_move(self._runs, run_id, item.name):
                    reason = KeptReason.UNWRITABLE, "its folder cannot be written"
            if reason is not None:
                kept.append((*reason, len(unit.items), unit.bytes))
                continue
            wanted += [
                Removal(
                    run_id,
                    item.path,
                    item.name,
                    unit.kind,
                    item.bytes,
                    planned.rule,
                    _reason(planned),
                    planned.grace_s,
                )
                for item in unit.items
            ]
        return wanted, kept

    def _take(
        self, rows: Iterable[RemovedFile]
    ) -> tuple[list[RemovedFile], list[RemovedFile], list[RemovedFile]]:
        """Move files into the trash: those that are there, those that were gone, and those that cannot be moved."""
        moved: list[RemovedFile] = []
        vanished: list[RemovedFile] = []
        failed: list[RemovedFile] = []
        for row in rows:
            try:
                (moved if self._trash.take(row) else vanished).append(row)
            except OSError as error:
                get_log().warning(
                    "file.not_moved", run_id=row.run_id, path=row.path, error=str(error)
                )
                failed.append(row)
        return moved, vanished, failed

    def _put_back(self, rows: Iterable[RemovedFile]) -> tuple[list[RemovedFile], list[RemovedFile]]:
        """Move files back: those that are in their place, and those that stay in the trash."""
        back: list[RemovedFile] = []
        stuck: list[RemovedFile] = []
        for row in rows:
            try:
                is_back = self._trash.put_back(row) or not self._trash.has(row)
                (back if is_back else stuck).append(row)
            except OSError as error:
                get_log().warning(
                    "file.not_restored", run_id=row.run_id, path=row.path, error=str(error)
                )
                stuck.append(row)
        return back, stuck

    def _delete(self, rows: Iterable[RemovedFile]) -> list[RemovedFile]:
        done = []
        for row in rows:
            try:
                self._trash.delete(row)
                done.append(row)
            except OSError as error:
                get_log().warning("trash.not_deleted", file=row.id, error=str(error))
        return done

    async def _remove_orphans(self, look: Look, chosen: Chosen, result: StepResult) -> None:
        """Move folders of no run into the trash."""
        _, profile = self._profiles.find(None)
        wanted = [
            Removal(
                orphan.name,
                f"{RUNS_DIR}/{orphan.name}",
                b"",
                ORPHAN,
                orphan.bytes,
                ORPHAN_RULE,
                grace_s=profile.grace_hours * 3600.0,
            )
            for orphan in look.orphans
            if chosen.takes(orphan.name, ORPHAN)
        ]
        if not wanted:
            return
        async with self._no_backup():
            rows = await self._database.call(removals.note_orphans, wanted)
            moved, vanished, failed = await asyncio.to_thread(self._take, rows)
            ids = [row.id for row in (*vanished, *failed)]
            await self._database.call(removals.arrived, [row.id for row in moved], ids)
        for row in moved:
            get_log().info("orphan.removed", folder=row.path, bytes=row.bytes)
            result.add(ORPHAN, row.bytes)

    async def _thin(self, look: Look, chosen: Chosen, result: StepResult, until: float) -> None:
        """Have the recorder remove steps, one run after the other."""
        planned = [each for each in look.decision.thinnings if chosen.takes(each.run.run_id, STEPS)]
        for place, each in enumerate(planned):
            if time.monotonic() >= until:
                result.left += len(planned) - place
                return
            if not await self._thin_run(each, result):
                result.left += 1

    async def _thin_run(self, each: PlannedThinning, result: StepResult) -> bool:
        request = ThinRequest(run_id=each.run.run_id, every=each.every, rule=each.rule)
        answer = await self._bus.call(RECORDER_THIN, request)
        result.freed_bytes += answer.freed_bytes
        if answer.removed_steps:
            result.steps += answer.removed_steps
            result.bytes_by_kind[STEPS] = result.bytes_by_kind.get(STEPS, 0) + answer.removed_bytes
            get_log().info(
                "steps.thinned",
                run_id=each.run.run_id,
                steps=answer.removed_steps,
                bytes=answer.removed_bytes,
                freed_bytes=answer.freed_bytes,
            )
        return answer.done

    async def _complete(self) -> None:
        """Complete what an earlier scheduler noted, and delete what is in the trash without a note."""
        rows = await self._database.call(removals.all_rows)
        of_state = {state: [row for row in rows if row.state is state] for state in RemovalState}
        # A loss of power may have undone a move that was noted as done.
        undone = await asyncio.to_thread(
            lambda: [row for row in of_state[RemovalState.IN_TRASH] if not self._trash.has(row)]
        )
        moved, vanished, failed = await asyncio.to_thread(
            self._complete_moves, [*of_state[RemovalState.NOTED], *undone]
        )
        await self._finish(moved, vanished, failed)
        back, stuck = await asyncio.to_thread(self._put_back, of_state[RemovalState.RESTORING])
        ids = [row.id for row in back], [row.id for row in stuck]
        await self._database.call(removals.end_undo, *ids)
        strays = await asyncio.to_thread(self._trash.strays, {row.id for row in rows})
        for path in strays:
            try:
                size = await asyncio.to_thread(self._trash.delete_stray, path)
            except OSError as error:
                get_log().warning("trash.stray_not_deleted", file=path.name, error=str(error))
                continue
            get_log().info("trash.stray_deleted", file=path.name, bytes=size)
        begun = (
            len(of_state[RemovalState.NOTED]) + len(undone) + len(of_state[RemovalState.RESTORING])
        )
        if begun:
            get_log().info("retention.completed", moved=len(moved), restored=len(back))

    def _complete_moves(
        self, rows: Sequence[RemovedFile]
    ) -> tuple[list[RemovedFile], list[RemovedFile], list[RemovedFile]]:
        there = [row for row in rows if not row.is_folder and self._trash.has(row)]
        known = {row.id for row in there}
        moved, vanished, failed = self._take(row for row in rows if row.id not in known)
        return [*there, *moved], vanished, failed


def _first_files(
    planned: Sequence[PlannedUnit],
) -> tuple[Sequence[PlannedUnit], Sequence[PlannedUnit]]:
    """The first units, with about FILES_AT_ONCE files, and the others."""
    files = 0
    for place, each in enumerate(planned):
        if files >= FILES_AT_ONCE:
            return planned[:place], planned[place:]
        files += len(each.unit.items)
    return planned, []


def _by_run(planned: Iterable[PlannedUnit]) -> dict[str, list[PlannedUnit]]:
    found: dict[str, list[PlannedUnit]] = {}
    for each in planned:
        found.setdefault(each.unit.run.run_id, []).append(each)
    return found


def _reason(planned: PlannedUnit) -> str:
    if planned.reason == planned.rule:
        return planned.rule  # a user asked for it, and no profile
    return f"storage profile {planned.profile}: {planned.reason} ({planned.rule})"


def _archived_units(units: Iterable[Unit], paths: frozenset[str], result: StepResult) -> list[Unit]:
    """Units of which an archive has every file. What other runs need stays, and is counted in `result`."""
    found = []
    for unit in units:
        if unit.kind in _ALWAYS_KEPT or not all(item.path in paths for item in unit.items):
            continue
        if unit.kept is not None and unit.kept[0] is not KeptReason.RESTORED:
            result.kept.append((*unit.kept, len(unit.items), unit.bytes))
            continue
        found.append(unit)
    return found
