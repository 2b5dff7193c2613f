"""Readings of the host's monotonic clock, from which durations are made; wall times are for display."""

from mosaic_contracts.models import PeerModel


class ClockReading(PeerModel):
    """A reading of the monotonic clock of one boot of a machine.

    All processes and containers of the machine read the same one.
    """

    boot_id: str
    monotonic_s: float


def seconds_between(earlier: ClockReading | None, later: ClockReading | None) -> float | None:
    """Measure the time between two readings.

    Args:
        earlier: the first reading; None: missing.
        later: the second reading; None: missing.

    Returns:
        Seconds; None for a missing reading, readings of two boots, or the wrong order.
    """
    if earlier is None or later is None or earlier.boot_id != later.boot_id:
        return None
    seconds = later.monotonic_s - earlier.monotonic_s
    return seconds if seconds >= 0 else None
