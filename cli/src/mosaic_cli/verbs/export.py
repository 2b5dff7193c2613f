"""`export`: all recorded events of a run as JSON lines or Parquet."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, cast

import typer

from mosaic_cli import option
from mosaic_cli.errors import FileProblem, ValueRefused
from mosaic_cli.output import err, escape_controls, reader_watched, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client
from mosaic_cli.wording import plural
from mosaic_client.errors import ExportRefused

if TYPE_CHECKING:
    from mosaic_client.export.writing import Progress


def export(
    run: option.Run,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="JSON lines, one event a line (the default).")
    ] = False,
    parquet: Annotated[
        bool, typer.Option("--parquet", help="Parquet, a file for each event type; needs --output.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File to write, or new folder for Parquet; default stdout.",
        ),
    ] = None,
    types: option.Types = None,
) -> None:
    """Write all recorded events of a run as JSON lines or Parquet, in bounded memory."""
    if jsonl and parquet:
        raise ValueRefused("Choose either --jsonl or --parquet.")
    if parquet and output is None:
        raise ValueRefused(
            "Parquet is a folder of files: name a new one with --output, e.g. -o run-events."
        )
    chosen = option.event_types(types)
    with open_client() as client:
        view = find_run(client, run)
        total = view.summary.events if view.summary and not chosen else None
        with _progress(total) as progress:
            if output is None:
                from mosaic_client.export.writing import stream_json_lines

                with reader_watched(), _binary_stdout() as file:
                    count = stream_json_lines(
                        lambda cursor: client.batches(view.run_id, cursor, chosen),
                        file,
                        chosen,
                        progress,
                    )
            else:
                try:
                    count = client.export(
                        view.run_id, output, "parquet" if parquet else "jsonl", chosen, progress
                    )
                except ExportRefused as error:
                    raise FileProblem(str(error)) from error
                except OSError as error:
                    raise FileProblem(f"{output} cannot be written ({error.strerror}).") from error
    say(f"{plural(count, 'event')} of {view.run_id} written to {output or 'stdout'}.")


@contextmanager
def _binary_stdout() -> Iterator[BinaryIO]:
    # a file object of its own: with PYTHONUNBUFFERED, stdout's writes less than it is given
    with open(sys.stdout.fileno(), "wb", closefd=False) as file:
        yield cast(BinaryIO, _Escaping(file)) if file.isatty() else file


class _Escaping:
    """Writes JSON to a terminal. JSON itself leaves the control characters U+007F to U+009F as they are."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, text: bytes) -> int:
        """Write bytes in UTF-8, whole characters."""
        return self._file.write(escape_controls(text.decode()).encode())

    def flush(self) -> None:
        """Write out what is buffered."""
        self._file.flush()


@contextmanager
def _progress(total: int | None) -> Iterator["Progress"]:
    from rich.progress import Progress as Bar

    with Bar(console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("Exporting", total=total)
        yield lambda count: bar.update(task, completed=count)
