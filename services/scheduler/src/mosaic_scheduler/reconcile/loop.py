"""The scheduler's loop: load, decide, apply. Woken by whatever may change a run, and by a slow tick as a net."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from mosaic_contracts.gpus import GpuGrant
from mosaic_contracts.runs import Resumption, RunRecord
from mosaic_contracts.spec import RunKind
from mosaic_contracts.states import EndCause, RunState
from mosaic_scheduler.credentials.revocation import CredentialRevocation
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.errors import (
    EngineUnavailable,
    LaunchFailed,
    RecordUnusable,
    WorkerUnknown,
    WorkerUnready,
)
from mosaic_scheduler.events.announcement import RunAnnouncer
from mosaic_scheduler.events.drain import TelemetryDrain
from mosaic_scheduler.events.listener import RunListener
from mosaic_scheduler.executors.log_tail import LINES
from mosaic_scheduler.executors.protocol import (
    AttemptPhase,
    AttemptRef,
    AttemptStatus,
    EngineQueue,
    Executor,
)
from mosaic_scheduler.executors.run_folder import RunFolder
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.queue.duration import PastDurations
from mosaic_scheduler.queue.plan import QueuePlace
from mosaic_scheduler.reconcile import decision
from mosaic_scheduler.reconcile.decision import Action, Facts
from mosaic_scheduler.reconcile.dispatch import Dispatcher, PlannedStart, places_without_engine
from mosaic_scheduler.reconcile.facts import FactSource
from mosaic_scheduler.reconcile.launch import LaunchBuilder
from mosaic_scheduler.reconcile.left_trials import left_trials
from mosaic_scheduler.reconcile.replay_records import ReplayRecords
from mosaic_scheduler.reconcile.restored import RestoredRuns
from mosaic_scheduler.reconcile.sync_result import sent_facts
from mosaic_scheduler.reconcile.takeover import Takeover
from mosaic_scheduler.runs import outcome
from mosaic_scheduler.runs.end_time import LATE_S, EndTime
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_scheduler.runs.outbox import RunFact
from mosaic_scheduler.runs.parsed import StoredRun
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import EnginePlace, RunViews, waits_at_engine
from mosaic_scheduler.xmpp.accounts import RunAccounts
from mosaic_servicekit.clock import Moment, present
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.waiting import wait_up_to

TICK_S = 1.0
"""The net below the events: deadlines, and any wake-up that was missed."""

_LOST = "the driver lost its "
_OUTLOOK = "; the run may hang or fail"

_FROM_TRACES = (
    " No scheduler was running, so the time of its end is that of its last change on disk."
)


@dataclass
class Reconciler:
    """Brings runs to where they belong."""

    store: RunStore
    executor: Executor
    heartbeats: HeartbeatTracker
    views: RunViews
    dispatcher: Dispatcher
    durations: PastDurations
    ledger: LeaseLedger
    launches: LaunchBuilder
    records: ReplayRecords
    takeover: Takeover
    restored: RestoredRuns
    listener: RunListener
    announcer: RunAnnouncer
    drain: TelemetryDrain
    revocation: CredentialRevocation
    accounts: RunAccounts
    volumes: VolumeWatch
    wake: asyncio.Event
    """Set by whatever may change a run."""
    engine_queue: EngineQueue | None = None
    """The queue of a cluster, where the order of what waits can be changed."""
    _facts: FactSource = field(init=False)

    def __post_init__(self) -> None:
        self._facts = FactSource(
            self.heartbeats,
            self.volumes,
            self.restored.is_lost,
            runs_elsewhere=self.executor.bounds.queues,
            shares_folder=self.executor.bounds.shares_folder,
        )
        self.volumes.on_change(self.wake.set)

    async def run(self) -> None:
        """Reconcile for ever."""
        while True:
            self.wake.clear()
            await self.pass_once()
            await wait_up_to(self.wake, TICK_S)

    async def pass_once(self) -> None:
        """Look at every run that has not ended, once."""
        unfinished = await self.store.unfinished()
        for record in left_trials(unfinished):
            get_log().info("trial.stopped", run_id=record.run_id, sweep=record.spec.parent)
            await self.request_stop(record, EndCause.STOPPED_BY_USER)
        for run in unfinished:
            if not run.record.state.has_process:
                continue
            try:
                await self._reconcile(run)
            except EngineUnavailable as error:
                await self._wait_to_see(run.record, str(error))
            except OSError as error:
                # A folder that its worker deleted or a full disk: the other runs must not wait for this one.
                get_log().warning(
                    "run.reconcile_failed", run_id=run.record.run_id, error=str(error)
                )
                await self._wait_to_see(run.record, f"A file of the run cannot be used: {error}.")
        await self._order_at_engine(unfinished)
        await self._start_waiting()

    async def _order_at_engine(self, unfinished: Sequence[StoredRun]) -> None:
        """Let what waits in the engine's own queue start by the runs' priorities."""
        if self.engine_queue is None:
            return
        waiting = [run.record for run in unfinished if waits_at_engine(run.record)]
        priorities = {AttemptRef(each.run_id, each.attempt): each.priority for each in waiting}
        try:
            await self.engine_queue.order(priorities)
        except EngineUnavailable as error:
            get_log().info("queue.order_waits", error=str(error))  # the runs themselves say so

    async def _reconcile(self, run: StoredRun) -> None:
        record = run.record
        status = await self.executor.status(AttemptRef(record.run_id, record.attempt))
        self.views.set_unseen(record.run_id, None)
        report = status.report if status.phase is AttemptPhase.ALIVE else None
        self.views.set_draining(record.run_id, report)
        await self._show_engine_place(record, status)
        run = await self._note_losses(await self._note_node(run, status))
        record = run.record
        facts = self._facts.gather(record, status)
        action = decision.decide(record, facts)
        await self._apply(run, action)

    async def _show_engine_place(self, record: RunRecord, status: AttemptStatus) -> None:
        """What an attempt waits for in the engine's own queue, and when it may start."""
        is_queued = status.phase is AttemptPhase.QUEUED
        place = EnginePlace(status.detail, status.starts_at) if is_queued else None
        if status.phase is AttemptPhase.UNSEEN:
            self.views.set_unseen(record.run_id, status.detail)
        if self.views.set_engine_place(record.run_id, place):
            await self.announcer.announce(record)

    async def _note_node(self, run: StoredRun, status: AttemptStatus) -> StoredRun:
        """Write down where a run of a cluster runs, once the engine says so."""
        record = run.record
        if not status.node or status.node == record.node:
            return run
        noted = await self._write(record, node=status.node)
        return run if noted is None else StoredRun(noted, run.nonce)

    async def _note_losses(self, run: StoredRun) -> StoredRun:
        """A device that vanished under a run is written down: its end, and a later scheduler, shall know of it."""
        record = run.record
        notes = (
            _notes_of_losses(record, self.ledger.lost_devices(record.run_id))
            if record.spec.gpus
            else []
        )
        if not notes:
            return run
        get_log().warning("run.device_lost", run_id=record.run_id, notes=notes)
        noted = await self._write(record, notes=[*record.notes, *notes])
        return run if noted is None else StoredRun(noted, run.nonce)

    async def _apply(self, run: StoredRun, action: Action) -> None:
        record = run.record
        ref = AttemptRef(record.run_id, record.attempt)
        match action:
            case decision.LaunchAttempt():
                await self._launch(run)
            case decision.Requeue(why):
                await self._requeue(record, why)
            case decision.MarkStarted():
                now = present()
                await self._write(record, started_at=now.wall, started_clock=now.clock, held=False)
                self.wake.set()
            case decision.MarkRunning():
                image = record.image or await self.executor.image(ref)
                await self._write(
                    record, state=RunState.RUNNING, first_event_at=datetime.now(UTC), image=image
                )
            case decision.MarkUnresponsive(unresponsive):
                await self._write(record, unresponsive=unresponsive)
            case decision.Stop(cause, note):
                await self._stop(record, cause, note)
            case decision.Cancel():
                await self.executor.cancel(ref)
            case decision.Kill():
                get_log().warning("runner.killed", run_id=record.run_id)
                await self.executor.cancel(ref, kill=True)
            case decision.AskEvents():
                await self._ask_events(record)
            case decision.EndRun():
                await self._end(record, action)
            case decision.Restart():
                await self._restart(record, action)

    async def request_stop(self, record: RunRecord, cause: EndCause) -> RunRecord | None:
        """Stop a run that has not ended. None: the record was stale, and nothing was done."""
        if record.state is not RunState.QUEUED:
            return await self._stop(record, cause)
        # Nothing was started, so it has ended already.
        stopped = record.model_copy(update={"stop_requested": cause})
        state, end = outcome.outcome_from_stop(stopped, None)
        now = datetime.now(UTC)
        changed = await self._write(
            record, state=state, stop_requested=cause, end=end, ended_at=now, end_recorded_at=now
        )
        self.views.forget(record.run_id)
        self.wake.set()
        return changed

    async def _stop(self, record: RunRecord, cause: EndCause, note: str = "") -> RunRecord | None:
        """Ask a run with processes to stop. A user's stop takes the place of one that is under way for the disk."""
        notes = [*record.notes, f"attempt {record.attempt}: {note}"] if note else record.notes
        changed = await self._write(
            record, state=RunState.STOPPING, stop_requested=cause, notes=notes
        )
        if changed is not None:
            try:
                await self.executor.cancel(AttemptRef(record.run_id, record.attempt))
            except OSError as error:
                # What was asked is written down; it is passed on when engine and files can be used again.
                get_log().warning("run.stop_waits", run_id=record.run_id, error=str(error))
        return changed

    async def _wait_to_see(self, record: RunRecord, why: str) -> None:
        """Nothing is known of a run until engine and files can be used again; one that starts has its deadline."""
        self.views.set_unseen(record.run_id, why)
        if self.executor.bounds.queues:
            return  # it may wait there for days, and runs on while the engine's controller is away
        has_begun = self.heartbeats.has_events(record.run_id, record.attempt)
        if (
            record.state is not RunState.STARTING
            or has_begun
            or self._facts.start_age_s(record) < record.spec.start_deadline_s
        ):
            return
        state, end = outcome.outcome_from_failed_launch(record, why)
        await self._end(record, decision.EndRun(state, end, telemetry_pending=False, sweep=True))

    async def _ask_events(self, record: RunRecord) -> None:
        has_events = await self.listener.has_events(record)
        if has_events:
            self.heartbeats.note_events(record.run_id, record.attempt)
        elif has_events is False:
            self._facts.deny_events(record.run_id)
        if has_events is not None:
            self.wake.set()

    async def _requeue(self, record: RunRecord, why: str) -> None:
        # The next attempt has another reference: what this one left, an engine keeps until somebody removes it.
        await self.executor.sweep(AttemptRef(record.run_id, record.attempt))
        note = f"attempt {record.attempt} could not be started: {why}"
        await self._write(
            record,
            state=RunState.QUEUED,
            attempt=record.attempt + 1,
            started_at=None,
            started_clock=None,
            image=None,
            notes=[*record.notes, note],
        )
        self.wake.set()

    async def _restart(self, record: RunRecord, action: decision.Restart) -> None:
        """Queue the next attempt of a run that was interrupted; it starts once what this one recorded is stored."""
        ref = AttemptRef(record.run_id, record.attempt)
        if action.sweep:
            await self.executor.sweep(ref)
        await self._withdraw(ref)
        resumption = await self.launches.resume_at(record, self.executor.folder(ref))
        notes = [
            f"attempt {record.attempt}: {action.why}",
            *action.notes,
            _goes_on(record, resumption),
        ]
        queued = await self._write(
            record,
            outbox_left=action.telemetry_pending,
            state=RunState.QUEUED,
            attempt=record.attempt + 1,
            resumptions=[*record.resumptions, resumption],
            started_at=None,
            started_clock=None,
            first_event_at=None,
            image=None,
            progress=None,
            unresponsive=False,
            stop_requested=None,
            notes=[*record.notes, *notes],
        )
        if queued is None:
            return
        self._forget(record.run_id)
        if action.telemetry_pending:
            self.drain.wake()
        self.wake.set()

    def _forget(self, run_id: str) -> None:
        for forget in (self.heartbeats.forget, self.views.forget, self._facts.forget):
            forget(run_id)

    async def _end(self, record: RunRecord, action: decision.EndRun) -> None:
        ref = AttemptRef(record.run_id, record.attempt)
        if action.sweep:
            swept = await self.executor.sweep(ref)
            get_log().info("run.swept", run_id=record.run_id, processes=swept)
        lines, image = await self._last_seen(record)
        await self._withdraw(ref)
        message = action.end.message
        if action.state in (RunState.FAILED, RunState.CRASHED):
            message += _losses_in_words(record)
        now = present()
        end_time = self._facts.end_time(record, action.status, now)
        if _is_from_traces(action.status, end_time, now):
            message += _FROM_TRACES
        ended = await self._write(
            record,
            sent=await self._sent(record, action.state),
            state=action.state,
            end=action.end.model_copy(update={"last_lines": lines, "message": message}),
            ended_at=end_time.at,
            end_recorded_at=now.wall,
            elapsed_s=end_time.elapsed_s,
            started_at=record.started_at or _started_by_report(action.status),
            image=image,
            first_event_at=record.first_event_at or self._first_event_now(record),
            progress=self.views.progress(record),
            notes=list(dict.fromkeys([*record.notes, *action.notes])),
            unresponsive=False,
            outbox_left=action.telemetry_pending,
        )
        if ended is None:
            return
        self.durations.note(ended)
        self.accounts.wake()
        self._forget(record.run_id)
        if action.telemetry_pending:
            self.drain.wake()
        else:
            self.revocation.add(record.run_id)
        # Its cores are free: a run that waits for them must not wait for the tick.
        self.wake.set()

    async def _sent(self, record: RunRecord, state: RunState) -> list[RunFact]:
        """What a sync that has succeeded found out of the run that it sent."""
        if record.spec.sync is None or state is not RunState.SUCCEEDED:
            return []
        folder = self.executor.folder(AttemptRef(record.run_id, record.attempt))
        return await asyncio.to_thread(sent_facts, folder)

    async def _withdraw(self, ref: AttemptRef) -> None:
        """Delete what an attempt had for its lifetime: before its end is written, so that a kill skips nothing."""
        try:
            await asyncio.to_thread(RunFolder(self.executor.folder(ref), ref).withdraw)
        except OSError as error:
            # A folder that may not be written must not keep the run from ending.
            get_log().error("secrets.not_withdrawn", run_id=ref.run_id, error=str(error))

    async def _last_seen(self, record: RunRecord) -> tuple[list[str], str | None]:
        """Last lines and image of the attempt, as far as its files can be read: they must not keep it from ending."""
        ref = AttemptRef(record.run_id, record.attempt)
        try:
            lines = await self.executor.logs(ref, LINES)
            return lines, record.image or await self.executor.image(ref)
        except OSError as error:
            get_log().warning("run.files_unreadable", run_id=record.run_id, error=str(error))
            return [], record.image

    def _first_event_now(self, record: RunRecord) -> datetime | None:
        known = self.heartbeats.has_events(record.run_id, record.attempt)
        return datetime.now(UTC) if known else None

    async def _start_waiting(self) -> None:
        waiting = await self.store.queued()
        try:
            await self.takeover.ensure()
            if waiting:
                await self.executor.ready()
            unready = {
                **await self.records.look(run.record for run in waiting),
                **self._without_space(waiting),
            }
            plan = await self.dispatcher.plan(await self.store.unfinished(), waiting, unready)
        except EngineUnavailable as error:
            # They wait with the reason: an engine that is restarted must not cost a night's queue.
            await self._show_places(waiting, places_without_engine(waiting, str(error)))
            return
        await self._show_places(waiting, plan.places)
        for start in plan.starts:
            await self._start(start)

    def _without_space(self, waiting: Sequence[StoredRun]) -> dict[str, str]:
        """For each run that waits for free space, the reason."""
        reasons = {
            run.record.run_id: self.volumes.waiting_reason(run.record.spec.kind) for run in waiting
        }
        return {run_id: reason for run_id, reason in reasons.items() if reason is not None}

    async def _show_places(
        self, waiting: Sequence[StoredRun], places: Sequence[QueuePlace]
    ) -> None:
        changed = set(self.views.set_places(places))
        for run in waiting:
            if run.record.run_id in changed:
                await self.announcer.announce(run.record)

    async def _start(self, start: PlannedStart) -> None:
        now = None if self.executor.bounds.queues else present()
        started = await self._write(
            start.run.record,
            grant=start.grant,
            state=RunState.STARTING,
            # An engine with a queue of its own starts it later.
            started_at=now and now.wall,
            started_clock=now and now.clock,
            node=None,
            waiting_reason=None,
            position=None,
        )
        if started is None:
            return
        if start.grant is not None:
            self.dispatcher.took(AttemptRef(started.run_id, started.attempt), start.grant)
        await self._launch(StoredRun(started, start.run.nonce))

    async def _launch(self, run: StoredRun) -> None:
        try:
            self.records.require(run.record)
            launch_spec = await self.launches.build(run)
            await self.executor.submit(launch_spec)
            image = await self.executor.image(launch_spec.ref)
            if image != run.record.image:
                await self._write(run.record, image=image)
        except (WorkerUnready, WorkerUnknown) as error:
            state, end = outcome.outcome_from_unready_worker(run.record, str(error))
            await self._end(run.record, decision.EndRun(state, end, telemetry_pending=False))
        except RecordUnusable as error:
            # Another attempt would read the same.
            state, end = outcome.outcome_from_failed_launch(run.record, str(error))
            await self._end(run.record, decision.EndRun(state, end, telemetry_pending=False))
        except EngineUnavailable as error:
            await self._wait_to_see(run.record, str(error))
        except (LaunchFailed, OSError) as error:
            get_log().warning("run.launch_failed", run_id=run.record.run_id, error=str(error))
            refused = AttemptStatus(AttemptPhase.REFUSED, detail=str(error))
            await self._apply(run, decision.decide(run.record, Facts(refused)))

    async def _write(
        self,
        record: RunRecord,
        outbox_left: bool = False,
        grant: GpuGrant | None = None,
        sent: Sequence[RunFact] = (),
        **changes: object,
    ) -> RunRecord | None:
        changed = await self.store.write(record, outbox_left, grant, sent, **changes)
        if changed is None:
            self.wake.set()  # somebody else wrote: look again
            return None
        if changed.state is not record.state:
            get_log().info(
                "run.changed",
                run_id=changed.run_id,
                state=changed.state,
                cause=changed.end.cause if changed.end else changed.stop_requested,
            )
        await self.announcer.announce(changed)
        return changed


