"""Puts the parts of the scheduler together."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pydantic import SecretStr

from mosaic_contracts.runs import Resumption, RunRecord
from mosaic_contracts.stack import RUNS_DIR, SCHEDULER_DB
from mosaic_contracts.worker import WorkerDescription
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.context import ContextSource
from mosaic_scheduler.admission.copies import RunCopies
from mosaic_scheduler.admission.plays import RunPlays
from mosaic_scheduler.admission.resumes import RunResumes
from mosaic_scheduler.api.deletion import RunDeletion
from mosaic_scheduler.api.edits import RunEdits
from mosaic_scheduler.api.gpus import GpuReports
from mosaic_scheduler.api.queue import QueueMoves
from mosaic_scheduler.api.runs import SchedulerService
from mosaic_scheduler.credentials.renewal import CredentialRenewal, refusal_note
from mosaic_scheduler.credentials.revocation import CredentialRevocation
from mosaic_scheduler.database import Database
from mosaic_scheduler.errors import (
    DatabaseUnavailable,
    PlacementFailed,
    PlacementUnavailable,
    SecretUnknown,
    WorkerNotReady,
    WorkerUnknown,
    XmppUnavailable,
)
from mosaic_scheduler.events.announcement import ProgressAnnouncer, RunAnnouncer
from mosaic_scheduler.events.drain import TelemetryDrain
from mosaic_scheduler.events.listener import RunListener
from mosaic_scheduler.events.publisher import EventPublisher
from mosaic_scheduler.gpus.lease import LeaseStore
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.gpus.owner import OwnerFinder
from mosaic_scheduler.gpus.stock import GpuSupply
from mosaic_scheduler.gpus.watch import HELPER, GpuWatch
from mosaic_scheduler.machine.sampler import MachineSampler
from mosaic_scheduler.machine.told import ToldUse
from mosaic_scheduler.machine.watch import MachineWatch
from mosaic_scheduler.placement.access import XmppLogin
from mosaic_scheduler.placement.process import ProcessPlacement
from mosaic_scheduler.placement.protocol import LaunchOrder, PlacedRef
from mosaic_scheduler.placement.run_folder import RunFolder
from mosaic_scheduler.private_home import close_home
from mosaic_scheduler.proxy import Proxies
from mosaic_scheduler.queue.duration import PastDurations
from mosaic_scheduler.reconcile.dispatch import Dispatcher
from mosaic_scheduler.reconcile.loop import Reconciler
from mosaic_scheduler.reconcile.purge import RunPurge
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_scheduler.runs.parsed import StoredRun
from mosaic_scheduler.runs.resumption import order_of_attempt, resume_point
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.secrets import SecretService, SecretVault
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_scheduler.workers.probe import WorkerProbe
from mosaic_scheduler.workers.registry import ImageWorker, RegisteredWorker, WorkerRegistry
from mosaic_scheduler.xmpp.accounts import RunAccounts, agents_of
from mosaic_scheduler.xmpp.ledger import AccountLedger
from mosaic_servicekit.broker_clock import BrokerClock
from mosaic_servicekit.bus import Bus, Verb
from mosaic_servicekit.credentials import RUN_LIFETIME_S, RunSigner
from mosaic_servicekit.lifecycle import Service
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.revocation import RunRevoker

if TYPE_CHECKING:
    from mosaic_scheduler.placement.docker import DockerPlacement

DATABASE_RETRY_S = 0.5


class SchedulerApp:
    """One scheduler on one MOSAIC_HOME."""

    def __init__(self, settings: SchedulerSettings) -> None:
        self._settings = settings
        # Without credentials of its own the scheduler is on a broker that asks for none (tests).
        self._signer = RunSigner.load(settings.home) if settings.creds is not None else None
        self._bus = Bus(settings.url, "scheduler", settings.creds)
        self._broker_clock = BrokerClock(self._bus)
        self._database = Database(settings.home / SCHEDULER_DB)
        self._store = RunStore(self._database)
        self._placement: ProcessPlacement | DockerPlacement
        kind, asker = RegisteredWorker, None
        if settings.placement == "docker":
            # here, for the engine's library is a fifth of all that a start without an engine would import
            from mosaic_scheduler.placement import docker
            from mosaic_scheduler.placement.engine import Engine
            from mosaic_scheduler.workers.image import ImageAsker

            engine = Engine(
                stack=settings.engine_volume or str(settings.home),
                network=settings.engine_network,
                outside=settings.engine_outside_network,
                volume=settings.engine_volume,
                url=settings.engine_url,
            )
            self._placement = docker.DockerPlacement(settings.home, settings.cores, engine)
            kind, asker = ImageWorker, ImageAsker(engine)
        else:
            self._placement = ProcessPlacement(settings.home, settings.cores)
        self._registry = WorkerRegistry(settings.root, settings.home, settings.venvs_folder, kind)
        self._probe = WorkerProbe(settings.home, asker)
        self._vault = SecretVault(settings.home)
        self._heartbeats = HeartbeatTracker()
        self._views = RunViews(self._heartbeats)
        self._announcer = RunAnnouncer(self._bus, self._views)
        self._publisher = EventPublisher(self._database, self._bus, self._announcer.announce)
        self._announcer.on_change = self._publisher.wake
        self._gpu_watch = GpuWatch(settings.gpu_helper or HELPER)
        self._leases = LeaseStore(self._database)
        self._ledger = LeaseLedger(
            self._leases,
            self._placement,
            self._gpu_watch,
            OwnerFinder(settings.home / RUNS_DIR).owner,
            settings.gpu_share_limit,
        )
        self._durations = PastDurations(self._database)
        self._supply = GpuSupply(self._gpu_watch, self._ledger, self._placement)
        self._accounts = RunAccounts(
            settings.home, AccountLedger(self._database), self._unfinished_ids
        )
        self._dispatcher = Dispatcher(self._placement, self._ledger, self._durations, self._views)
        self._listener = RunListener(
            self._bus, self._heartbeats, self._publisher, lambda: self._reconciler.wake.set()
        )
        self._reconciler = Reconciler(
            store=self._store,
            placement=self._placement,
            heartbeats=self._heartbeats,
            views=self._views,
            dispatcher=self._dispatcher,
            on_end=self._on_end,
            resume_at=self._resume_at,
            losses_of=self._ledger.losses,
            make_order=self._make_order,
            ask_events=self._listener.has_events,
            announce=self._announcer.announce,
            withdraw=self._withdraw,
        )
        self._credentials = CredentialRenewal(
            self._signer, self._placement.folder, self._broker_clock
        )
        self._progress = ProgressAnnouncer(
            self._store, self._views, self._announcer, self._credentials, self._heartbeats
        )
        revoker = (
            None if self._signer is None else RunRevoker(settings.home, settings.url, self._signer)
        )
        self._revocation = CredentialRevocation(revoker, self._shipped_lately)
        self._reconciler.on_shipped = self._revocation.add
        self._drain = TelemetryDrain(
            self._store,
            self._placement,
            self._bus,
            self._credentials.renew,
            self._say_drained,
            self._announcer.announce,
            self._revocation.add,
            self._reconciler.wake.set,
        )
        self._reconciler.on_pending = self._drain.wake
        # a container's processes have other pids in it: its shipper reports what they use
        told = ToldUse(
            self._heartbeats, self._ledger.devices_of_runs, lambda: self._gpu_watch.reading
        )
        self._machine = MachineWatch(
            MachineSampler(settings.home, lambda: self._gpu_watch.reading),
            self._placement.runners if isinstance(self._placement, ProcessPlacement) else dict,
            list if isinstance(self._placement, ProcessPlacement) else told.look,
            self._ledger.devices_of_runs,
            lambda: self._gpu_watch.reading,
            self._heartbeats.step,
            self._database,
            self._publisher.wake,
        )
        self._has_taken_over = False
        self._placement.on_change(self._reconciler.wake.set)
        self._purge = RunPurge(self._database, self._bus, settings.home, self._silence)
        self._service = SchedulerService(
            settings,
            self._database,
            self._store,
            self._reconciler,
            self._dispatcher,
            self._views,
            self._broker_clock,
        )
        self._catalogue = WorkerCatalogue(self._registry, self._probe)
        self._admission = Admission(
            ContextSource(
                settings,
                self._store,
                self._catalogue,
                self._vault,
                self._placement,
                self._supply,
                self._dispatcher,
                self._bus,
            ),
            self._store,
            self._views,
            self._announcer,
            self._reconciler.wake,
        )

    def _verbs(self) -> dict[str, Verb]:
        store, views, announce = self._store, self._views, self._announcer.announce
        topics = (
            self._service,
            self._admission,
            RunCopies(store, self._admission),
            RunPlays(store, self._catalogue, self._admission),
            RunResumes(self._settings.home, store, self._catalogue, self._admission),
            RunEdits(store, views, announce),
            QueueMoves(store, views, announce, self._reconciler.wake.set),
            RunDeletion(store, views, announce, self._purge.wake),
            GpuReports(self._gpu_watch, self._ledger, self._placement),
            SecretService(self._vault),
            self._machine,
            self._catalogue,
        )
        return {name: verb for topic in topics for name, verb in topic.verbs().items()}

    async def run(self, service: Service) -> None:
        """Serve until asked to stop. Runs go on without the scheduler; the next one adopts them."""
        await asyncio.to_thread(close_home, self._settings.home)
        try:
            await self._prepare()
        except PlacementUnavailable as error:
            # All else works without the engine; the reconciler tries again before it starts anything.
            get_log().warning("engine.away", error=str(error))
        self._reconciler.prepare = self._prepare
        await self._bus.start()
        await self._listener.subscribe()
        await self._bus.serve("scheduler", self._verbs())
        loops = {
            "reconciler": self._reconciler.run,
            "publisher": self._publisher.run,
            "drain": self._drain.run,
            "purge": self._purge.run,
            "machine": self._machine.run,
            "gpus": self._gpu_watch.run,
            "xmpp": self._accounts.run,
            "progress": self._progress.run,
            "broker_clock": self._broker_clock.run,
            "revocation": self._revocation.run,
            "losses": self._listener.watch_losses,
            "warm_up": self._warm_up,
        }
        for name, work in loops.items():
            service.spawn(name, _persist(name, work))
        get_log().info("scheduler.started", cores=self._settings.cores)
        await service.stop.wait()
        await service.end_tasks()
        await self._bus.close()
        self._placement.close()
        await self._database.close()

    async def _prepare(self) -> None:
        """Take over once. Raises PlacementUnavailable while the engine is away."""
        if not self._has_taken_over:
            await self._take_over()
            self._has_taken_over = True

    async def _take_over(self) -> None:
        """Adopt what runs, and end what an earlier scheduler left behind."""
        adopted = await self._placement.adopt()
        await self._ledger.rebuild()
        await self._durations.load()
        alive = await self._unfinished_ids()
        # A run that has ended may at most have a shipper that is still at work.
        alive |= {run.record.run_id for run in await self._store.with_leftovers()}
        swept = await self._placement.sweep_orphans(lambda run_id: run_id in alive)
        for ref in adopted:
            if ref.run_id in alive:
                self._credentials.renew(ref)
        get_log().info("runs.adopted", adopted=len(adopted), orphans_ended=swept)

    async def _unfinished_ids(self) -> set[str]:
        return {run.record.run_id for run in await self._store.unfinished()}

    def _on_end(self, record: RunRecord) -> None:
        self._durations.note(record)
        self._accounts.wake()

    async def _make_order(self, run: StoredRun) -> LaunchOrder:
        record = run.record
        worker = self._registry.find(record.spec.worker)
        signer = self._signer
        lease = await self._leases.of(PlacedRef(record.run_id, record.attempt))
        way_out = self._settings.proxies if record.spec.internet else Proxies()
        if record.spec.gpus and lease is None:
            raise PlacementFailed("Its GPU lease is gone; it is to be queued again.")
        spec, inputs = order_of_attempt(record, await self._probe.describe(worker))
        return LaunchOrder(
            ref=PlacedRef(record.run_id, record.attempt),
            spec=spec,
            nonce=run.nonce,
            python=worker.python,
            worker_command=worker.command,
            grant=lease.grant if lease is not None else None,
            image=worker.manifest.image,
            secrets={
                **way_out.secrets(),
                **await asyncio.to_thread(self._reveal, record.spec.secrets),
            },
            environment=way_out.variables(),
            xmpp=await self._log_in(record, worker),
            inputs=inputs,
            broker_url=self._settings.url,
            write_creds=(
                None if signer is None else lambda path: signer.write_creds(record.run_id, path)
            ),
        )

    async def _resume_at(self, record: RunRecord) -> Resumption:
        """Where the next attempt of an interrupted run goes on."""
        description: WorkerDescription | None
        try:
            worker = self._registry.find(record.spec.worker)
            description = await self._probe.describe(worker)
        except (WorkerNotReady, WorkerUnknown) as error:
            get_log().warning("worker.not_ready", worker=record.spec.worker, error=str(error))
            description = None
        folder = self._placement.folder(PlacedRef(record.run_id, record.attempt))
        return await asyncio.to_thread(resume_point, record, description, folder)

    async def _log_in(self, record: RunRecord, worker: RegisteredWorker) -> XmppLogin | None:
        agents = agents_of(record.spec, await self._probe.describe(worker))
        if not agents:
            return None
        try:
            return await self._accounts.provision(record.run_id, agents)
        except XmppUnavailable as error:
            # It went away while the run waited.
            raise PlacementFailed(f"xmpp: {error.part}: {error.problem.detail}") from error

    async def _silence(self, run_id: str) -> None:
        """End whatever still sends something of an ended run."""
        await self._placement.sweep_orphans(lambda other: other != run_id)
        await self._publisher.drop(run_id)

    def _reveal(self, names: list[str]) -> dict[str, SecretStr]:
        try:
            return {name: self._vault.reveal(name) for name in names}
        except SecretUnknown as error:
            # It was deleted while the run waited.
            raise PlacementFailed(str(error)) from error

    async def _withdraw(self, ref: PlacedRef) -> None:
        try:
            folder = RunFolder(self._placement.folder(ref), ref)
            await asyncio.to_thread(folder.withdraw)
        except OSError as error:
            # A folder that may not be written must not keep the run from ending.
            get_log().error("secrets.not_withdrawn", run_id=ref.run_id, error=str(error))

    def _say_drained(self, ref: PlacedRef, done: bool) -> None:
        refusal = None if done else self._credentials.refusal(ref)
        # It was renewed just before.
        ahead_s = self._broker_clock.ahead_s
        note = None if refusal is None else refusal_note(refusal, renewals=2, ahead_s=ahead_s)
        self._views.set_refusal(ref.run_id, note)

    async def _shipped_lately(self) -> list[str]:
        return await self._store.shipped_since(
            datetime.now(UTC) - timedelta(seconds=RUN_LIFETIME_S)
        )

    async def _warm_up(self) -> None:
        """Have every worker describe itself once, so that no submit waits for that."""
        for worker in self._registry.workers():
            try:
                await self._probe.describe(worker)
            except WorkerNotReady as error:
                get_log().warning("worker.not_ready", worker=worker.manifest.id, error=str(error))


async def _persist(name: str, loop: Callable[[], Awaitable[None]]) -> None:
    """Run a loop again when the database was away: states follow from facts, so that nothing is missed."""
    while True:
        try:
            await loop()
        except DatabaseUnavailable as error:
            get_log().warning("database.unavailable", loop=name, error=str(error))
            await asyncio.sleep(DATABASE_RETRY_S)
        else:
            return
