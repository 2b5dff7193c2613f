"""What the exporter says to the program that started it: one `ExporterLine` a line on stdout."""

from collections.abc import Callable

from mosaic_base.one_order import ProgressRate, report
from mosaic_contracts.exports import ExporterLine, ExportProgress

Progress = Callable[[ExportProgress], None]


class ProgressTalk:
    """Reports progress, at most ten times a second, and each new phase."""

    def __init__(self) -> None:
        self._rate = ProgressRate()

    def __call__(self, progress: ExportProgress) -> None:
        """Report how far the export is."""
        if self._rate.is_due(progress.phase, is_last=progress.done == progress.total):
            say(ExporterLine(progress=progress))


def say(line: ExporterLine) -> None:
    """Write one line."""
    report(line.model_dump_json(exclude_defaults=True))
