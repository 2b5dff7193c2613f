"""`queue`: what waits, and in which order."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_stack
from mosaic_cli.wording import age, ahead, named, plural, short_ids
from mosaic_client import light, reading


def queue(context: typer.Context, json: option.Json = False) -> None:
    """Manage the runs that wait. Without a verb they are listed."""
    if context.invoked_subcommand is None:
        list_queue(json)


def list_queue(json: option.Json = False) -> None:
    """List the runs that wait, in the order in which they will start."""
    with open_stack() as stack:
        waiting = reading.queue(stack)
        now = stack.now()
    if json:
        emit(waiting)
    elif not waiting:
        say("Nothing waits.")
    else:
        out.print(_table(waiting, now))


def hold(runs: option.Runs, json: option.Json = False) -> None:
    """Hold waiting runs: they do not start until you release them."""
    _change(runs, json, "is held; `./mosaic queue release` lets it start", hold=True)


def release(runs: option.Runs, json: option.Json = False) -> None:
    """Release held runs: they start when it is their turn."""
    _change(runs, json, "may start when it is its turn", hold=False)


def priority(
    run: option.Run,
    value: Annotated[int, typer.Argument(min=-1000, max=1000, help="Higher starts earlier.")],
    json: option.Json = False,
) -> None:
    """Set the priority of a run that waits."""
    _change([run], json, f"has priority {value}", priority=value)


def move(
    run: option.Run,
    before: Annotated[
        str | None, typer.Option("--before", metavar="RUN", help="Right before this waiting run.")
    ] = None,
    after: Annotated[
        str | None, typer.Option("--after", metavar="RUN", help="Right after this waiting run.")
    ] = None,
    json: option.Json = False,
) -> None:
    """Move a waiting run right before or after another one, whose priority it takes over."""
    if (before is None) == (after is None):
        raise ValueRefused("Give either --before RUN or --after RUN.")
    with open_stack() as stack:
        other = find_run(stack, str(before or after)).run_id
    place = {"before": other} if before is not None else {"after": other}
    _change([run], json, f"waits {'before' if before is not None else 'after'} {other}", **place)


def _change(runs: list[str], json: bool, words: str, **changes: Any) -> None:
    with open_stack() as stack:
        ids = [find_run(stack, run).run_id for run in runs]
        views = [reading.move(stack, run_id, **changes) for run_id in ids]
    if json:
        emit(views)
        return
    for view in views:
        place = f" (place {view.position})" if view.position else ""
        say(f"{view.run_id} {words}{place}.")


def _table(waiting: Sequence[light.RunFields], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, caption_justify="left")
    table.add_column("PLACE", justify="right")
    table.add_column("RUN", no_wrap=True)
    table.add_column("WHAT", overflow="ellipsis", no_wrap=True)
    for heading in ("PRIORITY", "CORES", "GPUS", "ASKED", "STARTS"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("WAITS FOR", overflow="fold")
    for run, short in zip(waiting, short_ids([run.run_id for run in waiting]), strict=True):
        table.add_row(
            str(run.position or "-"),
            short,
            Text(named(run)),
            str(run.priority),
            str(run.spec.cpus),
            _gpus(run),
            age(run.created_at, now),
            ahead(run.expected_start_at, now),
            Text("its release (held)", "yellow") if run.held else Text(run.waiting_reason or "-"),
        )
    table.caption = f"{plural(len(waiting), 'run')}, the next one first"
    return table


def _gpus(run: light.RunFields) -> str:
    memory_mb = run.spec.gpu_memory_mb
    return f"{run.spec.gpus}" if memory_mb is None else f"{run.spec.gpus} x {memory_mb:,} MiB"
