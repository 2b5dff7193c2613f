"""Pauses between retries."""

from mosaic_base.backoff import JITTER, Backoff

FIRST_S = 0.3
LONGEST_S = 8.0


def retry_backoff() -> Backoff:
    """Pauses for one connection or one request to the gateway."""
    return Backoff(FIRST_S, LONGEST_S, jitter=JITTER)
