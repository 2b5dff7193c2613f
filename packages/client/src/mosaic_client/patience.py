"""How long and how often to try again. One policy for requests and for the live connection."""

from mosaic_base.backoff import JITTER, Backoff

CONNECT_TIMEOUT_S = 5.0
HANDSHAKE_TIMEOUT_S = 15.0
"""TCP, TLS and the answer of the gateway together, which takes longer where trainings use all processors."""
FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 5.0
REQUEST_PATIENCE_S = 10.0
"""Time that a stack which answered before gets to come back. A crashed gateway is restarted within seconds."""
LIVE_PATIENCE_S = 60.0


class BoundedBackoff:
    """Growing delays until `patience_s` is used up."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._backoff = Backoff(FIRST_DELAY_S, LONGEST_DELAY_S, jitter=JITTER)
        self._began_s: float | None = None

    def delay(self, now_s: float, at_least_s: float = 0.0) -> float | None:
        """Return the seconds to wait before the next attempt, or None when the time is used up. `now_s` is
        monotonic."""
        if self._began_s is None:
            self._began_s = now_s
        left_s = self._began_s + self.patience_s - now_s
        if left_s <= 0:
            return None
        return min(max(self._backoff.next_s(), at_least_s), left_s)

    def reset(self) -> None:
        """Start again from the shortest delay, after a success."""
        self._backoff.reset()
        self._began_s = None
