"""What the exporter says to the program that started it: one JSON object a line on stdout."""

import json
import sys
import time
from typing import Any

_EVERY_S = 0.1
"""Least time between two lines of progress."""


class ProgressTalk:
    """Reports progress, at most ten times a second."""

    def __init__(self) -> None:
        self._next_s = 0.0

    def __call__(self, done: int, total: int | None) -> None:
        """Report that `done` of `total` (None: unknown) are done."""
        if done == total or time.monotonic() >= self._next_s:
            self._next_s = time.monotonic() + _EVERY_S
            say(done=done, total=total)


def say(**fields: Any) -> None:
    """Write one line."""
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()