def _goes_on(record: RunRecord, resumption: Resumption) -> str:
    if record.spec.kind is RunKind.SWEEP:
        return f"attempt {resumption.attempt} goes on with the study in its folder"
    where = "from the start: it has no checkpoint that its algorithm could take"
    if resumption.checkpoint is not None:
        where = f"from {resumption.checkpoint}, step {resumption.step:,} of the run"
    return f"attempt {resumption.attempt} begins {where}"


def _started_by_report(status: AttemptStatus | None) -> datetime | None:
    """When an attempt began that ended before anybody saw it run."""
    report = None if status is None else status.report
    return None if report is None else datetime.fromtimestamp(report.started_at, UTC)


def _is_from_traces(status: AttemptStatus | None, end: EndTime, now: Moment) -> bool:
    """Whether nobody saw the end, and it was long ago."""
    is_lost = status is not None and status.phase is AttemptPhase.LOST
    return is_lost and (now.wall - end.at).total_seconds() > LATE_S


def _notes_of_losses(record: RunRecord, losses: list[str]) -> list[str]:
    """Notes of lost devices that the run does not have yet."""
    notes = [f"{_LOST}{loss}{_OUTLOOK}" for loss in losses]
    return [note for note in notes if note not in record.notes]


def _losses_in_words(record: RunRecord) -> str:
    """What the end of a run that failed says of the devices that it lost; empty when it lost none."""
    lost = [note.removesuffix(_OUTLOOK) for note in record.notes if note.startswith(_LOST)]
    return "".join(f" Before that {note}." for note in lost)
