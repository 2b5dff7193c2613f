"""Ships what ended runs and interrupted attempts left in their outboxes, once broker and recorder are back."""

import asyncio
import time
from functools import partial

from mosaic_contracts.problems import ProblemError
from mosaic_contracts.runs import RunRecord
from mosaic_contracts.services import RecorderStatus
from mosaic_scheduler.credentials.renewal import CredentialRenewal
from mosaic_scheduler.credentials.revocation import CredentialRevocation
from mosaic_scheduler.errors import LaunchFailed
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.events.archived import ArchivedEvents, is_waiting
from mosaic_scheduler.executors.protocol import AttemptRef, Executor
from mosaic_scheduler.runs.parsed import StoredRun
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

SHIP_TIMEOUT_S = 120.0
"""One try; a run's largest outbox (1 GiB) takes less when the recorder keeps up."""
RETRY_S = (1.0, 2.0, 5.0, 15.0, 30.0)
IDLE_S = 60.0


class TelemetryDrain:
    """One run at a time: what lives has the right of way."""

    def __init__(
        self,
        store: RunStore,
        executor: Executor,
        bus: Bus,
        credentials: CredentialRenewal,
        revocation: CredentialRevocation,
        views: RunViews,
        announcer: RunAnnouncer,
        archived: ArchivedEvents,
        reconcile: asyncio.Event,
    ) -> None:
        """`reconcile`: set when a run that waited for its leftovers may start."""
        self._store = store
        self._executor = executor
        self._bus = bus
        self._credentials = credentials
        self._revocation = revocation
        self._views = views
        self._announcer = announcer
        self._archived = archived
        self._reconcile = reconcile
        self._wake = asyncio.Event()
        self._tries: dict[str, tuple[int, float]] = {}
        """Failed tries of a run, and when the next is due (monotonic)."""
        bus.on_connected(self._on_connected)

    def wake(self) -> None:
        """There is something to ship."""
        self._wake.set()

    async def run(self) -> None:
        """Ship for ever."""
        while True:
            self._wake.clear()
            wait_s = IDLE_S
            if await self._recorder_takes():
                wait_s = await self._ship_due()
            elif await self._store.with_leftovers():
                wait_s = RETRY_S[2]
            await wait_up_to(self._wake, wait_s)

    def _on_connected(self) -> None:
        self._tries.clear()
        self._wake.set()

    async def _recorder_takes(self) -> bool:
        try:
            status = await self._bus.request("recorder", "status", None, RecorderStatus)
        except ProblemError:
            return False
        return status.accepting

    async def _ship_due(self) -> float:
        """Ship every run that is due. Return how long to wait for the next."""
        pending = await self._store.with_leftovers()
        ids = {run.record.run_id for run in pending}
        self._tries = {run_id: tries for run_id, tries in self._tries.items() if run_id in ids}
        for run in pending:
            _, due = self._tries.get(run.record.run_id, (0, 0.0))
            if due <= time.monotonic():
                await self._ship(run)
        dues = [due for _, due in self._tries.values()]
        return max(0.1, min(dues) - time.monotonic()) if dues else IDLE_S

    async def _ship(self, run: StoredRun) -> None:
        record = run.record
        # What waits for its next attempt left something of the one before.
        attempt = record.attempt if record.state.is_final else record.attempt - 1
        ref = AttemptRef(record.run_id, attempt)
        folder = self._executor.folder(ref)
        is_archived = await asyncio.to_thread(is_waiting, folder)
        if is_archived:
            done = await self._archived.ship(
                record.run_id, run.nonce, folder, partial(self._store.is_kept, record.run_id)
            )
        else:
            done = await self._drain(ref, record)
        if not done:
            tries = self._tries.get(record.run_id, (0, 0.0))[0]
            wait_s = RETRY_S[min(tries, len(RETRY_S) - 1)]
            self._tries[record.run_id] = (tries + 1, time.monotonic() + wait_s)
            return
        self._tries.pop(record.run_id, None)
        get_log().info("telemetry.drained", run_id=record.run_id)
        settled = await self._store.drained(record.run_id, is_archived=is_archived)
        if settled is not None:
            await self._announcer.announce(settled)
        if is_archived:
            self._store.ended.set()  # its files are listed now
        if not record.state.is_final:
            self._reconcile.set()

    async def _drain(self, ref: AttemptRef, record: RunRecord) -> bool:
        """Have a shipper send what a run left. Return whether nothing is left."""
        try:
            self._credentials.renew(ref)
            done = await self._executor.drain(ref, SHIP_TIMEOUT_S)
        except (LaunchFailed, OSError) as error:
            get_log().warning("telemetry.drain_failed", run_id=record.run_id, error=str(error))
            done = False
        refusal = None if done else self._credentials.refusal_note(ref)
        self._views.set_refusal(ref.run_id, refusal)
        if done and record.state.is_final:
            self._revocation.add(record.run_id)
        return done
