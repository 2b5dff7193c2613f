"""`diff`: what runs differ in."""

from collections.abc import Sequence
from itertools import groupby
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.grouping import find_run_or_group
from mosaic_cli.output import emit, out, say
from mosaic_cli.target import open_stack
from mosaic_cli.wording import one_line, short_ids
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.run_diff import (
    SYSTEM_METRICS,
    DiffRow,
    DiffSide,
    compare_runs,
    value_text,
)
from mosaic_contracts.run_names import distinct_names

_MOST_RUNS = 50
_MOST_CHARS = 40
"""Characters of a value in the table; --json has all of it."""


def diff(
    runs: option.Runs,
    all_rows: Annotated[
        bool,
        typer.Option("--all", "-a", help="Show also what is equal, and metrics of the machine."),
    ] = False,
    json: option.Json = False,
) -> None:
    """Show what runs differ in: parameters, packages, code, hardware, results and final metrics, a column a run.

    A group or a sweep is compared by its runs.
    """
    with open_stack() as stack:
        found = _runs(stack, runs)
        sides = [_side(stack, run) for run in found]
    names = distinct_names(found)
    rows = [row for row in compare_runs(sides) if all_rows or _matters(row)]
    if json:
        columns = [
            {"run_id": run.run_id, "name": name} for run, name in zip(found, names, strict=True)
        ]
        emit({"runs": columns, "rows": [row._asdict() for row in rows]})
        return
    out.print(_table(found, names, rows))
    if not rows:
        say("Nothing that is recorded differs. `--all` shows it.")
    elif not all_rows:
        say("What is equal is left out; `--all` shows it.")


def _matters(row: DiffRow) -> bool:
    return not row.equal and not row.name.startswith(SYSTEM_METRICS)


def _runs(stack: StackConnection, texts: Sequence[str]) -> list[light.RunFields]:
    found: dict[str, light.RunFields] = {}
    for text in texts:
        one = find_run_or_group(stack, text)
        if isinstance(one, light.GroupFields):
            members = {run_id: reading.run(stack, run_id) for run_id in one.run_ids[:_MOST_RUNS]}
            found |= members
        else:
            found[one.run_id] = one
    if len(found) < 2:
        raise ValueRefused("Name at least two runs, or a group: ./mosaic diff RUN RUN.")
    if len(found) > _MOST_RUNS:
        raise ValueRefused(f"{len(found)} runs are more than the {_MOST_RUNS} that are compared.")
    return list(found.values())


def _side(stack: StackConnection, run: light.RunFields) -> DiffSide:
    metrics = {one.name: one.last_value for one in reading.metrics(stack, run.run_id)}
    return DiffSide(run.plain(), reading.config(stack, run.run_id), metrics)


def _table(runs: Sequence[light.RunFields], names: Sequence[str], rows: Sequence[DiffRow]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("", style="dim")
    ids = short_ids([run.run_id for run in runs])
    for name, short in zip(names, ids, strict=True):
        table.add_column(Text(f"{one_line(name)}\n{short}"), overflow="fold")
    for section, members in groupby(rows, key=lambda row: row.section):
        table.add_row(Text(section, "bold"))
        for row in members:
            cells = [Text(_shown(value)) for value in row.values]
            table.add_row(Text(f"  {one_line(row.name)}"), *cells)
    return table


def _shown(value: object) -> str:
    text = "-" if value is None else value_text(value)
    return text if len(text) <= _MOST_CHARS else f"{text[: _MOST_CHARS - 1]}…"
