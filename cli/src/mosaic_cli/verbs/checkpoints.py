"""`checkpoints`: what was learned, over all runs."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.checkpoint_names import find_checkpoint, run_with_checkpoints
from mosaic_cli.errors import FileProblem
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client, open_stack
from mosaic_cli.wording import age, number, plural, short_ids, size
from mosaic_client import light, reading
from mosaic_client.call import QueryValue
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.checkpoint_words import CheckpointState
from mosaic_contracts.choices import LAST
from mosaic_contracts.file_names import checkpoint_zip_name

UNKNOWN = "unknown"


class CheckpointOrder(StrEnum):
    """What the list is sorted by (docs/checkpoints.md)."""

    DATE = "date"
    STEP = "step"
    RETURN = "return"


@dataclass(frozen=True)
class CheckpointFilters:
    """Which checkpoints are listed; each may be given several times and then takes any of them."""

    environment: Annotated[
        list[str] | None,
        typer.Option("--environment", "-e", metavar="ID", help="Only of this environment."),
    ] = None
    algorithm: Annotated[
        list[str] | None,
        typer.Option("--algorithm", "-a", metavar="ID", help="Only of this algorithm."),
    ] = None
    worker: Annotated[list[str] | None, typer.Option(metavar="ID", help="Only of this worker.")] = (
        None
    )
    run: Annotated[list[str] | None, typer.Option(metavar="RUN", help="Only of this run.")] = None
    text: Annotated[
        str | None,
        typer.Option("--text", help="Only of runs with this text in name, id, note or a tag."),
    ] = None

    def chosen(self, stack: StackConnection) -> dict[str, QueryValue]:
        """What was given, as a query of the list."""
        found: dict[str, QueryValue | None] = {
            "environment": self.environment,
            "algorithm": self.algorithm,
            "worker": self.worker,
            "run": [find_run(stack, run).run_id for run in self.run or []],
            "text": self.text,
        }
        return {name: value for name, value in found.items() if value}


def checkpoints(
    context: typer.Context,
    filters: CheckpointFilters,
    sort: Annotated[
        CheckpointOrder,
        typer.Option(metavar="KEY", help=f"What to sort by: {', '.join(CheckpointOrder)}."),
    ] = CheckpointOrder.DATE,
    ascending: Annotated[
        bool, typer.Option("--asc", help="Lowest or oldest first; those without a value come last.")
    ] = False,
    limit: option.Limit = 20,
    json: option.Json = False,
) -> None:
    """List checkpoints of all runs, newest first.

    RETURN is the mean of the last 20 episodes before a checkpoint, EVALUATED the mean of an evaluation of exactly this
    file. Play one with `./mosaic play RUN PATH`.
    """
    if context.invoked_subcommand is not None:
        return
    with open_stack() as stack:
        order = "asc" if ascending else "desc"
        page = min(limit + 1, reading.PAGE)  # one more than is shown: are there more?
        chosen = filters.chosen(stack)
        asked = reading.each_checkpoint(stack, page=page, sort=sort.value, order=order, **chosen)
        found = list(islice(asked, min(limit, sys.maxsize - 1) + 1))
        now = stack.now()
    rows = found[:limit]
    if json:
        emit(rows)
    elif not rows:
        say("No checkpoint matches." if chosen else "No run has saved a checkpoint yet.")
    else:
        out.print(_table(rows, now))
        if len(found) > limit:
            say(f"There are more; `--limit {limit * 5}` shows them.")


def verify(
    checkpoint: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN[/PATH]]",
            help="A run, or one of its checkpoints; default: all checkpoints of all runs.",
            show_default=False,
        ),
    ] = None,
    json: option.Json = False,
) -> None:
    """Hash checkpoints again and say which differ from what their runs recorded. Exit code 7 if one does."""
    run, _, path = (checkpoint or "").partition("/")
    with open_stack() as stack:
        if run:
            ids = [find_run(stack, run).run_id]
        else:
            ids = list(dict.fromkeys(row.run_id for row in reading.each_checkpoint(stack)))
        rows = [row for one in ids for row in reading.verify_checkpoints(stack, one, path or None)]
    wrong = [row for row in rows if row.state in (CheckpointState.ALTERED, CheckpointState.MISSING)]
    if json:
        emit(rows)
    else:
        for row in wrong:
            out.print(Text(f"{row.state.value}: {row.run_id}/{row.path}", "red"), soft_wrap=True)
        kept = [row for row in rows if row.state is CheckpointState.PRESENT]
        say(f"{plural(len(kept), 'checkpoint')} as recorded, {len(wrong)} altered or missing.")
    raise typer.Exit(ExitCode.DIFFERENT if wrong else ExitCode.DONE)


def import_checkpoint(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A checkpoint, a zip of `checkpoints export`, or a file of another program.",
            show_default=False,
        ),
    ],
    worker: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Worker that it is for; default: the one that knows the file."
        ),
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            "--algorithm", "-a", metavar="ID", help="Algorithm, where the file does not say it."
        ),
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment", "-e", metavar="ID", help="Environment, where the file does not say it."
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="Display name of the run that has it.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(metavar="TAG", help="Tag of that run; may be repeated.")
    ] = None,
    json: option.Json = False,
) -> None:
    """Import a file as a checkpoint, which then plays, evaluates and trains on like any other.

    The stack makes a run of kind `import` that has it. No code in the file is run. A `.cleanrl_model` or safetensors
    file says neither algorithm nor environment: name both. docs/checkpoints.md lists what is taken.
    """
    with open_client() as client:
        run = client.import_checkpoint(
            file, worker, algorithm, environment, name=name, tags=tag or ()
        )
    if json:
        emit(run)
        return
    spec = run.spec
    out.print(f"{run.run_id}  {spec.worker} {spec.algorithm} {spec.environment}", soft_wrap=True)
    for note in run.notes:
        say(note)
    say(f"Play it: ./mosaic play {run.run_id}. Evaluate it: ./mosaic evaluate {run.run_id}.")


def export_checkpoint(
    checkpoint: Annotated[
        str,
        typer.Argument(
            metavar="RUN[/PATH]",
            help="A run's checkpoint by path, step, `best` or `last`; default: `last`, its newest.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File or folder to write to; default: a file in the current folder.",
        ),
    ] = None,
    json: option.Json = False,
) -> None:
    """Write a checkpoint with its facts to a zip, for `checkpoints import` on another stack."""
    text, _, path = checkpoint.partition("/")
    with open_client() as client:
        run = find_run(client, text)
        run_id = run_with_checkpoints(run)
        wanted = find_checkpoint(client, run, path) if path else None
        target = output or Path()
        if target.is_dir():
            target /= checkpoint_zip_name(run.name, run.run_id, wanted or LAST)
        try:
            written = client.export_checkpoint(run_id, wanted, target)
        except OSError as error:
            raise FileProblem(f"{target} cannot be written ({error.strerror}).") from error
    if json:
        emit({"run_id": run_id, "file": str(target.absolute()), "bytes": written})
    else:
        say(f"{target}: {size(written)}")


def _table(rows: Sequence[light.CheckpointFields], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("RUN", no_wrap=True)
    table.add_column("PATH", overflow="fold")
    table.add_column("WHAT", overflow="fold")
    for heading in ("STEP", "RETURN", "EVALUATED", "SIZE", "SAVED"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    shorts = short_ids([row.run_id for row in rows])
    for row, short in zip(rows, shorts, strict=True):
        table.add_row(
            short,
            Text(row.path),
            Text(f"{row.algorithm} {row.environment}"),
            UNKNOWN if row.step is None else f"{row.step:,}",
            UNKNOWN if row.mean_return_20 is None else number(row.mean_return_20, 1),
            _evaluated(row.evaluation),
            size(row.bytes),
            UNKNOWN if row.t is None else age(datetime.fromtimestamp(row.t, UTC), now),
            _notes(row),
        )
    return table


def _evaluated(evaluation: light.EvaluationFields | None) -> str:
    if evaluation is None:
        return "-"
    error = evaluation.standard_error
    return number(evaluation.mean, 1) + ("" if error is None else f" ± {number(error, 1)}")


def _notes(row: light.CheckpointFields) -> Text:
    if row.state is not CheckpointState.PRESENT:
        return Text(row.state.value, "red")
    return Text(" ".join(mark.value for mark in row.marks), "green")
