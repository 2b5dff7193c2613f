"""Puts the parts of the scheduler together."""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_contracts.stack import BROKER_DIR, RUNS_DIR, SCHEDULER_DB, SPARE_FILE, TELEMETRY_DB
from mosaic_scheduler.admission.admission import Admission
from mosaic_scheduler.admission.context import ContextSource
from mosaic_scheduler.admission.copies import RunCopies
from mosaic_scheduler.admission.dashboards import RunDashboards
from mosaic_scheduler.admission.forks import RunForks
from mosaic_scheduler.admission.groups import RunGroups
from mosaic_scheduler.admission.past_sizes import PastSizes
from mosaic_scheduler.admission.plays import RunPlays
from mosaic_scheduler.admission.reach import ReachProbe
from mosaic_scheduler.admission.replays import RunReplays
from mosaic_scheduler.admission.resumes import RunResumes
from mosaic_scheduler.admission.sweeps import RunSweeps
from mosaic_scheduler.admission.syncs import RunSyncs
from mosaic_scheduler.admission.tracker_look import TrackerLooks
from mosaic_scheduler.alerts.delivery import AlertDeliveries
from mosaic_scheduler.alerts.targets import AlertTargets
from mosaic_scheduler.alerts.verbs import AlertVerbs
from mosaic_scheduler.alerts.watch import AlertWatch
from mosaic_scheduler.api.changes import RunChanges
from mosaic_scheduler.api.deletion import RunDeletion
from mosaic_scheduler.api.gpus import GpuReports
from mosaic_scheduler.api.groups import GroupVerbs
from mosaic_scheduler.api.queue import QueueMoves
from mosaic_scheduler.api.runs import RunQueries
from mosaic_scheduler.credentials.renewal import CredentialRenewal
from mosaic_scheduler.credentials.revocation import CredentialRevocation
from mosaic_scheduler.database import Database
from mosaic_scheduler.disk.level import SpaceLimits
from mosaic_scheduler.disk.spare import SpareSpace
from mosaic_scheduler.disk.volume import VolumeUse
from mosaic_scheduler.disk.watch import VolumeWatch
from mosaic_scheduler.errors import DatabaseUnavailable, EngineUnavailable
from mosaic_scheduler.events.announcement import ProgressAnnouncer, RunAnnouncer
from mosaic_scheduler.events.archived import ArchivedEvents
from mosaic_scheduler.events.drain import TelemetryDrain
from mosaic_scheduler.events.environment_names import EnvironmentNames
from mosaic_scheduler.events.episodes import RecordedEpisodes
from mosaic_scheduler.events.listener import RunListener
from mosaic_scheduler.events.publisher import EventPublisher
from mosaic_scheduler.events.stop_request import ask_runner_to_stop
from mosaic_scheduler.executors.job_images import job_images
from mosaic_scheduler.executors.process import ProcessExecutor
from mosaic_scheduler.executors.protocol import AttemptRef
from mosaic_scheduler.executors.slurm import SlurmExecutor, slurm_options
from mosaic_scheduler.gpus.lease import LeaseStore
from mosaic_scheduler.gpus.ledger import LeaseLedger
from mosaic_scheduler.gpus.owner import OwnerFinder
from mosaic_scheduler.gpus.stock import GpuSupply
from mosaic_scheduler.gpus.watch import HELPER, GpuWatch
from mosaic_scheduler.imports.archive_verb import RunArchives
from mosaic_scheduler.imports.verb import RunImports
from mosaic_scheduler.machine.reported_usage import ReportedUsage
from mosaic_scheduler.machine.sampler import MachineSampler
from mosaic_scheduler.machine.watch import MachineWatch
from mosaic_scheduler.nodes.requests import NodeRequests
from mosaic_scheduler.queue.duration import PastDurations
from mosaic_scheduler.reconcile.dispatch import Dispatcher
from mosaic_scheduler.reconcile.file_reporter import FileReporter
from mosaic_scheduler.reconcile.launch import LaunchBuilder
from mosaic_scheduler.reconcile.loop import Reconciler
from mosaic_scheduler.reconcile.placement import PlacementNote
from mosaic_scheduler.reconcile.purge import RunPurge
from mosaic_scheduler.reconcile.replay_records import ReplayRecords
from mosaic_scheduler.reconcile.restored import RestoredRuns
from mosaic_scheduler.reconcile.takeover import Takeover, close_home
from mosaic_scheduler.retention.freeing import RunFreeing
from mosaic_scheduler.retention.inventory import FileInventory
from mosaic_scheduler.retention.janitor import Janitor
from mosaic_scheduler.retention.look import Looks
from mosaic_scheduler.retention.profiles import ProfileFile
from mosaic_scheduler.retention.verbs import StorageVerbs
from mosaic_scheduler.runs.heartbeats import HeartbeatTracker
from mosaic_scheduler.runs.store import RunStore
from mosaic_scheduler.runs.view import RunViews
from mosaic_scheduler.secrets import SecretService, SecretVault
from mosaic_scheduler.settings import SchedulerSettings
from mosaic_scheduler.workers.catalogue import WorkerCatalogue
from mosaic_scheduler.workers.probe import WorkerProbe
from mosaic_scheduler.workers.registry import ImageWorker, RegisteredWorker, WorkerRegistry
from mosaic_scheduler.xmpp.accounts import RunAccounts
from mosaic_scheduler.xmpp.ledger import AccountLedger
from mosaic_servicekit.broker_clock import BrokerClock
from mosaic_servicekit.bus import Bus
from mosaic_servicekit.credentials import NODE_LIFETIME_S, RUN_LIFETIME_S, RunSigner
from mosaic_servicekit.lifecycle import Service
from mosaic_servicekit.logging import get_log
from mosaic_servicekit.revocation import RunRevoker

