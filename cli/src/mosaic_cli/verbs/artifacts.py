"""`artifacts`, `download`, `link`: the files that a run left, on this machine or elsewhere."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import FileProblem
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import find_run, no_such, parse_duration
from mosaic_cli.target import open_client, open_stack
from mosaic_cli.wording import path_line, size
from mosaic_client import light, reading
from mosaic_client.errors import ArtifactUnknown
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.clips import CLIP_KIND
from mosaic_contracts.manifest_words import FileState, FileType, LinkKind

LINK_FOR = "5m"

File = Annotated[
    str,
    typer.Argument(
        metavar="PATH",
        help="Path of the file in the run's folder; `artifacts` lists the announced ones.",
    ),
]


def artifacts(
    run: option.Run,
    all_files: Annotated[
        bool,
        typer.Option(
            "--all",
            "-a",
            help="All files, with logs and what the run did not announce, and total sizes by kind.",
        ),
    ] = False,
    json: option.Json = False,
) -> None:
    """List the files of a run: checkpoints, videos, TensorBoard; and its page at W&B."""
    with open_stack() as stack:
        run_id = find_run(stack, run).run_id
        if json and not all_files:
            emit(reading.artifacts(stack, run_id))
            return
        manifest = reading.manifest(stack, run_id)
    if json:
        emit(manifest)
        return
    shown = [each for each in manifest.entries if all_files or _is_result(each)]
    if shown:
        out.print(_table(shown))
    else:
        say(f"{run_id} has announced no files.")
    for link in manifest.links:
        out.print(_link_words(link), soft_wrap=True)
    if all_files:
        out.print(_sums(manifest), soft_wrap=True)


def _is_result(entry: light.ManifestEntryFields) -> bool:
    """Whether the run announced it, or it is a video that its worker could not announce before it was killed."""
    return entry.announced or entry.kind == CLIP_KIND


def _table(entries: Sequence[light.ManifestEntryFields]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("PATH", "KIND"):
        table.add_column(heading)
    has_episodes = any(each.episode is not None for each in entries)
    for heading in ("SIZE", "STEP", *(["ENV", "EPISODE"] if has_episodes else [])):
        table.add_column(heading, justify="right")
    for each in entries:
        numbers = (each.step, each.env, each.episode) if has_episodes else (each.step,)
        table.add_row(path_line(each.path), each.kind, _size_words(each), *map(_count, numbers))
    return table


def _size_words(entry: light.ManifestEntryFields) -> str:
    """Size of a file, or what became of it."""
    if not entry.state.is_there:
        return "deleted" if entry.state is FileState.PRUNED else "missing"
    is_measured = entry.type in (FileType.FILE, FileType.FOLDER)
    return size(entry.bytes) if is_measured else entry.type.value


def _link_words(link: light.ManifestLinkFields) -> Text:
    if link.tracked is not None:
        place = link.tracked.get("url") or link.tracked.get("folder") or "no address yet"
        return Text(f"{link.tracked.get('tracker')}: {place}")
    if link.kind is LinkKind.DASHBOARD:
        return Text(f"TensorBoard: run {link.run_id}; `./mosaic tensorboard` prints its address")
    return Text(f"study: {link.path} of {link.run_id}")


def _sums(manifest: light.ManifestFields) -> Text:
    """Number and size of all files, then by kind."""
    files = sum(total.files for total in manifest.totals) + manifest.unlisted_files
    length = sum(total.bytes for total in manifest.totals) + manifest.unlisted_bytes
    kinds = [f"{total.kind} {size(total.bytes)}" for total in manifest.totals if total.files]
    if manifest.unlisted_files:
        kinds.append(f"{manifest.unlisted_files:,} files not listed")
    return Text(f"{files:,} files, {size(length)}: {', '.join(kinds)}")


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
