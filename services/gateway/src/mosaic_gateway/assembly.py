"""The parts of the gateway, put together once."""

from mosaic_gateway.artifacts.service import Artifacts
from mosaic_gateway.doors import Parts
from mosaic_gateway.health.service import Health
from mosaic_gateway.history import History
from mosaic_gateway.live.hub import Hub
from mosaic_gateway.monitoring.scrape import Scrape
from mosaic_gateway.peers import Recorder, Scheduler
from mosaic_gateway.runs.last_known import LastKnown
from mosaic_gateway.runs.rate import RateTracker
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.settings import GatewaySettings
from mosaic_servicekit.bus import Bus

REQUEST_THREADS = 4
LIVE_THREADS = 2
"""Apart, so that a heavy query of one person does not hold up another's live view."""


def assemble(settings: GatewaySettings, bus: Bus, ticket_key: bytes) -> Parts:
    """All parts over one bus; nothing is started."""
    scheduler = Scheduler(bus)
    history = History(settings.store_path, REQUEST_THREADS)
    live_history = History(settings.store_path, LIVE_THREADS)
    rates = RateTracker()
    last_known = LastKnown(history, settings.runs_dir)
    runs = Runs(scheduler, history, rates, settings.runs_dir, last_known)
    live_runs = Runs(scheduler, live_history, rates, settings.runs_dir)
    recorder = Recorder(bus)
    hub = Hub(bus, scheduler, live_runs, live_history, rates)
    hub.on_record = last_known.remember
    return Parts(
        settings=settings,
        bus=bus,
        scheduler=scheduler,
        history=history,
        runs=runs,
        artifacts=Artifacts(history),
        health=Health(
            bus, scheduler, recorder, history, settings.home, settings.disk_reserve_bytes
        ),
        hub=hub,
        scrape=Scrape(bus, scheduler, recorder, history, hub),
        ticket_key=ticket_key,
    )


async def close_parts(parts: Parts) -> None:
    """Leave broker and store."""
    await parts.hub.close()
    await parts.bus.close()
    await parts.history.close()
    await parts.hub.history.close()
