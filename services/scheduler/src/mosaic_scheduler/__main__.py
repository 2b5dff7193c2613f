"""`python -m mosaic_scheduler`."""

import sys

from mosaic_base.imports import large_imports

with large_imports(
    on_use=[
        "requests",  # 35 ms of CPU time; for alerts that are sent, and containers
        "ruamel.yaml",  # 10 ms; for a file of storage profiles
    ]
):
    from mosaic_scheduler.app import SchedulerApp
    from mosaic_scheduler.settings import SchedulerSettings
    from mosaic_servicekit.errors import SettingsInvalid
    from mosaic_servicekit.lifecycle import Service, refuse, run_service
    from mosaic_servicekit.logging import configure_logging


def main() -> int:
    """Entry point."""
    configure_logging("scheduler")
    try:
        settings = SchedulerSettings.load()
    except SettingsInvalid as error:
        return refuse(error)
    configure_logging("scheduler", settings.log_format)

    async def serve(service: Service) -> None:
        await SchedulerApp(settings).run(service)

    return run_service(serve)


if __name__ == "__main__":
    sys.exit(main())
