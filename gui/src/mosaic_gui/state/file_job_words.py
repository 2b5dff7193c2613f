"""Archives, imports, backups and reports: default names, progress and results in words."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from mosaic_contracts.archive_words import ARCHIVE_SUFFIX
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
)
from mosaic_contracts.file_names import name_part
from mosaic_contracts.run_archives import FreedRun, ImportOutcome
from mosaic_contracts.runs import RunView
from mosaic_gui.state import wording
from mosaic_gui.state.language import tr, tr_n

REPORT_SUFFIX = ".html"
BACKUP_SUFFIX = ".zip"
_BYTES = frozenset(
    {FileJobPhase.FILES, FileJobPhase.VERIFY, FileJobPhase.SENDING, FileJobPhase.COPYING}
)
"""Phases that are counted in bytes."""


def runs_file_name(runs: Sequence[RunView], suffix: str, now: datetime) -> str:
    """A name for a file of runs: of one its name, of a group the group's, of others their number and the time."""
    if len(runs) == 1:
        return f"{name_part(runs[0].name) or runs[0].run_id}{suffix}"
    groups = {run.group.group_id: run.group.name for run in runs if run.group is not None}
    if len(groups) == 1 and all(run.group is not None for run in runs):
        (named,) = groups.values()
        if part := name_part(named):
            return f"{part}{suffix}"
    return f"mosaic-{len(runs)}-runs-{now:%Y%m%d-%H%M%S}{suffix}"


def archive_file_name(runs: Sequence[RunView], now: datetime) -> str:
    """A name for an archive."""
    return runs_file_name(runs, ARCHIVE_SUFFIX, now)


def report_file_name(runs: Sequence[RunView], now: datetime) -> str:
    """A name for a report."""
    return runs_file_name(runs, REPORT_SUFFIX, now)


def backup_file_name(now: datetime) -> str:
    """A name for a backup."""
    return f"mosaic-{now:%Y%m%d-%H%M%S}{BACKUP_SUFFIX}"


def file_of(job: FileJob) -> Path:
    """The file that a job writes, or what it imports."""
    return Path(job.path if isinstance(job, ImportJob) else job.target)


def starting_text(job: FileJob) -> str:
    """What a job does, before it has reported anything."""
    name = file_of(job).name
    if isinstance(job, ArchiveJob):
        return tr("Archiving into {file} …", file=name)
    if isinstance(job, ImportJob):
        return tr("Importing {file} …", file=name)
    if isinstance(job, BackupJob):
        return tr("Backing up into {file} …", file=name)
    return tr("Writing the report {file} …", file=name)


def job_progress_text(progress: FileJobProgress, job: FileJob) -> str:
    """How far a job is."""
    what, name = _phase_words(progress.phase), file_of(job).name
    counted = wording.bytes_text if progress.phase in _BYTES else wording.count
    if progress.total:
        return tr(
            "{file}: {what}, {n} of {total}",
            file=name,
            what=what,
            n=counted(progress.done),
            total=counted(progress.total),
        )
    if progress.done:
        return tr("{file}: {what}, {n}", file=name, what=what, n=counted(progress.done))
    return tr("{file}: {what} …", file=name, what=what)


def job_fraction(progress: FileJobProgress) -> float | None:
    """Progress of the present phase, 0 to 1; None: unknown."""
    return min(1.0, progress.done / progress.total) if progress.total else None


def job_report_text(line: FileJobLine) -> str:
    """What became of a job that has succeeded."""
    if line.archive is not None:
        return _archive_text(line.archive)
    if line.imported is not None:
        return _import_text(line.imported)
    if line.backup is not None:
        return _backup_text(line.backup)
    return "" if line.page is None else _page_text(line.page)


def _phase_words(phase: FileJobPhase) -> str:
    return {
        FileJobPhase.EVENTS: tr("reading events"),
        FileJobPhase.LINES: tr("writing JSON lines"),
        FileJobPhase.COLUMNS: tr("writing Parquet"),
        FileJobPhase.FILES: tr("copying files"),
        FileJobPhase.VERIFY: tr("comparing digests"),
        FileJobPhase.LOOKING: tr("looking for runs"),
        FileJobPhase.CONVERTING: tr("reading runs"),
        FileJobPhase.SENDING: tr("sending"),
        FileJobPhase.CHECKING: tr("the stack compares digests"),
        FileJobPhase.COPYING: tr("copying"),
        FileJobPhase.RUNS: tr("reading runs"),
        FileJobPhase.FILM: tr("drawing the best episode"),
    }[phase]


def _archive_text(made: ArchiveReport) -> str:
    words = [
        tr_n(
            "{file} has {n} run: {size}. Every digest was compared.",
            "{file} has {n} runs: {size}. Every digest was compared.",
            made.runs,
            file=Path(made.file).name,
            size=wording.bytes_text(made.bytes),
        )
    ]
    if made.left_out:
        words.append(
            tr_n(
                "{n} file could not be taken along; archive.json in it says why.",
                "{n} files could not be taken along; archive.json in it says why.",
                made.left_out,
            )
        )
    if made.freed:
        words.append(_freed_text(made.freed))
    return " ".join(words)


def _freed_text(freed: Sequence[FreedRun]) -> str:
    size = wording.bytes_text(sum(run.bytes for run in freed))
    words = tr_n(
        "{n} file ({size}) went to the trash.",
        "{n} files ({size}) went to the trash.",
        sum(run.files for run in freed),
        size=size,
    )
    kept = list(dict.fromkeys(why for run in freed for why in run.kept))
    return " ".join([words, *(tr("Some files stay: {why}.", why=why) for why in kept)])


def _import_text(made: ImportReport) -> str:
    outcomes = [run.outcome for run in made.runs]
    words = []
    if new := outcomes.count(ImportOutcome.IMPORTED):
        words.append(tr_n("{n} run was imported.", "{n} runs were imported.", new))
    if back := outcomes.count(ImportOutcome.RESTORED):
        words.append(tr_n("{n} run was restored.", "{n} runs were restored.", back))
    if here := outcomes.count(ImportOutcome.PRESENT):
        words.append(
            tr_n(
                "{n} run is here already and was left as it is.",
                "{n} runs are here already and were left as they are.",
                here,
            )
        )
    return " ".join([*words, *made.remarks])


def _backup_text(made: BackupReport) -> str:
    words = [
        tr_n(
            "{file} has {n} run and all that belongs to it: {size}.",
            "{file} has {n} runs and all that belongs to them: {size}.",
            made.runs,
            file=Path(made.file).name,
            size=wording.bytes_text(made.bytes),
        )
    ]
    if made.secrets:
        words.append(tr("Values of secrets are not in it: {names}.", names=", ".join(made.secrets)))
    words.append(tr("./mosaic backup restore puts it on an empty machine."))
    return " ".join(words)


def _page_text(made: PageReport) -> str:
    words = tr_n(
        "{file} has {n} run: {size}.",
        "{file} has {n} runs: {size}.",
        made.runs,
        file=Path(made.file).name,
        size=wording.bytes_text(made.bytes),
    )
    return " ".join([words, *made.notes])
