"""`ps`, `show`, `stop`: the runs themselves."""

from itertools import islice
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.exit_code import ExitCode, code_of_state
from mosaic_cli.follow import follow_run
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import NO_RUNS, find_run
from mosaic_cli.stack.layout import Layout
from mosaic_cli.summary import print_summary
from mosaic_cli.wording import STATE_STYLE, age, number, run_duration, steps_text, what
from mosaic_client import connect
from mosaic_contracts.runs import RunView
from mosaic_contracts.states import RunState

SHORTEST_ID = 10
"""A ULID's first ten characters are its time; they seldom meet again."""


def ps(
    state: Annotated[RunState | None, typer.Option(help="Only runs in this state.")] = None,
    limit: option.Limit = 20,
    json: option.Json = False,
) -> None:
    """List runs, newest first."""
    with connect() as client:
        runs = list(islice(client.each_run(state), limit))
    if json:
        emit(runs)
        return
    if not runs:
        say(f"No run is {state}." if state else NO_RUNS)
        return
    out.print(runs_table(runs))
    if len(runs) == limit:
        say(f"The newest {limit}; more with --limit.")


def show(run: option.Run, json: option.Json = False) -> None:
    """Show one run: state and cause, figures, telemetry, where its files lie."""
    with connect() as client:
        view = find_run(client, run)
        if json:
            emit(view)
            return
        artifacts = client.artifacts(view.run_id)
    out.print(Text.assemble((view.name, "bold"), f"  ({view.worker_version or view.spec.worker})"))
    if view.waiting_reason:
        say(f"It waits: {view.waiting_reason}")
    if view.unresponsive:
        say("Its trainer does not move at the moment.")
    for note in view.notes:
        say(f"Note: {note}")
    print_summary(out, view, artifacts, Layout.of_environment().home)
    if view.spec.parameters:
        out.print("\nParameters given:", style="dim")
        for key, value in view.spec.parameters.items():
            out.print(f"  {key} = {value}", markup=False)


def stop(
    run: option.Run,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait for its end.")] = False,
    json: option.Json = False,
) -> None:
    """Ask a run to stop at its next safe point. One that has ended already is left as it is."""
    with connect() as client:
        view = find_run(client, run)
        had_ended = view.state.is_final
        if not had_ended:
            view = client.stop(view.run_id)
        if wait and not had_ended:
            view = follow_run(client, view, err, cursor=None)
    if json:
        emit(view)
    elif had_ended:
        say(f"{view.run_id} had ended already: {view.state}.")
    elif view.state.is_final:
        say(f"{view.run_id} has ended: {view.state}.")
    else:
        say(f"{view.run_id} is asked to stop; it has {view.spec.grace_s:.0f} s for that.")
    if wait and view.state not in (RunState.CANCELLED, RunState.SUCCEEDED):
        raise typer.Exit(code_of_state(view.state) or ExitCode.DONE)


def runs_table(runs: list[RunView]) -> Table:
    """Runs, one a row, with ids as short as they may be typed."""
    table = Table(box=None, pad_edge=False)
    table.add_column("RUN", no_wrap=True)
    table.add_column("WHAT", overflow="ellipsis", no_wrap=True)
    table.add_column("STATE", no_wrap=True)
    for heading in ("STEPS", "BEST", "TOOK", "BEGAN"):
        table.add_column(heading, justify="right", no_wrap=True)
    length = _id_length([run.run_id for run in runs])
    for run in runs:
        table.add_row(
            run.run_id[:length],
            Text(what(run)),
            _state(run),
            steps_text(run),
            number(run.summary.best_return if run.summary else None, 1),
            run_duration(run),
            age(run.created_at),
        )
    return table


def _state(run: RunView) -> Text:
    words = run.state.value
    if run.state is RunState.QUEUED and run.position:
        words += f" ({run.position})"
    if run.unresponsive:
        words += ", unresponsive"
    if run.telemetry_pending:
        words += ", shipping"
    return Text(words, STATE_STYLE[run.state])


def _id_length(ids: list[str]) -> int:
    length = SHORTEST_ID
    while length < 26 and len({run_id[:length] for run_id in ids}) < len(set(ids)):
        length += 1
    return length
