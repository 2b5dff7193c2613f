"""Command line of the shipper."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path

from mosaic_base.imports import large_imports

with large_imports(on_use=["nats.js"]):  # 25 ms of JetStream, which only a refusal needs
    from pydantic import ValidationError

    from mosaic_base.locks import open_lock
    from mosaic_contracts.launch import LAUNCH_FILE, Launch
    from mosaic_workerkit.outbox import outbox_dir
    from mosaic_workerkit.outbox.segment import SHIPPER_LOCK
    from mosaic_workerkit.shipper.delivery import DeliveryState
    from mosaic_workerkit.shipper.doors import opened
    from mosaic_workerkit.shipper.log import log_event
    from mosaic_workerkit.shipper.publisher import OutboxPublisher

EXIT_UNREADABLE = 2
EXIT_GAVE_UP = 3
EXIT_LOCKED = 75


def main() -> int:
    """Ship until all is committed and the run is over; 0: all committed, 3: gave up, 75: another is at work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--drain", action="store_true", help="ship what a dead run left, then exit")
    parser.add_argument("--timeout", type=float, help="seconds a drain may take (default: drain_s)")
    options = parser.parse_args()
    run_dir = options.run_dir.resolve()
    try:
        launch = Launch.model_validate_json((run_dir / LAUNCH_FILE).read_text())
    except (OSError, ValidationError) as error:
        log_event("shipper.refused", error=f"cannot read {LAUNCH_FILE}: {error}")
        return EXIT_UNREADABLE
    folder = outbox_dir(run_dir, launch.attempt)
    folder.mkdir(parents=True, exist_ok=True)
    if open_lock(folder / SHIPPER_LOCK) is None:
        log_event("shipper.refused", error="another shipper holds this outbox")
        return EXIT_LOCKED
    timeout_s = launch.drain_s if options.timeout is None else options.timeout
    return asyncio.run(_publish_until_committed(run_dir, launch, options.drain, timeout_s))


async def _publish_until_committed(
    run_dir: Path, launch: Launch, drain: bool, timeout_s: float
) -> int:
    delivery = DeliveryState(run_dir, launch)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, delivery.begin_drain)
    # Blocked by the runner until it has a handler: the worker may have ended before this.
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    if drain:
        delivery.begin_drain()
    async with opened(launch.doors):
        all_committed = await OutboxPublisher(delivery).run(timeout_s, follow_parent=not drain)
    log_event("shipper.done" if all_committed else "shipper.gave_up", **delivery.marks())
    return 0 if all_committed else EXIT_GAVE_UP


if __name__ == "__main__":
    sys.exit(main())
