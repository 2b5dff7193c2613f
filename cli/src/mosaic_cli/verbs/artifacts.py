"""`artifacts`, `download`, `link`: the files that a run left, on this machine or elsewhere."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from mosaic_cli import option
from mosaic_cli.errors import FileProblem
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import find_run, no_such, parse_duration
from mosaic_cli.target import open_client, open_stack
from mosaic_cli.wording import size
from mosaic_client import reading
from mosaic_client.errors import ArtifactUnknown
from mosaic_client.stack_connection import StackConnection

LINK_FOR = "5m"

File = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="Path of the file in the run's folder; `artifacts` lists the announced ones.",
    ),
]


def artifacts(run: option.Run, json: option.Json = False) -> None:
    """List the files that a run announced: checkpoints, videos, TensorBoard."""
    with open_stack() as stack:
        run_id = find_run(stack, run).run_id
        rows = reading.artifacts(stack, run_id)
    if json:
        emit(rows)
        return
    if not rows:
        say(f"{run_id} has announced no files.")
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("PATH", "KIND"):
        table.add_column(heading)
    has_episodes = any(row.episode is not None for row in rows)
    for heading in ("SIZE", "STEP", *(["ENV", "EPISODE"] if has_episodes else [])):
        table.add_column(heading, justify="right")
    for row in rows:
        length = size(row.bytes) if row.exists else "deleted"
        numbers = (row.step, row.env, row.episode) if has_episodes else (row.step,)
        table.add_row(row.path, row.kind, length, *map(_count, numbers))
    out.print(table)


def download(
    run: option.Run,
    path: File,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File or folder to write to; default: the file's own name, in the current folder.",
        ),
    ] = None,
    json: option.Json = False,
) -> None:
    """Fetch a file of a run. An interrupted download resumes where it stopped."""
    target = output or Path()
    if target.is_dir():
        target /= path.rpartition("/")[2]
    with open_client() as client:
        run_id = find_run(client, run).run_id
        _require_plain(client, run_id, path)
        try:
            written = client.download(run_id, path, target)
        except ArtifactUnknown as error:
            raise _unknown(client, run_id, path) from error
        except OSError as error:
            raise FileProblem(f"{target} cannot be written ({error.strerror}).") from error
    if json:
        emit({"run_id": run_id, "path": path, "file": str(target.absolute()), "bytes": written})
    else:
        say(f"{target}: {size(written)}")


def link(
    run: option.Run,
    path: File,
    last: Annotated[
        str, typer.Option("--for", metavar="TIME", help="How long the link works: 45s, 30m, 1h30m.")
    ] = LINK_FOR,
    json: option.Json = False,
) -> None:
    """Print a temporary link to a file, for a browser or a player.

    Anyone who has the link can fetch this file until it expires, and nothing else.
    """
    ttl_s = parse_duration(last)
    with open_client() as client:
        run_id = find_run(client, run).run_id
        _require_plain(client, run_id, path)
        url = client.artifact_link(run_id, path, ttl_s)
    emit({"url": url}) if json else out.print(url, soft_wrap=True)


def _count(number: int | None) -> str:
    return "-" if number is None else f"{number:,}"


def _require_plain(stack: StackConnection, run_id: str, path: str) -> None:
    """Refuse a path out of the run's folder: as part of an address it would name something else."""
    if not {"", ".", ".."}.isdisjoint(path.split("/")):
        raise _unknown(stack, run_id, path)


def _unknown(stack: StackConnection, run_id: str, path: str) -> Exception:
    known = [row.path for row in reading.artifacts(stack, run_id) if row.exists]
    return no_such("file", path, known, f"`./mosaic artifacts {run_id}` lists those it announced.")