if TYPE_CHECKING:
    from mosaic_scheduler.executors.docker import DockerExecutor
    from mosaic_scheduler.executors.ray import RayExecutor
    from mosaic_scheduler.workers.image import ImageAsker

DATABASE_RETRY_S = 0.5


class SchedulerApp:
    """One scheduler on one MOSAIC_HOME: makes the parts, serves their verbs, runs their loops."""

    def __init__(self, settings: SchedulerSettings) -> None:
        self._settings = settings
        home = settings.home
        # Without credentials of its own the scheduler is on a broker that asks for none (tests).
        signer = RunSigner.load(home) if settings.creds is not None else None
        reconcile, events_due = asyncio.Event(), asyncio.Event()
        self._bus = bus = Bus(settings.url, "scheduler", settings.creds, settings.broker_ca)
        self._broker_clock = BrokerClock(bus)
        self._database = database = Database(
            home / SCHEDULER_DB, migration_copy=settings.migration_copy
        )
        executor, workers, asker = _engine_of(settings, bus)
        self._executor = executor
        engine_queue = executor.moves if isinstance(executor, SlurmExecutor) else None
        executor.on_change(reconcile.set)
        spare = SpareSpace(home / SPARE_FILE)
        self._volumes = _volume_watch(settings, spare)
        store = RunStore(database)
        heartbeats = HeartbeatTracker()
        views = RunViews(heartbeats)

        registry = WorkerRegistry(settings.root, home, settings.venvs_folder, workers)
        probe = WorkerProbe(home, asker)
        self._catalogue = WorkerCatalogue(registry, probe)
        vault = SecretVault(home)
        self._accounts = RunAccounts(home, AccountLedger(database), store.unfinished_ids)
        self._gpu_watch = GpuWatch(settings.gpu_helper or HELPER)
        leases = LeaseStore(database)
        owners = OwnerFinder(home / RUNS_DIR)
        ledger = LeaseLedger(
            leases, executor, self._gpu_watch, owners.owner, settings.gpu_share_limit
        )
        credentials = CredentialRenewal(signer, executor.folder, self._broker_clock)
        lifetime_s = RUN_LIFETIME_S if executor.bounds.shares_folder else NODE_LIFETIME_S
        self._revocation = CredentialRevocation(
            None
            if signer is None
            else RunRevoker(home, settings.url, signer, settings.broker_ca, lifetime_s),
            partial(store.shipped_within, lifetime_s),
        )

        announcer = RunAnnouncer(bus, views, events_due)
        self._publisher = EventPublisher(database, bus, announcer.announce, events_due)
        archived = ArchivedEvents(bus)
        self._nodes = NodeRequests(
            bus, store, executor, signer, settings.disk_reserve_bytes, reconcile
        )
        self._listener = RunListener(bus, heartbeats, self._publisher, reconcile)
        self._progress = ProgressAnnouncer(store, views, announcer, credentials, heartbeats)
        self._drain = TelemetryDrain(
            *(store, executor, bus, credentials, self._revocation, views, announcer),
            archived,
            reconcile,
        )
        episodes = RecordedEpisodes(bus)
        durations = PastDurations(database)
        dispatcher = Dispatcher(executor, ledger, durations, views)
        self._restored = RestoredRuns(settings, database, store)
        self._placement = PlacementNote(home, store, self._restored, settings.placement)
        self._takeover = Takeover(store, executor, ledger, durations, credentials)
        self._reconciler = Reconciler(
            store=store,
            executor=executor,
            engine_queue=engine_queue,
            heartbeats=heartbeats,
            views=views,
            dispatcher=dispatcher,
            durations=durations,
            ledger=ledger,
            launches=LaunchBuilder(
                *(settings, registry, probe, leases, vault, self._accounts, signer),
                engine_gives_devices=executor.bounds.queues,
                credentials_s=lifetime_s,
            ),
            records=ReplayRecords(
                episodes,
                lambda record: executor.folder(AttemptRef(record.run_id, record.attempt)),
                reconcile,
            ),
            takeover=self._takeover,
            restored=self._restored,
            listener=self._listener,
            announcer=announcer,
            drain=self._drain,
            revocation=self._revocation,
            accounts=self._accounts,
            volumes=self._volumes,
            wake=reconcile,
        )
        profiles = ProfileFile(home)
        reported, trash_due = asyncio.Event(), asyncio.Event()
        self._files = FileReporter(
            database,
            store,
            lambda record: executor.folder(AttemptRef(record.run_id, record.attempt)),
            announcer,
            events_due,
            reported,
        )
        self._janitor = Janitor(
            home,
            database,
            bus,
            Looks(home, database, FileInventory(bus), profiles),
            profiles,
            announcer.announce,
            self._files.report_files,
            reported,
            self._volumes.short,
            trash_due,
            spare,
        )
        self._volumes.on_change(reported.set)
        targets, deliveries_due = AlertTargets(home), asyncio.Event()
        self._deliveries = AlertDeliveries(database, targets, deliveries_due)
        self._alerts = AlertWatch(
            database,
            bus,
            targets,
            self._volumes,
            announcer.announce,
            events_due,
            deliveries_due,
        )
        announcer.on_change(self._alerts.note_change)
        self._volumes.on_change(self._alerts.note_change)
        self._environments = EnvironmentNames(store, episodes, announcer)
        for note_stored in (self._alerts.note_stored, self._environments.note_stored):
            self._listener.on_stored(note_stored)
        self._purge = RunPurge(database, bus, home, executor, self._publisher, trash_due)
        self._machine = _machine_watch(
            settings, executor, ledger, self._gpu_watch, heartbeats, database, events_due
        )

        trackers = TrackerLooks(settings, vault, ReachProbe())
        gpus = GpuSupply(self._gpu_watch, ledger, executor)
        admission = Admission(
            ContextSource(
                settings,
                store,
                self._catalogue,
                vault,
                executor,
                gpus,
                dispatcher,
                bus,
                trackers,
                profiles,
                self._volumes,
                PastSizes(database, bus),
                engine_queue,
                job_images(settings),
            ),
            store,
            views,
            announcer,
            reconcile,
        )
        self._imports = RunImports(home, store, self._catalogue, admission, views, announcer)
        sweeps = RunSweeps(store, admission, views)
        queries = RunQueries(
            settings,
            database,
            store,
            self._reconciler,
            dispatcher,
            views,
            self._broker_clock,
            self._volumes,
            profiles,
        )
        changes = RunChanges(store, views, announcer, profiles)
        deletion = RunDeletion(
            *(database, store, views, announcer, self._purge, executor, bus, spare)
        )
        groups = RunGroups(store, admission, durations, settings.cores)
        topics = (
            queries,
            admission,
            RunCopies(store, admission),
            RunPlays(store, self._catalogue, admission),
            RunForks(home, store, self._catalogue, admission),
            RunReplays(store, self._catalogue, admission, episodes, views),
            RunDashboards(
                store,
                self._catalogue,
                admission,
                self._reconciler.request_stop,
                views,
                settings.dashboard_idle_s,
            ),
            sweeps,
            RunSyncs(settings, store, self._catalogue, admission, views, vault, executor, trackers),
            RunResumes(home, store, self._catalogue, admission, sweeps),
            self._imports,
            RunArchives(
                *(home, settings.disk_reserve_bytes, store, bus, announcer),
                self._publisher,
                self._drain,
            ),
            changes,
            deletion,
            groups,
            GroupVerbs(store, groups, queries, deletion),
            QueueMoves(store, views, announcer, reconcile, engine_queue),
            GpuReports(self._gpu_watch, ledger, executor),
            SecretService(vault),
            self._files,
            RunFreeing(self._janitor, store, announcer),
            StorageVerbs(home, database, profiles, self._janitor, self._volumes),
            AlertVerbs(
                *(database, store, bus, self._alerts, targets, self._deliveries),
                announcer.announce,
            ),
            self._machine,
            self._catalogue,
        )
        self._verbs = {name: verb for topic in topics for name, verb in topic.verbs().items()}

    async def run(self, service: Service) -> None:
        """Serve until asked to stop. Runs go on without the scheduler; the next one adopts them."""
        await asyncio.to_thread(close_home, self._settings.home)
        await self._restored.take_over()
        await self._placement.ensure()
        try:
            await self._takeover.ensure()
        except EngineUnavailable as error:
            # All else works without the engine; the reconciler tries again before it starts anything.
            get_log().warning("engine.away", error=str(error))
        await self._imports.sweep()
        await self._volumes.look()
        await self._bus.start()
        await self._listener.subscribe()
        await self._nodes.subscribe()
        await self._bus.serve("scheduler", self._verbs)
        loops = {
            "reconciler": self._reconciler.run,
            "publisher": self._publisher.run,
            "drain": self._drain.run,
            "purge": self._purge.run,
            "file_reports": self._files.run,
            "file_digests": self._files.run_digests,
            "retention": self._janitor.run,
            "trash": self._janitor.run_sweeps,
            "alerts": self._alerts.run,
            "environments": self._environments.run,
            "alert_deliveries": self._deliveries.run,
            "machine": self._machine.run,
            "volumes": self._volumes.run,
            "gpus": self._gpu_watch.run,
            "xmpp": self._accounts.run,
            "progress": self._progress.run,
            "broker_clock": self._broker_clock.run,
            "revocation": self._revocation.run,
            "losses": self._listener.watch_losses,
            "warm_up": self._catalogue.warm_up,
        }
        for name, work in loops.items():
            service.spawn(name, _persist(name, work))
        get_log().info("scheduler.started", cores=self._settings.cores)
        await service.stop.wait()
        await service.end_tasks()
        await self._bus.close()
        self._executor.close()
        await self._database.close()


