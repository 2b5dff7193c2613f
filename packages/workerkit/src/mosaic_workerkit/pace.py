"""How fast a play goes, so that a person can follow it."""

import time

from mosaic_workerkit.control import StopFlag

_SLICE_S = 0.05
"""A stop comes as a signal, which sets a flag and wakes nobody."""


class Pace:
    """Limits the steps per second.

    Args:
        steps_per_s: None: as fast as it goes.
    """

    def __init__(self, steps_per_s: float | None, stop: StopFlag) -> None:
        self._interval_s = 0.0 if steps_per_s is None else 1 / steps_per_s
        self._stop = stop
        self._due = time.monotonic()

    def stepped(self) -> None:
        """Note a step. The next one is due an interval later; delays are not caught up."""
        self._due = time.monotonic() + self._interval_s

    def early_s(self) -> float:
        """Return the seconds until the next step is due; 0 if it is due or a stop was requested."""
        if not self._interval_s or self._stop.requested:
            return 0.0
        return max(0.0, self._due - time.monotonic())

    def wait(self) -> None:
        """Wait until the next step is due, or a stop is requested."""
        while (early_s := self.early_s()) > 0:
            time.sleep(min(early_s, _SLICE_S))
