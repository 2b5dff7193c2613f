"""Reports the files of each run after its end (ADR 0027).

A report is one event, noted in the transaction that says that the run is reported: a kill before it costs a repetition,
and one after it nothing. Files that are too large for a quick look are hashed afterwards, one after the other.
"""

import asyncio
import math
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mosaic_contracts.manifest import FileReport
from mosaic_contracts.problems import Problem, ProblemCode, ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RunRequest
from mosaic_scheduler.database import Database
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.reconcile.file_report import FileVersion, HashBudget, look_at
from mosaic_scheduler.runs import file_reports
from mosaic_scheduler.runs.file_reports import FilesState
from mosaic_scheduler.runs.store import RunStore
from mosaic_servicekit.bus import Verb
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

QUICK_BYTES = 256 * 2**20
QUICK_S = 1.0
"""Maximum size and time of what a first look hashes. `telemetry_pending` of the run waits for that look."""
LOOK_EVERY_S = 60.0
_NICENESS = 10
_MAX_KNOWN = 50_000
"""Maximum number of digests that are kept for the second look of runs."""


class FileReporter:
    """Two loops, and the verb `report_files`."""

    def __init__(
        self,
        database: Database,
        store: RunStore,
        folder_of: Callable[[RunRecord], Path],
        announcer: RunAnnouncer,
        events_due: asyncio.Event,
        reported: asyncio.Event,
    ) -> None:
        """`events_due`: set when there is a new event to be sent; `reported`: set when a run has a report."""
        self._database = database
        self._store = store
        self._folder_of = folder_of
        self._announcer = announcer
        self._events_due = events_due
        self._reported = reported
        self._digests_due = asyncio.Event()
        self._quick = ThreadPoolExecutor(1, thread_name_prefix="files")
        self._patient = ThreadPoolExecutor(
            1, thread_name_prefix="digests", initializer=_take_low_priority
        )
        self._is_over = threading.Event()
        self._known: dict[str, dict[FileVersion, str]] = {}
        """By run: digests of the first look."""

    def verbs(self) -> dict[str, Verb]:
        """For `Bus.serve`."""
        return {"report_files": (RunRequest, self.report_files)}

    async def run(self) -> None:
        """Report runs that have ended, for ever."""
        while True:
            self._store.ended.clear()
            due = await self._database.call(file_reports.in_state, FilesState.DUE)
            for record in due:
                await self._report(record)
            if not due:
                await wait_up_to(self._store.ended, LOOK_EVERY_S)

    async def run_digests(self) -> None:
        """Hash what first looks left, for ever."""
        try:
            while True:
                self._digests_due.clear()
                left = await self._database.call(file_reports.in_state, FilesState.DIGESTS_DUE)
                for record in left:
                    await self._hash_rest(record)
                if not left:
                    await wait_up_to(self._digests_due, LOOK_EVERY_S)
        finally:
            self._is_over.set()  # the process must not wait for a large file

    async def report_files(self, request: RunRequest) -> FileReport:
        """Look at the files of an ended run now, and record it if that was not done at its end."""
        record = await self._store.require(request.run_id)
        if not record.state.is_final:
            raise _not_ended(record)
        report = await self._look(record)
        if report is None:
            return FileReport(files=[])
        if await self._database.call(file_reports.is_unreported, record.run_id):
            await self._add(record, report)
        return report

    async def _report(self, record: RunRecord) -> None:
        await self._add(record, await self._look(record))

    async def _look(self, record: RunRecord) -> FileReport | None:
        """Look at a run's folder within the bounds of a quick look; None: it has none that can be read."""
        known = self._known.setdefault(record.run_id, {})
        budget = HashBudget(QUICK_BYTES, QUICK_S, self._is_over.is_set)
        report = await self._look_in(self._quick, record, known, budget)
        while len(self._known) > 1 and sum(map(len, self._known.values())) > _MAX_KNOWN:
            self._known.pop(next(iter(self._known)))
        if report is None or not report.unhashed:
            self._known.pop(record.run_id, None)
        return report

    async def _hash_rest(self, record: RunRecord) -> None:
        known = self._known.pop(record.run_id, {})
        budget = HashBudget(math.inf, math.inf, self._is_over.is_set)
        report = await self._look_in(self._patient, record, known, budget)
        if report is not None and report.unhashed:
            return  # the scheduler stops; the next one begins again
        await self._add(record, report)

    async def _look_in(
        self,
        pool: ThreadPoolExecutor,
        record: RunRecord,
        known: dict[FileVersion, str],
        budget: HashBudget,
    ) -> FileReport | None:
        loop = asyncio.get_running_loop()
        folder = self._folder_of(record)
        try:
            return await loop.run_in_executor(pool, look_at, folder, known, budget)
        except FileNotFoundError:
            return None  # it never started
        except OSError as error:
            get_log().warning("run.files_unreadable", run_id=record.run_id, error=str(error))
            return None

    async def _add(self, record: RunRecord, report: FileReport | None) -> None:
        changed = await self._database.call(file_reports.add_report, record.run_id, report)
        if changed is not None:
            await self._announcer.announce(changed)
        self._events_due.set()
        self._reported.set()
        if report is not None and report.unhashed:
            self._digests_due.set()


def _take_low_priority() -> None:
    # Linux has priorities for threads: the scheduler's own one is not changed.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)


def _not_ended(record: RunRecord) -> ProblemError:
    return ProblemError(
        Problem(
            code=ProblemCode.REQUEST_INVALID,
            title="The run has not ended",
            detail=f"Run {record.run_id} is {record.state}; its files are reported after its end.",
        )
    )