def _engine_of(
    settings: SchedulerSettings,
    bus: Bus,
) -> tuple[
    "ProcessExecutor | DockerExecutor | SlurmExecutor | RayExecutor",
    type[RegisteredWorker],
    "ImageAsker | None",
]:
    """Where runs are started, and how its workers are found and asked."""
    if settings.placement == "process":
        return ProcessExecutor(settings.home, settings.cores), RegisteredWorker, None
    if settings.placement == "slurm":
        return SlurmExecutor(settings.home, slurm_options(settings)), RegisteredWorker, None
    if settings.placement == "ray":
        # here, for the library of its requests takes longer to import than a start may
        from mosaic_scheduler.executors.ray import RayExecutor
        from mosaic_scheduler.executors.ray_jobs import RayJobs

        jobs = RayJobs(settings.ray_address, settings.ray_token)
        ask_stop = partial(ask_runner_to_stop, bus)
        ray = RayExecutor(
            settings.home, jobs, ask_stop, settings.ray_poll_s, node_home=settings.node_home
        )
        return ray, RegisteredWorker, None
    # here, for the engine's library is a fifth of all that a start without an engine would import
    from mosaic_scheduler.executors.docker import DockerExecutor
    from mosaic_scheduler.executors.engine import Engine
    from mosaic_scheduler.workers.image import ImageAsker

    engine = Engine(
        stack=settings.engine_volume or str(settings.home),
        network=settings.engine_network,
        outside=settings.engine_outside_network,
        volume=settings.engine_volume,
        url=settings.engine_url,
    )
    docker = DockerExecutor(settings.home, settings.cores, engine)
    return docker, ImageWorker, ImageAsker(engine)


