"""ULIDs: 48 bits of milliseconds and 80 random bits, in Crockford's base 32."""

import secrets
import threading
import time
from collections.abc import Callable

from mosaic_contracts.ids import RunId, parse_run_id

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_RANDOM_BITS = 80


class RunIdSource:
    """Makes run ids that grow strictly within this process, also when the wall clock goes backwards."""

    def __init__(self, now_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._now_ms = now_ms
        self._last = 0
        self._lock = threading.Lock()

    def next(self) -> RunId:
        """Return a new run id, greater than every earlier one."""
        with self._lock:
            fresh = self._now_ms() << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS)
            # Within one millisecond, or after a step back of the clock: count on from the last one.
            same_or_older = fresh >> _RANDOM_BITS <= self._last >> _RANDOM_BITS
            self._last = self._last + 1 if same_or_older else fresh
            return parse_run_id(_encode(self._last))


def _encode(value: int) -> str:
    return "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))
