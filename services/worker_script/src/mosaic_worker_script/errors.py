"""Errors of this worker."""

from mosaic_workerkit.errors import ReportedError


class CommandRefused(ReportedError):
    """The command line of a run cannot be executed as it is."""


class ScriptUnreadable(ReportedError):
    """A script whose arguments cannot be read."""