def _volume_watch(settings: SchedulerSettings, spare: SpareSpace) -> VolumeWatch:
    home = settings.home
    places = {
        VolumeUse.HOME: home,
        VolumeUse.RUNS: home / RUNS_DIR,
        VolumeUse.STORE: (home / TELEMETRY_DB).parent,
        VolumeUse.BROKER: home / BROKER_DIR,
    }
    if settings.placement != "docker":
        # A container has its temporary files in memory, and its environment in its image.
        places[VolumeUse.TEMPORARY] = Path(tempfile.gettempdir())
        places[VolumeUse.ENVIRONMENTS] = settings.venvs_folder
    return VolumeWatch(places, SpaceLimits(settings.low_bytes, settings.critical_bytes), spare)


def _machine_watch(
    settings: SchedulerSettings,
    executor: "ProcessExecutor | DockerExecutor | SlurmExecutor | RayExecutor",
    ledger: LeaseLedger,
    gpus: GpuWatch,
    heartbeats: HeartbeatTracker,
    database: Database,
    events_due: asyncio.Event,
) -> MachineWatch:
    # A container's processes have other pids in it: its shipper reports what they use.
    reported = ReportedUsage(heartbeats, ledger.devices_of_runs, lambda: gpus.reading)
    sees_processes = isinstance(executor, ProcessExecutor)
    return MachineWatch(
        MachineSampler(settings.home, lambda: gpus.reading),
        executor.runners if isinstance(executor, ProcessExecutor) else dict,
        list if sees_processes else reported.look,
        ledger.devices_of_runs,
        lambda: gpus.reading,
        heartbeats.step,
        database,
        events_due.set,
    )


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
