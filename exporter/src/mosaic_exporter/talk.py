"""What the exporter says to the program that started it: one `ExporterLine` a line on stdout."""

import sys
import time
from collections.abc import Callable

from mosaic_contracts.exports import ExporterLine, ExportPhase, ExportProgress

Progress = Callable[[ExportProgress], None]
_EVERY_S = 0.1
"""Least time between two lines of progress of one phase."""


class ProgressTalk:
    """Reports progress, at most ten times a second, and each new phase."""

    def __init__(self) -> None:
        self._next_s = 0.0
        self._phase: ExportPhase | None = None

    def __call__(self, progress: ExportProgress) -> None:
        """Report how far the export is."""
        is_news = progress.phase is not self._phase or progress.done == progress.total
        if is_news or time.monotonic() >= self._next_s:
            self._phase = progress.phase
            self._next_s = time.monotonic() + _EVERY_S
            say(ExporterLine(progress=progress))


def say(line: ExporterLine) -> None:
    """Write one line."""
    sys.stdout.write(line.model_dump_json(exclude_defaults=True) + "\n")
    sys.stdout.flush()
