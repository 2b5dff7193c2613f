"""Attempts that wait because their user has as many jobs at Slurm as the site permits."""

import math
import time

from mosaic_scheduler.executors.protocol import AttemptRef

_IN_REFUSAL = "MaxSubmit"
"""In the limits' names: `QOSMaxSubmitJobPerUserLimit`, `AssocMaxSubmitJobLimit` and their like."""


def is_submit_limit(refusal: str) -> bool:
    """Whether `sbatch` refused a job only for the number of jobs that are there already."""
    return _IN_REFUSAL in refusal


class SubmitLimit:
    """Knows since when the limit is reached, and which attempts wait for that. One refusal holds for all of them."""

    def __init__(self, retry_s: float) -> None:
        """`retry_s`: so long nothing is submitted after a refusal."""
        self._retry_s = retry_s
        self._reached_at = -math.inf
        self._words = ""
        self._waiting: set[AttemptRef] = set()

    @property
    def is_reached(self) -> bool:
        """Whether a submission would be refused, as far as is known."""
        return time.monotonic() - self._reached_at < self._retry_s

    @property
    def number_waiting(self) -> int:
        """Attempts that wait."""
        return len(self._waiting)

    def reach(self, ref: AttemptRef, refusal: str) -> str:
        """Slurm refused this attempt. Return why it waits, in words."""
        self._reached_at = time.monotonic()
        self._words = (
            "waits for Slurm: you have as many jobs there as your account or quality of service may submit; it is "
            f"tried again every {self._retry_s:g} s ({refusal})"
        )
        return self.wait(ref)

    def wait(self, ref: AttemptRef) -> str:
        """Let an attempt wait without a question. Return why, in words."""
        self._waiting.add(ref)
        return self._words

    def reason(self, ref: AttemptRef) -> str:
        """Why the attempt waits, in words; empty: it does not, or is to be tried again."""
        return self._words if ref in self._waiting and self.is_reached else ""

    def let_go(self, ref: AttemptRef) -> None:
        """The attempt waits no more."""
        self._waiting.discard(ref)
