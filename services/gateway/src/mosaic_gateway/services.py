"""The gateway's services, one of each per process, and how they are put together."""

import asyncio
from dataclasses import dataclass

from mosaic_contracts.runs import RunRecord
from mosaic_gateway.checkpoints.export import CheckpointExporter
from mosaic_gateway.checkpoints.registry import CheckpointRegistry
from mosaic_gateway.checkpoints.uploads import Uploads
from mosaic_gateway.checkpoints.verify import CheckpointVerifier
from mosaic_gateway.dashboards.service import Dashboards
from mosaic_gateway.files.artifacts import Artifacts
from mosaic_gateway.history import History
from mosaic_gateway.live.frames import FrameHub
from mosaic_gateway.live.hub import Hub
from mosaic_gateway.manifests.service import Manifests
from mosaic_gateway.runs.groups import Groups
from mosaic_gateway.runs.known_runs import KnownRuns
from mosaic_gateway.runs.last_known import LastKnown
from mosaic_gateway.runs.rate import RateTracker
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.scheduler import SchedulerClient
from mosaic_gateway.settings import GatewaySettings
from mosaic_gateway.status.prometheus import Scrape
from mosaic_gateway.status.stack import Health
from mosaic_gateway.sweeps.drivers import SweepDrivers
from mosaic_gateway.sweeps.news import NewsReader
from mosaic_gateway.sweeps.service import Sweeps
from mosaic_gateway.sweeps.trials import TrialBooks
from mosaic_gateway.syncs.service import Syncs
from mosaic_servicekit.bus import Bus

REQUEST_THREADS = 4
LIVE_THREADS = 2
"""Separate threads, so that a heavy query of one person does not hold up another's live view."""


@dataclass(frozen=True)
class Services:
    """What routes may use."""

    settings: GatewaySettings
    bus: Bus
    scheduler: SchedulerClient
    history: History
    runs: Runs
    groups: Groups
    artifacts: Artifacts
    manifests: Manifests
    dashboards: Dashboards
    sweeps: Sweeps
    drivers: SweepDrivers
    syncs: Syncs
    checkpoints: CheckpointRegistry
    verifier: CheckpointVerifier
    exporter: CheckpointExporter
    uploads: Uploads
    health: Health
    hub: Hub
    frames: FrameHub
    scrape: Scrape
    ticket_key: bytes

    async def close_streams(self) -> None:
        """Close all WebSockets."""
        await asyncio.gather(self.hub.close(), self.frames.close())

    async def close(self) -> None:
        """Close streams, the connection to the broker and the store's readers."""
        await self.close_streams()
        await self.dashboards.close()
        await self.drivers.close()
        await self.syncs.close()
        await self.bus.close()
        await self.history.close()
        await self.hub.history.close()


def assemble(settings: GatewaySettings, bus: Bus, ticket_key: bytes) -> Services:
    """Create all services over one bus; nothing is started."""
    scheduler = SchedulerClient(bus)
    history = History(settings.store_path, REQUEST_THREADS)
    live_history = History(settings.store_path, LIVE_THREADS)
    rates = RateTracker()
    last_known = LastKnown(history, settings.runs_dir)
    runs = Runs(scheduler, history, rates, settings.runs_dir, last_known)
    live_runs = Runs(scheduler, live_history, rates, settings.runs_dir)
    hub = Hub(bus, scheduler, live_runs, live_history, rates)
    frames = FrameHub(bus, scheduler)

    known = KnownRuns(last_known)
    registry = CheckpointRegistry(scheduler, known, history, settings.runs_dir)

    dashboards = Dashboards(scheduler, runs, history, ticket_key)
    drivers = SweepDrivers(bus, scheduler, runs, NewsReader(scheduler, history))

    artifacts = Artifacts(history)
    syncs = Syncs(bus, scheduler, runs, history, artifacts)

    def on_record(record: RunRecord) -> None:
        dashboards.see(record)
        drivers.see(record)
        syncs.see(record)
        last_known.remember(record)
        frames.see(record)

    hub.on_record = on_record
    return Services(
        settings=settings,
        bus=bus,
        scheduler=scheduler,
        history=history,
        runs=runs,
        groups=Groups(scheduler, history),
        artifacts=artifacts,
        manifests=Manifests(scheduler, runs, history),
        dashboards=dashboards,
        sweeps=Sweeps(runs, drivers, TrialBooks(history)),
        drivers=drivers,
        syncs=syncs,
        checkpoints=registry,
        verifier=CheckpointVerifier(registry, settings.runs_dir),
        exporter=CheckpointExporter(registry, runs, history, settings.runs_dir),
        uploads=Uploads(settings.uploads_dir, settings.disk_reserve_bytes),
        health=Health(bus, scheduler, history, settings.home, settings.disk_reserve_bytes),
        hub=hub,
        frames=frames,
        scrape=Scrape(bus, scheduler, history, hub, frames),
        ticket_key=ticket_key,
    )
