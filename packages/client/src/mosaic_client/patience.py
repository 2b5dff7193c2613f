"""How long and how often to try again. One policy for requests and for the live connection."""

CONNECT_TIMEOUT_S = 5.0
FIRST_DELAY_S = 0.2
LONGEST_DELAY_S = 5.0
REQUEST_PATIENCE_S = 10.0
"""Time that a stack which answered before gets to come back. A crashed gateway is restarted within seconds."""
LIVE_PATIENCE_S = 60.0


class BoundedBackoff:
    """Growing delays until `patience_s` is used up."""

    def __init__(self, patience_s: float) -> None:
        self.patience_s = patience_s
        self._next_s = FIRST_DELAY_S
        self._began_s: float | None = None

    def delay(self, now_s: float, at_least_s: float = 0.0) -> float | None:
        """Return the seconds to wait before the next attempt, or None when the time is used up. `now_s` is
        monotonic."""
        if self._began_s is None:
            self._began_s = now_s
        left_s = self._began_s + self.patience_s - now_s
        if left_s <= 0:
            return None
        import random  # slow to import, and needed after a failure only

        # jitter, so that clients of one restarted gateway do not come all at once
        delay_s = max(self._next_s * random.uniform(0.75, 1.25), at_least_s)
        self._next_s = min(self._next_s * 2, LONGEST_DELAY_S)
        return min(delay_s, left_s)

    def reset(self) -> None:
        """Start again from the shortest delay, after a success."""
        self._next_s = FIRST_DELAY_S
        self._began_s = None
