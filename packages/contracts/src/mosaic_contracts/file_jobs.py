"""Orders to the command line's job process and what it reports: archives, imports, backups and reports.

The desktop client starts `python -m mosaic_cli.file_jobs`. It reads one `FileJobOrder` as a line of JSON on its
standard input, which stays open: when it is closed, because the job is cancelled or the window has died, the process
removes what it has begun and ends. It writes one `FileJobLine` a line on its standard output: progress, and at the end
a report or a problem.
"""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from mosaic_contracts.archive_words import MAX_ARCHIVED_RUNS
from mosaic_contracts.compat import StrEnum
from mosaic_contracts.exports import StackAddress
from mosaic_contracts.id_fields import RunIdField
from mosaic_contracts.interpreter import python_module
from mosaic_contracts.models import PeerModel, UserModel
from mosaic_contracts.run_archives import FreedRun, ImportedRun

COMMAND_LINE_PYTHON = "MOSAIC_COMMAND_LINE_PYTHON"
"""Environment variable with the interpreter that has the command line."""
FILE_JOB_PATIENCE_S = 10.0
"""Seconds in which a cancelled job removes what it has begun."""
MAX_REPORT_RUNS = 500
"""Runs in one report."""


class ArchiveJob(UserModel):
    """Write ended runs to one archive."""

    kind: Literal["archive"] = "archive"
    runs: Annotated[list[RunIdField], Field(min_length=1, max_length=MAX_ARCHIVED_RUNS)]
    target: str
    """File to write, an absolute path. An existing one is replaced once the new one is complete."""
    without: list[str] = Field(default_factory=list)
    """Kinds of files, and forms of events, to leave out."""
    remove: bool = False
    """Whether what the archive has is removed from the stack afterwards."""


class ImportJob(UserModel):
    """Import an archive, or runs of another program."""

    kind: Literal["import"] = "import"
    path: str
    """File or folder, an absolute path."""


class BackupJob(UserModel):
    """Copy the state of the stack on this machine to one file."""

    kind: Literal["backup"] = "backup"
    target: str
    """File to write, an absolute path."""
    with_secrets: bool = False


class ReportJob(UserModel):
    """Write runs as one HTML page."""

    kind: Literal["report"] = "report"
    runs: Annotated[list[RunIdField], Field(min_length=1, max_length=MAX_REPORT_RUNS)]
    target: str
    film: bool = False
    """Whether the best episode is rebuilt and drawn for the page."""


FileJob = Annotated[
    ArchiveJob | ImportJob | BackupJob | ReportJob,
    Field(discriminator="kind"),
]


class FileJobOrder(UserModel):
    """What is to be done."""

    stack: StackAddress
    job: FileJob


class FileJobPhase(StrEnum):
    """What a job does at the moment."""

    EVENTS = "events"
    """Events are read from the stack; counted in events."""
    LINES = "jsonl"
    COLUMNS = "parquet"
    FILES = "files"
    """Files are copied; counted in bytes."""
    VERIFY = "verify"
    """The archive is read again; counted in bytes."""
    LOOKING = "looking"
    """Runs of other programs are searched for."""
    CONVERTING = "converting"
    """Runs of other programs become an archive."""
    SENDING = "sending"
    """The archive goes to the stack; counted in bytes."""
    CHECKING = "checking"
    """The stack compares the archive with its digests."""
    COPYING = "copying"
    """The stack's files are copied; counted in bytes."""
    RUNS = "runs"
    """Runs are read for a report; counted in runs."""
    FILM = "film"
    """An episode is rebuilt and drawn; counted in steps or frames."""


class FileJobProgress(PeerModel):
    """How far a job is."""

    phase: FileJobPhase
    done: int = 0
    total: int | None = None
    """None: unknown."""
    run_id: str | None = None
    """Run that it concerns; None: all of them."""


class ArchiveReport(PeerModel):
    """A complete archive."""

    file: str
    bytes: int
    sha256: str
    runs: int
    left_out: int = 0
    """Number of files that could not be taken along."""
    freed: list[FreedRun] = Field(default_factory=list)
    """What was removed from the stack."""


class ImportReport(PeerModel):
    """What became of an import."""

    runs: list[ImportedRun]
    remarks: list[str] = Field(default_factory=list)
    """What the user should know, in words."""


class BackupReport(PeerModel):
    """A complete backup."""

    file: str
    bytes: int
    runs: int
    files: int
    made_at: AwareDatetime
    secrets: list[str] = Field(default_factory=list)
    """Names of secrets whose values are not in it."""


class PageReport(PeerModel):
    """A complete report."""

    file: str
    bytes: int
    runs: int
    curves: int
    notes: list[str] = Field(default_factory=list)
    """What was left out or thinned, in words."""


class FileJobLine(PeerModel):
    """One line of the process's output. It has one of these fields."""

    progress: FileJobProgress | None = None
    archive: ArchiveReport | None = None
    imported: ImportReport | None = None
    backup: BackupReport | None = None
    page: PageReport | None = None
    problem: str = ""
    """Why the job cannot be done, in words."""


def file_job_argv(python: str) -> list[str]:
    """Return the command that starts the process.

    Args:
        python: interpreter that has the command line.
    """
    return python_module(python, "mosaic_cli.file_jobs")
