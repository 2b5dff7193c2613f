"""`archive`, `import`: whole runs as one file, and back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mosaic_cli import option
from mosaic_cli.archiving import free_archived
from mosaic_cli.checkout import git_checkout
from mosaic_cli.errors import ArchiveNotMade, FileProblem, ValueRefused
from mosaic_cli.grouping import find_with_members
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.target import open_client
from mosaic_cli.wording import plural, size
from mosaic_client.errors import ArchiveRefused
from mosaic_contracts.archive_words import ARCHIVE_SUFFIX, COLUMNS, LINES
from mosaic_contracts.file_names import name_part

if TYPE_CHECKING:
    from mosaic_client import Client, light
    from mosaic_client.archive.writing import ArchiveProgress, WrittenArchive
    from mosaic_contracts.file_jobs import FileJobProgress
    from mosaic_contracts.run_archives import FreedRun, ImportedRun

_KIND_LIMIT = 64


def archive(
    runs: option.RunsOrGroups,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write, which must not exist; default: a file in the current folder.",
        ),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(
            metavar="KINDS",
            help="Leave out files of these kinds, comma separated, e.g. video,tensorboard (`artifacts RUN --all` shows "
            f"kinds), and {LINES} or {COLUMNS} for this form of the events.",
        ),
    ] = None,
    remove: Annotated[
        bool,
        typer.Option(
            "--remove",
            help="Afterwards remove from the stack what the file has: checkpoints, videos, other files and steps. The "
            "runs stay in the list with their episodes, curves and logs.",
        ),
    ] = False,
    json: option.Json = False,
) -> None:
    """Write ended runs to one file: spec, events, files, digests. `import` brings them back, here or elsewhere.

    A group gives all its runs, a sweep its own run and those of its trials. The file is a zip that any program opens
    (docs/archive.md). It has its name only when it is complete and was compared with its digests. Without --remove the
    runs stay as they are.
    """
    kinds = _kinds(without)
    with open_client() as client:
        names, found = _named(client, runs)
        target = output or Path(_default_name(names))
        if target.is_dir():
            target /= _default_name(names)
        if target.exists():
            raise FileProblem(f"{target} exists. Name another file with --output, or remove it.")
        try:
            with _progress() as progress:
                made = client.archive(
                    [run.run_id for run in found],
                    target,
                    without=kinds,
                    progress=progress,
                    checkout=git_checkout(),
                )
        except ArchiveRefused as error:
            raise ArchiveNotMade(str(error)) from error
        except OSError as error:
            raise FileProblem(f"{target} cannot be written ({error.strerror}).") from error
        freed = free_archived(client, made) if remove else []
    if json:
        emit({**_shown(made), **({"removed": freed} if remove else {})})
    else:
        _say(made, kinds)
        _say_freed(freed)


def import_file(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="An archive that `archive` wrote, or a folder with runs of TensorBoard, W&B or mlflow.",
            show_default=False,
        ),
    ],
    json: option.Json = False,
) -> None:
    """Bring runs back from an archive, with their ids. Runs that are here already are left as they are.

    All of the file is compared with its digests before anything is changed. A folder with TensorBoard event files,
    offline runs of W&B, or mlflow's `mlruns` or `mlflow.db` gives a run here for each run there (docs/import.md). A
    checkpoint is imported by `checkpoints import`.
    """
    from mosaic_cli.importing import import_runs

    with open_client() as client, _importing() as progress:
        done = import_runs(client, file, progress)
    for remark in done.remarks:
        say(remark)
    if json:
        emit({"runs": done.runs} if done.answer is None else done.answer)
        return
    _say_imported(done.runs)


def _kinds(text: str | None) -> list[str]:
    kinds = [word.strip() for word in (text or "").split(",") if word.strip()]
    if len(kinds) > _KIND_LIMIT:
        raise ValueRefused(f"--without takes {_KIND_LIMIT} kinds at most.")
    return kinds


def _named(client: "Client", texts: list[str]) -> "tuple[list[str], list[light.RunFields]]":
    """Names of what was asked for, and all runs of it, each once."""
    names: list[str] = []
    runs: dict[str, light.RunFields] = {}
    for text in texts:
        name, members = find_with_members(client, text)
        names.append(name_part(name) or members[0].run_id)
        runs |= {run.run_id: run for run in members}
    return names, list(runs.values())


def _default_name(names: list[str]) -> str:
    if len(names) == 1:
        return f"{names[0]}{ARCHIVE_SUFFIX}"
    return f"mosaic-{datetime.now():%Y%m%d-%H%M%S}{ARCHIVE_SUFFIX}"  # noqa: DTZ005 - the user's own clock


@contextmanager
def _progress() -> Iterator["Callable[[ArchiveProgress], None]"]:
    from rich.progress import Progress as Bar

    from mosaic_client.archive.writing import ArchivePhase

    words = {
        ArchivePhase.EVENTS: "Writing events",
        ArchivePhase.FILES: "Copying files",
        ArchivePhase.VERIFY: "Comparing digests",
    }
    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("Archiving", total=None)

        def update(now: "ArchiveProgress") -> None:
            title = (
                words[now.phase] if now.run_id is None else f"{words[now.phase]} of {now.run_id}"
            )
            bar.update(task, description=title, completed=now.done, total=now.total)

        yield update


@contextmanager
def _importing() -> Iterator["Callable[[FileJobProgress], None]"]:
    from rich.progress import Progress as Bar

    from mosaic_contracts.file_jobs import FileJobPhase

    words = {
        FileJobPhase.LOOKING: "Looking for runs",
        FileJobPhase.CONVERTING: "Reading runs",
        FileJobPhase.SENDING: "Sending",
        FileJobPhase.CHECKING: "Comparing digests",
    }
    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("Importing", total=None)

        def update(now: "FileJobProgress") -> None:
            bar.update(task, description=words[now.phase], completed=now.done, total=now.total)

        yield update


def _shown(made: "WrittenArchive") -> dict[str, object]:
    return {
        "file": str(made.path.absolute()),
        "bytes": made.bytes,
        "sha256": made.sha256,
        "runs": made.runs,
    }


def _say(made: "WrittenArchive", kinds: list[str]) -> None:
    for run in made.runs:
        words = f"{run.run_id}: {plural(run.events, 'event')}, {plural(len(run.files), 'file')}"
        left_out = [file for file in run.left_out if file.kind not in kinds]
        out.print(words, soft_wrap=True)
        for file in left_out:
            say(f"  Left out: {file.path} ({file.reason}).")
    unknown = set(kinds) - {LINES, COLUMNS}
    unknown -= {file.kind for run in made.runs for file in run.left_out}
    if unknown:
        say(f"No file of kind {', '.join(sorted(unknown))} was there to be left out.")
    say(f"{made.path}: {size(made.bytes)}, SHA-256 {made.sha256}")
    say(f"Bring it back: ./mosaic import {made.path}")


def _say_freed(freed: "list[FreedRun]") -> None:
    for run in freed:
        say(
            f"{run.run_id}: removed {plural(run.files, 'file')} ({size(run.bytes)}) and {plural(run.steps, 'step')}."
        )
        for words in run.kept:
            say(f"  Some files stay: {words}.")
    until = [run.undo_until for run in freed if run.undo_until is not None]
    if until:
        say(
            f"Files rest in the trash until {min(until).astimezone():%Y-%m-%d %H:%M}; `./mosaic gc --empty-trash` "
            "frees their bytes now."
        )


def _say_imported(runs: "list[ImportedRun]") -> None:
    from mosaic_contracts.run_archives import ImportOutcome

    words = {
        ImportOutcome.IMPORTED: "imported",
        ImportOutcome.RESTORED: "restored",
        ImportOutcome.PRESENT: "here already, nothing was changed",
    }
    for run in runs:
        has = f"{plural(run.events, 'event')}, {plural(run.files, 'file')}"
        out.print(f"{run.run_id}  {run.name}: {words[run.outcome]} ({has})", soft_wrap=True)
    if any(run.outcome is not ImportOutcome.PRESENT for run in runs):
        say("Events are on their way to the store; `./mosaic show RUN` says when all are there.")
