"""Faults that a person can do something about. They are shown as one message, never as a traceback."""

from mosaic_cli.exit_code import ExitCode


class CliError(Exception):
    """An expected fault with its exit code; the message says what to do next."""

    code = ExitCode.USAGE


class ValueRefused(CliError):
    """An argument that cannot be used."""


class RunNotFound(CliError):
    """No run has this id."""

    code = ExitCode.UNKNOWN


class NothingFound(CliError):
    """The run exists, but what was asked of it does not."""

    code = ExitCode.UNKNOWN


class ReplayBroken(CliError):
    """A replay ended without a result, or could rebuild nothing."""

    code = ExitCode.RUN_FAILED


class EvaluationFailed(CliError):
    """An evaluation ended without a result."""

    code = ExitCode.RUN_FAILED


class NothingToWatch(CliError):
    """The run has ended."""

    code = ExitCode.RUN_FAILED


class NoWindow(CliError):
    """No window can be opened here."""

    code = ExitCode.NOT_NOW


class ExportFailed(CliError):
    """The exporter could not make the file; the message says why."""

    code = ExitCode.RUN_FAILED


class AnalysisFailed(CliError):
    """The analysis could not be made; the message says why."""

    code = ExitCode.RUN_FAILED


class NoStack(CliError):
    """No stack is up."""

    code = ExitCode.NO_STACK


class StackStartProblem(CliError):
    """The stack on this machine cannot be started, or does not become ready."""

    code = ExitCode.NOT_NOW


class EnvironmentMissing(StackStartProblem):
    """A room's environment was not made yet."""


class HomeUnusable(StackStartProblem):
    """MOSAIC_HOME cannot be written, or its disk is full."""


class EjabberdMissing(StackStartProblem):
    """This machine has no ejabberd, and somebody wants the stack's XMPP server."""


class SchedulerAway(CliError):
    """The stack's scheduler does not answer, and what is known without it may be old."""

    code = ExitCode.NOT_NOW


class PortTaken(StackStartProblem):
    """Another program listens on a port that was asked for."""


class StackAlreadyUp(StackStartProblem):
    """Another supervisor holds the lock of this data root."""


class StackEnded(StackStartProblem):
    """The stack that somebody else started, and that was waited for, ended before it was ready."""


class StackLockLost(StackStartProblem):
    """The supervisor's lock file was deleted or replaced while its stack was up."""


class EngineMissing(CliError):
    """There is no container engine, or it does not answer."""

    code = ExitCode.NOT_NOW


class ImagePullFailed(CliError):
    """An image cannot be had from its registry; the message says which and why."""

    code = ExitCode.NOT_NOW


class ImageBuildFailed(CliError):
    """The engine could not build an image."""

    code = ExitCode.RUN_FAILED


class ImageMissing(CliError):
    """The engine does not have an image."""

    code = ExitCode.NOT_NOW


class ImageExportFailed(CliError):
    """An image could not be written to a file; the message says why."""

    code = ExitCode.RUN_FAILED


class SifNotMade(CliError):
    """There is no Apptainer here; the archive that it is made from was written."""

    code = ExitCode.NOT_NOW


class ReaderGone(CliError):
    """The program that read stdout has ended, as `head` does when it has enough. No fault: nothing is said."""

    code = ExitCode.DONE


class FileProblem(CliError):
    """A file that was named cannot be written."""


class ArchiveNotMade(CliError):
    """The runs cannot be archived now; the message says why."""

    code = ExitCode.NOT_NOW


class BackupFailed(CliError):
    """A backup cannot be made; nothing of it is left."""

    code = ExitCode.NOT_NOW


class RestoreFailed(CliError):
    """A backup cannot be restored here now; the data root is as it was."""

    code = ExitCode.NOT_NOW


class BackupRefused(CliError):
    """A file is no backup, or was damaged or altered after it was made."""
