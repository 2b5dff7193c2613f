"""`backup`: a copy of the stack's state on this machine, and its way back."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mosaic_cli import option
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.stack.layout import Layout
from mosaic_cli.wording import plural, size

if TYPE_CHECKING:
    from mosaic_contracts.backups import BackupFacts

_SHOWN = 5

BackupFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A backup of `./mosaic backup`.", show_default=False)
]


def backup() -> None:
    """Copy the stack's state to one file, while runs go on; restore it into an empty data root.

    `./mosaic backup FILE` is short for `./mosaic backup create FILE`. docs/backup.md has a drill to follow.
    """


def create_backup(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="File to write; in a folder, a name is made. An older backup is replaced at the end.",
            show_default=False,
        ),
    ],
    with_secrets: Annotated[
        bool,
        typer.Option(
            "--with-secrets",
            help="Include the values of secrets and the gateway's token, in plain text.",
        ),
    ] = False,
    json: option.Json = False,
) -> None:
    """Back up runs, events, files, studies and settings. Runs and services go on meanwhile.

    Values of secrets are left out, and so is what a start makes again: credentials, environments, logs of services.
    """
    from mosaic_cli.backing_up.target import backup_target
    from mosaic_cli.backing_up.writing import write_backup

    layout = Layout.of_environment()
    target = backup_target(file, layout.home)
    with _progress("Backing up") as progress:
        written = write_backup(layout.home, target, with_secrets=with_secrets, progress=progress)
    facts = written.facts
    if json:
        emit({"file": str(target.absolute()), "bytes": written.bytes, **_summary(facts)})
        return
    say(
        f"{target}: {size(written.bytes)}, with {plural(facts.runs, 'run')} and {plural(facts.files, 'file')} "
        f"({size(facts.bytes)})."
    )
    if facts.live:
        say(f"{plural(len(facts.live), 'run')} went on meanwhile.")
    if facts.secrets and not with_secrets:
        say(f"Values of secrets are not in it: {', '.join(facts.secrets)}.")
    if facts.left_out:
        say(f"Left out: {_few(facts.left_out)}.")


def restore_backup(file: BackupFile, json: option.Json = False) -> None:
    """Restore a backup into an empty data root (MOSAIC_HOME): all of it, or nothing.

    Runs that had processes when the backup was made have ended here: the next start says so, and `./mosaic resume`
    goes on from their checkpoints. `./mosaic restore RUN` is another verb: it brings a deleted run back.
    """
    from mosaic_cli.backing_up.restoring import restore_backup as restore_into

    layout = Layout.of_environment()
    with _progress("Restoring") as progress:
        facts = restore_into(layout, file, progress)
    if json:
        emit({"home": str(layout.home), **_summary(facts)})
        return
    say(
        f"{layout.home} has {plural(facts.runs, 'run')} of {facts.host} from {_time(facts)}, with "
        f"{plural(facts.files, 'file')} ({size(facts.bytes)})."
    )
    if facts.live:
        say(
            f"{plural(len(facts.live), 'run')} had processes then; here they have ended. `./mosaic resume RUN` goes on "
            "from a checkpoint where the algorithm takes one."
        )
    if facts.secrets and not facts.with_secrets:
        say(f"Set secrets again with `./mosaic secret set`: {', '.join(facts.secrets)}.")
    say("Start the stack with `./mosaic up -d`.")


def check_backup(file: BackupFile, json: option.Json = False) -> None:
    """Read a backup to its end, compare every digest, and show what is in it. Nothing is restored."""
    from mosaic_base.sealed_zip import SealedZipInvalid
    from mosaic_cli.backing_up.reading import opened_backup, refused

    with _progress("Checking") as progress, opened_backup(file) as found:
        try:
            for count in found.zip.verify():
                progress(count)
        except SealedZipInvalid as error:
            raise refused(file, str(error)) from error
        facts = found.facts
    if json:
        emit(_summary(facts))
        return
    out.print(
        f"A whole backup of {facts.host} from {_time(facts)}, MOSAIC {facts.mosaic}: {plural(facts.runs, 'run')}, "
        f"{plural(facts.files, 'file')} ({size(facts.bytes)}).",
        soft_wrap=True,
    )


def _summary(facts: "BackupFacts") -> dict[str, object]:
    return facts.model_dump(mode="json", exclude={"stored"})


def _time(facts: "BackupFacts") -> str:
    return f"{datetime.fromtimestamp(facts.made_at):%Y-%m-%d %H:%M:%S}"  # noqa: DTZ006 - the user's own clock


def _few(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


@contextmanager
def _progress(what: str) -> Iterator[Callable[[int], None]]:
    from rich.progress import DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda count: bar.advance(task, count)
