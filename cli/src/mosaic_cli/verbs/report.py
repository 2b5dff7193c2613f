"""`report`: runs as one HTML page that opens without a network."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mosaic_cli import option
from mosaic_cli.grouping import find_run_or_group
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.target import open_client
from mosaic_cli.wording import path_line, plural, size
from mosaic_client import light, reading
from mosaic_contracts.file_names import name_part

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.file_jobs import FileJobProgress

_SUFFIX = ".html"


def report(
    runs: option.Runs,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write; an older report there is replaced. Default: a file in the current folder.",
        ),
    ] = None,
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Heading; default: made of the runs.")
    ] = None,
    film: Annotated[
        bool,
        typer.Option(
            "--film",
            help="Rebuild the best episode of the best run and show it. Videos that runs recorded are shown anyway.",
        ),
    ] = False,
    json: option.Json = False,
) -> None:
    """Write runs as one HTML page: results, curves to zoom, differences, configuration, film.

    The page is one file that opens without a network and loads nothing from anywhere. A group or a sweep is reported
    by its runs. Long curves are thinned, and the page says so.
    """
    from mosaic_cli.reporting.writing import ReportOptions, write_report

    with open_client() as client:
        found = _runs(client, runs)
        target = output or Path(_default_name(found))
        if target.is_dir():
            target /= _default_name(found)
        with _progress() as progress:
            made = write_report(client, found, target, ReportOptions(title or "", film), progress)
    if json:
        emit(made)
        return
    out.print(path_line(str(target)), soft_wrap=True, markup=False, highlight=False)
    for note in made.notes:
        say(note)
    say(f"{plural(made.runs, 'run')}, {plural(made.curves, 'curve')}, {size(made.bytes)}.")


def _runs(client: "Client", texts: Sequence[str]) -> list[light.RunFields]:
    found: dict[str, light.RunFields] = {}
    for text in texts:
        one = find_run_or_group(client, text)
        if isinstance(one, light.GroupFields):
            found |= {run_id: reading.run(client, run_id) for run_id in one.run_ids}
        else:
            found[one.run_id] = one
    return list(found.values())


def _default_name(runs: Sequence[light.RunFields]) -> str:
    if len(runs) == 1:
        return f"{name_part(runs[0].name) or runs[0].run_id}{_SUFFIX}"
    return f"mosaic-{len(runs)}-runs-{datetime.now():%Y%m%d-%H%M%S}{_SUFFIX}"  # noqa: DTZ005 - the user's own clock


@contextmanager
def _progress() -> Iterator["Callable[[FileJobProgress], None]"]:
    from rich.progress import Progress as Bar

    from mosaic_contracts.file_jobs import FileJobPhase

    words = {FileJobPhase.RUNS: "Reading runs", FileJobPhase.FILM: "Drawing the best episode"}
    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("Writing the report", total=None)

        def update(now: "FileJobProgress") -> None:
            bar.update(task, description=words[now.phase], completed=now.done, total=now.total)

        yield update
