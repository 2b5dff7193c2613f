"""Does one job by the code of the command line's verbs."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic_cli.errors import ArchiveNotMade, FileProblem
from mosaic_client import reading
from mosaic_client.errors import ArchiveRefused
from mosaic_contracts.compat import UTC
from mosaic_contracts.file_jobs import (
    ArchiveJob,
    ArchiveReport,
    BackupJob,
    BackupReport,
    FileJob,
    FileJobLine,
    FileJobPhase,
    FileJobProgress,
    ImportJob,
    ImportReport,
    PageReport,
    ReportJob,
)

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_client.archive.writing import ArchiveProgress

OnProgress = Callable[[FileJobProgress], None]


def do_job(client: "Client", job: FileJob, on_progress: OnProgress) -> FileJobLine:
    """Do a job and return its report.

    Args:
        client: of the stack.
        job: what is to be done.
        on_progress: called often.

    Raises:
        CliError, ClientError: it cannot be done; the message says why.
        OSError: the file cannot be written.
        KeyboardInterrupt: it was cancelled; nothing is left.
    """
    if isinstance(job, ArchiveJob):
        return FileJobLine(archive=_archive(client, job, on_progress))
    if isinstance(job, ImportJob):
        from mosaic_cli.importing import import_runs

        done = import_runs(client, Path(job.path), on_progress)
        return FileJobLine(imported=ImportReport(runs=done.runs, remarks=done.remarks))
    if isinstance(job, BackupJob):
        return FileJobLine(backup=_back_up(job, on_progress))
    return FileJobLine(page=_report(client, job, on_progress))


def _archive(client: "Client", job: ArchiveJob, on_progress: OnProgress) -> ArchiveReport:
    from mosaic_cli.archiving import free_archived
    from mosaic_cli.checkout import git_checkout

    def report(now: "ArchiveProgress") -> None:
        phase = FileJobPhase(now.phase.value)
        on_progress(FileJobProgress(phase=phase, done=now.done, total=now.total, run_id=now.run_id))

    target = Path(job.target)
    try:
        made = client.archive(
            job.runs, target, without=job.without, progress=report, checkout=git_checkout()
        )
    except ArchiveRefused as error:
        raise ArchiveNotMade(str(error)) from error
    except OSError as error:
        raise FileProblem(f"{target} cannot be written ({error.strerror}).") from error
    return ArchiveReport(
        file=str(made.path),
        bytes=made.bytes,
        sha256=made.sha256,
        runs=len(made.runs),
        left_out=sum(file.kind not in job.without for run in made.runs for file in run.left_out),
        freed=free_archived(client, made) if job.remove else [],
    )


def _report(client: "Client", job: ReportJob, on_progress: OnProgress) -> PageReport:
    from mosaic_cli.reporting.writing import ReportOptions, write_report

    runs = [reading.run(client, run_id) for run_id in job.runs]
    return write_report(client, runs, Path(job.target), ReportOptions(film=job.film), on_progress)


def _back_up(job: BackupJob, on_progress: OnProgress) -> BackupReport:
    from mosaic_cli.backing_up.target import backup_target
    from mosaic_cli.backing_up.writing import write_backup
    from mosaic_cli.stack.layout import Layout

    home = Layout.of_environment().home
    target = backup_target(Path(job.target), home)
    copied = 0

    def report(count: int) -> None:
        nonlocal copied
        copied += count
        on_progress(FileJobProgress(phase=FileJobPhase.COPYING, done=copied))

    written = write_backup(home, target, with_secrets=job.with_secrets, progress=report)
    facts = written.facts
    return BackupReport(
        file=str(target),
        bytes=written.bytes,
        runs=facts.runs,
        files=facts.files,
        made_at=datetime.fromtimestamp(facts.made_at, UTC),
        secrets=[] if facts.with_secrets else facts.secrets,
    )
