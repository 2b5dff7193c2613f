"""Delays between retries."""

import random

FIRST_S = 0.3
LONGEST_S = 8.0


class Backoff:
    """Growing delays with jitter, so that the clients of one restarted gateway do not come all at once."""

    def __init__(self, rng: random.Random | None = None) -> None:
        self._rng = rng or random.Random()
        self._next_s = FIRST_S

    def delay_s(self) -> float:
        """Seconds until the next try."""
        delay_s = self._next_s * self._rng.uniform(0.75, 1.25)
        self._next_s = min(self._next_s * 2, LONGEST_S)
        return delay_s

    def reset(self) -> None:
        """Start again with the shortest delay."""
        self._next_s = FIRST_S
