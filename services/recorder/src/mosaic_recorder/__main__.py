"""`python -m mosaic_recorder`: the recorder as a service. SIGTERM finishes the transaction and exits 0."""

import asyncio
import gc
import sys
from pathlib import Path

from mosaic_base.imports import large_imports

with large_imports(on_use=["numpy"]):  # 60 ms of CPU time; a metric's first 512 points do without
    from mosaic_contracts.stack import TELEMETRY_DB
    from mosaic_recorder.disk import DiskGuard
    from mosaic_recorder.recorder import Recorder
    from mosaic_recorder.store_thread import StoreThread
    from mosaic_recorder.upkeep import Upkeep
    from mosaic_recorder.verbs import SERVICE, Verbs
    from mosaic_servicekit.bus import Bus
    from mosaic_servicekit.errors import ServiceRefused
    from mosaic_servicekit.lifecycle import Service, run_service
    from mosaic_servicekit.logging import configure_logging
    from mosaic_servicekit.settings import ServiceSettings
    from mosaic_store import StoreForeign, StoreWalRefused, open_reader

_GC_THRESHOLD = 100_000
"""A decoded batch is thousands of live objects without cycles; the default looks at them all the time."""


class RecorderSettings(ServiceSettings):
    """What every service reads; the recorder needs no more."""

    @property
    def store_path(self) -> Path:
        """The telemetry store."""
        return self.home / TELEMETRY_DB


async def serve(service: Service) -> None:
    """Connect, answer, record, until the service shall stop."""
    settings = RecorderSettings.load()
    configure_logging(SERVICE, settings.log_format)
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, 20, 100)
    bus = Bus(settings.url, SERVICE, settings.creds, settings.broker_ca)
    store = StoreThread(settings.store_path, migration_copy=settings.migration_copy)
    guard = DiskGuard(settings.store_path.parent, settings.disk_reserve_bytes)
    recorder = Recorder(bus, store, guard, service.stop)
    upkeep = Upkeep(store)
    with open_reader(settings.store_path) as reader:
        try:
            await recorder.open_store()
            await bus.start()
            await bus.serve(SERVICE, Verbs(recorder, upkeep, reader, guard).table())
            looking = asyncio.create_task(upkeep.run())
            try:
                await recorder.run()
            finally:
                looking.cancel()
        except (StoreForeign, StoreWalRefused) as error:
            raise ServiceRefused(f"{settings.store_path}: {error}") from error
        finally:
            await store.close()
            store.stop()
            await bus.close()


def main() -> int:
    """Run the service; the exit code."""
    configure_logging(SERVICE)
    return run_service(serve)


if __name__ == "__main__":
    sys.exit(main())
