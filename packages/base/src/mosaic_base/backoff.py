"""Growing pauses between retries."""

JITTER = 0.25
"""By this share a pause varies, so that the clients of one restarted server do not come all at once."""


class Backoff:
    """Pauses that double from `first_s` up to `longest_s`, in seconds.

    Args:
        jitter: share by which each pause varies at random; 0 for pauses that are known beforehand.
    """

    def __init__(self, first_s: float, longest_s: float, *, jitter: float = 0.0) -> None:
        self._first_s = first_s
        self._longest_s = longest_s
        self._jitter = jitter
        self._next_s = first_s

    def next_s(self) -> float:
        """Seconds to wait now; the next pause is twice as long."""
        pause_s = self._next_s
        self._next_s = min(pause_s * 2, self._longest_s)
        if not self._jitter:
            return pause_s
        import random  # slow to import, and needed after a failure only

        return pause_s * random.uniform(1 - self._jitter, 1 + self._jitter)

    def reset(self) -> None:
        """Start again with the shortest pause: it worked."""
        self._next_s = self._first_s
