"""Takes the place of a run's shipper: nothing is sent, so the outbox keeps every event for the checks."""

import signal
import sys


def main() -> int:
    """Sleep until the runner says that the run is over; started again to drain, there is nothing to do."""
    if "--drain" in sys.argv:
        return 0
    stops = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stops)
    signal.sigwait(stops)
    return 0


if __name__ == "__main__":
    sys.exit(main())
