"""`archive`, `import`: whole runs as one file, and back."""

import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mosaic_cli import option
from mosaic_cli.errors import ArchiveNotMade, FileProblem, ValueRefused
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client
from mosaic_cli.wording import plural, size
from mosaic_client.errors import ArchiveRefused
from mosaic_contracts.archive_words import ARCHIVE_SUFFIX, COLUMNS, LINES
from mosaic_contracts.checkpoint_words import EXPORT_FACTS
from mosaic_contracts.file_names import name_part

if TYPE_CHECKING:
    from mosaic_client import Client, light
    from mosaic_client.archive.foreign import ForeignRun
    from mosaic_client.archive.writing import ArchiveProgress, WrittenArchive
    from mosaic_contracts.run_archives import FreedRun, GitState, ImportedRun

_KIND_LIMIT = 64
_GIT_TIMEOUT_S = 10.0
_FOREIGN_AT_ONCE = 200
"""Runs of other programs in one archive."""
_HEAD_BYTES = 30
"""Bytes of a zip before the name of its first entry."""


def archive(
    runs: option.Runs,
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

    The file is a zip that any program opens (docs/archive.md). It has its name only when it is complete and was
    compared with its digests. Without --remove the runs stay as they are.
    """
    kinds = _kinds(without)
    with open_client() as client:
        found = [find_run(client, run) for run in runs]
        target = output or Path(_default_name(found))
        if target.is_dir():
            target /= _default_name(found)
        if target.exists():
            raise FileProblem(f"{target} exists. Name another file with --output, or remove it.")
        try:
            with _progress() as progress:
                made = client.archive(
                    [run.run_id for run in found],
                    target,
                    without=kinds,
                    progress=progress,
                    checkout=_checkout(),
                )
        except ArchiveRefused as error:
            raise ArchiveNotMade(str(error)) from error
        except OSError as error:
            raise FileProblem(f"{target} cannot be written ({error.strerror}).") from error
        freed = _remove(client, made) if remove else []
    if json:
        emit({**_shown(made), **({"removed": freed} if remove else {})})
    else:
        _say(made, kinds)
        _say_freed(freed)


def _remove(client: "Client", made: "WrittenArchive") -> "list[FreedRun]":
    """Remove what a complete archive has from the stack."""
    return [
        client.free(run.run_id, made.path.name, made.sha256, [file.path for file in run.files])
        for run in made.runs
    ]


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
    if _is_checkpoint(file):
        raise ValueRefused(
            f"{file} is an exported checkpoint. Import it with `./mosaic checkpoints import {file}`."
        )
    if _is_foreign(file):
        runs = _import_foreign(file)
        if json:
            emit({"runs": runs})
            return
    else:
        with open_client() as client, _sending(file) as progress:
            answer = client.import_archive(file, progress)
        if json:
            emit(answer)
            return
        runs = answer.runs
    _say_imported(runs)


def _is_foreign(path: Path) -> bool:
    from mosaic_cli.foreign.finding import is_foreign

    return is_foreign(path)


def _import_foreign(path: Path) -> "list[ImportedRun]":
    """Import runs of other programs: they are made archives, which take the way of all archives."""
    from mosaic_cli.foreign.finding import find_foreign_runs
    from mosaic_client.archive.foreign import write_foreign_archive

    answers = []
    with (
        open_client() as client,
        tempfile.TemporaryDirectory(prefix="mosaic-import-") as folder,
        _in_words(path),
    ):
        runs = find_foreign_runs(path)
        target = Path(folder) / (name_part(path.absolute().name) or "import")
        for some in _batched(runs, _FOREIGN_AT_ONCE):
            write_foreign_archive(some, target)
            with _sending(target) as progress:
                answers += client.import_archive(target, progress).runs
            target.unlink()
    for remark in dict.fromkeys(remark for run in runs for remark in run.remarks):
        say(remark)
    return answers


def _batched(runs: "list[ForeignRun]", size: int) -> "Iterator[list[ForeignRun]]":
    """The runs in parts."""
    for first in range(0, len(runs), size):
        yield runs[first : first + size]


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    """Say what is wrong with files of another program."""
    from pydantic import ValidationError

    from mosaic_cli.foreign.errors import ForeignInvalid
    from mosaic_contracts.fault import fault_place, fault_text

    try:
        yield
    except ForeignInvalid as error:
        raise ValueRefused(
            f"{error}. Nothing was imported. Move this file away to import the others."
        ) from error
    except ArchiveRefused as error:
        raise ValueRefused(f"{error} Name a folder with fewer.") from error
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        raise ValueRefused(
            f"A run in {path} has a value that no run here can have: {fault_place(fault)} {fault_text(fault)}. "
            "Nothing was imported."
        ) from error
    except OSError as error:
        raise FileProblem(
            f"{error.filename or path} cannot be used ({error.strerror or error}). Nothing was imported."
        ) from error


def _kinds(text: str | None) -> list[str]:
    kinds = [word.strip() for word in (text or "").split(",") if word.strip()]
    if len(kinds) > _KIND_LIMIT:
        raise ValueRefused(f"--without takes {_KIND_LIMIT} kinds at most.")
    return kinds


def _default_name(runs: "list[light.RunFields]") -> str:
    if len(runs) == 1:
        return f"{name_part(runs[0].name) or runs[0].run_id}{ARCHIVE_SUFFIX}"
    return f"mosaic-{datetime.now():%Y%m%d-%H%M%S}{ARCHIVE_SUFFIX}"  # noqa: DTZ005 - the user's own clock


def _checkout() -> "GitState | None":
    """The checkout that this program runs from; None: it was installed, or there is no git."""
    from mosaic_cli.stack.layout import Layout
    from mosaic_contracts.run_archives import GitState

    root = Layout.of_environment().root
    if not (root / ".git").exists():
        return None
    try:
        commit = _git(root, "rev-parse", "HEAD").strip()
        return GitState(commit=commit, dirty=bool(_git(root, "status", "--porcelain").strip()))
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(root), *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=_GIT_TIMEOUT_S,
    )
    return done.stdout


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
def _sending(file: Path) -> Iterator[Callable[[int], None]]:
    from rich.progress import Progress as Bar

    total = file.stat().st_size if file.is_file() else None
    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("Sending", total=total)

        def update(done: int) -> None:
            title = "Comparing digests" if done == total else "Sending"
            bar.update(task, description=title, completed=done)

        yield update


def _is_checkpoint(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        head = opened.read(_HEAD_BYTES + len(EXPORT_FACTS))
    return head[_HEAD_BYTES:] == EXPORT_FACTS.encode()


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
