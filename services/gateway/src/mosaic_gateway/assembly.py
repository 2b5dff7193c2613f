"""The parts of the gateway, put together once."""

from mosaic_gateway.artifacts.service import Artifacts
from mosaic_gateway.doors import Parts
from mosaic_gateway.health.service import Health
from mosaic_gateway.history import History
from mosaic_gateway.live.hub import Hub
from mosaic_gateway.peers import Recorder, Scheduler
from mosaic_gateway.runs.rate import RateTracker
from mosaic_gateway.runs.service import Runs
from mosaic_gateway.settings import GatewaySettings
from mosaic_servicekit.bus import Bus

REQUEST_THREADS = 4
LIVE_THREADS = 2
"""Apart, so that a heavy query of one person does not hold up another's live view."""


def assemble(settings: GatewaySettings, bus: Bus) -> Parts:
    """All parts over one bus; nothing is started."""
    scheduler = Scheduler(bus)
    history = History(settings.store_path, REQUEST_THREADS)
    live_history = History(settings.store_path, LIVE_THREADS)
    rates = RateTracker()
    runs = Runs(scheduler, history, rates, settings.runs_dir)
    live_runs = Runs(scheduler, live_history, rates, settings.runs_dir)
    return Parts(
        settings=settings,
        bus=bus,
        scheduler=scheduler,
        history=history,
        runs=runs,
        artifacts=Artifacts(history),
        health=Health(
            bus, scheduler, Recorder(bus), history, settings.home, settings.disk_reserve_bytes
        ),
        hub=Hub(bus, scheduler, live_runs, live_history, rates),
    )


async def close_parts(parts: Parts) -> None:
    """Leave broker and store."""
    await parts.hub.close()
    await parts.bus.close()
    await parts.history.close()
    await parts.hub.history.close()
