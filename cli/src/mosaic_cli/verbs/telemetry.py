"""`events`, `episodes`, `metrics`: what is stored of a run."""

import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import NothingFound
from mosaic_cli.output import emit, emit_line, json_line, out, say
from mosaic_cli.reference import find_run, no_such
from mosaic_cli.sparkline import sparkline
from mosaic_cli.target import open_client, open_stack
from mosaic_cli.wording import number, open_episode_text
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.manifest_words import RUN_FILES
from mosaic_contracts.states import RunState

if TYPE_CHECKING:
    pass

CURVE_ROWS = 12
CURVE_WIDTH = 60
ALL_NAMED = 12
"""So many metrics are named whole when a tag is not among them."""


def events(
    run: option.Run,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run ends.")
    ] = False,
    types: option.Types = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", "-n", min=1, help="Maximum number; default: 100, with -f all."),
    ] = None,
    json: option.JsonLines = False,
) -> None:
    """Print stored events in order; with -f also new ones as they happen."""
    chosen = option.event_types(types)
    with open_stack() as stack:
        run_id = find_run(stack, run).run_id
        stream = _followed(run_id, chosen) if follow else reading.each_event(stack, run_id, chosen)
        bound = limit if limit is not None or follow else 100
        bound = None if bound is None else min(bound, sys.maxsize)
        shown = 0
        for event in islice(stream, bound):
            emit_line(event) if json else out.print(_event_line(event), soft_wrap=True)
            shown += 1
    if not shown:
        say("No such events are stored" + (f" ({types})." if types else " yet."))
    elif limit is None and shown == bound:
        say("The first 100; more with --limit, all with `./mosaic export`.")


def episodes(
    run: option.Run,
    limit: option.Limit = 20,
    all_: Annotated[bool, typer.Option("--all", "-a", help="List all episodes.")] = False,
    oldest: Annotated[
        bool, typer.Option("--oldest", help="List the first episodes instead of the newest.")
    ] = False,
    json: option.Json = False,
) -> None:
    """List episodes with length and return: the newest, in the order in which they began."""
    with open_stack() as stack:
        view = find_run(stack, run)
        bound = sys.maxsize if all_ else limit
        order = "begun" if oldest else "newest"
        rows = list(reading.episodes(stack, view.run_id, order, bound))
    if not oldest:
        rows.reverse()
    if json:
        emit(rows)
        return
    if not rows:
        say(f"{view.run_id} has no episodes stored{_yet(view)}.")
        return
    out.print(_episode_table(rows, view))
    ended = [row.episode_return for row in rows if row.length is not None]
    if ended:
        out.print(f"return {sparkline(ended[-CURVE_WIDTH:])}", style="dim")
    say_how_many(view, len(rows), oldest=oldest)


def say_how_many(view: light.RunFields, shown: int, *, oldest: bool) -> None:
    """Say which part of the episodes was shown, where that is not all."""
    summary = view.summary or light.SummaryFields()
    recorded = max(summary.episodes, shown)
    sample = ""
    if summary.is_sample:
        sample = f" recorded ones, a sample of {summary.episodes_played:,} played"
    if recorded > shown:
        which = "first" if oldest else "last"
        say(
            f"The {which} {shown} of {recorded:,}{sample or ' episodes'}, newest last; "
            "more with --limit, all with --all."
        )
    elif sample:
        say(f"All {recorded:,}{sample}.")


def metrics(
    run: option.Run,
    tag: Annotated[
        str | None, typer.Argument(help="A metric's name; without it all are listed.")
    ] = None,
    buckets: Annotated[int, typer.Option(min=1, help="Number of rows in the table.")] = CURVE_ROWS,
    json: option.Json = False,
) -> None:
    """List a run's metrics, or show the curve of one."""
    with open_stack() as stack:
        view = find_run(stack, run)
        run_id = view.run_id
        if tag is None:
            _list_metrics(stack, view, json)
            return
        names = [metric.name for metric in reading.metrics(stack, run_id)]
        if tag not in names:
            raise _no_metric(view, tag, names)
        if json:
            emit(reading.curve(stack, run_id, tag, buckets))
            return
        wide = reading.curve(stack, run_id, tag, CURVE_WIDTH)
        _print_curve(reading.curve(stack, run_id, tag, buckets), wide)


def _no_metric(view: light.RunFields, tag: str, names: list[str]) -> NothingFound:
    if names:
        listing = "All of them: " + ", ".join(names[:ALL_NAMED]) + "."
        if len(names) > ALL_NAMED:
            listing = f"`./mosaic metrics {view.run_id}` lists all {len(names)}."
        return no_such("metric", tag, names, listing)
    return NothingFound(f"{view.run_id} has no metric stored{_yet(view)}.")


def _yet(view: light.RunFields) -> str:
    if view.state.is_final:
        return ""
    first = view.first_event_at is None
    if view.state is RunState.QUEUED:
        return " yet (the run waits in the queue)"
    return " yet (the run is starting)" if first else f" yet (the run is {view.state})"


def _followed(run_id: str, types: list[str] | None) -> Iterator[dict[str, Any]]:
    from mosaic_client.live import ConnectionLost  # imports the live connection and its models
    from mosaic_contracts.live import Events

    with open_client() as client:
        for item in client.follow(run_id, "", types or ["*"]):
            if isinstance(item, Events):
                yield from item.events
            elif isinstance(item, ConnectionLost):
                say(f"connection lost ({item.reason}); again in {item.retry_in_s:.1f} s")


def _event_line(event: dict[str, Any]) -> str:
    envelope = ("v", "run_id", "attempt", "source", "seq", "t", "type")
    rest = {key: value for key, value in event.items() if key not in envelope}
    if event["type"] == RUN_FILES:  # one entry for each file: `artifacts --all` lists them
        rest = {"files": len(rest["data"].get("files", ()))}
    return f"{event['attempt']}.{event['source']}.{event['seq']:<8} {event['type']:<14} {json_line(rest)}"


def _episode_table(rows: list[light.EpisodeFields], view: light.RunFields) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("EPISODE", "ENV", "LENGTH", "RETURN", "AT STEP", "RECORDED"):
        table.add_column(heading, justify="right")
    table.add_column("END")
    for row in rows:
        table.add_row(
            str(row.episode) if row.attempt == 1 else f"{row.attempt}/{row.episode}",
            str(row.env),
            number(row.length),
            number(row.episode_return),
            number(row.global_step),
            _recorded(row),
            _episode_end(row, view),
        )
    return table


def _recorded(row: light.EpisodeFields) -> str:
    if row.thinned_steps and not row.recorded_steps:
        return "thinned"
    return f"{row.recorded_steps:,}"


def _episode_end(row: light.EpisodeFields, view: light.RunFields) -> str:
    if row.length is None:
        return open_episode_text(has_ended=view.state.is_final)
    return "terminated" if row.terminated else "truncated" if row.truncated else "ended"


def _list_metrics(stack: StackConnection, view: light.RunFields, json: bool) -> None:
    found = reading.metrics(stack, view.run_id)
    if json:
        emit(found)
        return
    if not found:
        raise NothingFound(f"{view.run_id} has no metrics stored{_yet(view)}.")
    table = Table(box=None, pad_edge=False)
    table.add_column("METRIC")
    for heading in ("POINTS", "LAST STEP", "LAST"):
        table.add_column(heading, justify="right")
    for metric in found:
        last_step = "-" if metric.last_step is None else f"{metric.last_step:,}"
        table.add_row(metric.name, f"{metric.points:,}", last_step, number(metric.last_value, 4))
    out.print(table)


def _print_curve(curve: light.CurveFields, wide: light.CurveFields) -> None:
    out.print(Text.assemble((curve.name, "bold"), f"  {curve.points:,} points"))
    out.print(sparkline([_shown(bucket) for bucket in wide.buckets]))
    table = Table(box=None, pad_edge=False)
    has_passes = any(bucket.pass_number for bucket in curve.buckets)
    first = ("PASS",) if has_passes else ()
    for heading in (*first, "STEPS", "POINTS", "MIN", "MEAN", "MAX", "LAST", "NOT FINITE"):
        table.add_column(heading, justify="right")
    for bucket in curve.buckets:
        lost = ", ".join(
            f"{count} {name}" for count, name in ((bucket.nan, "NaN"), (bucket.inf, "Inf")) if count
        )
        table.add_row(
            *((f"{bucket.pass_number + 1}",) if has_passes else ()),
            f"{bucket.step0:,} .. {bucket.step1:,}",
            f"{bucket.n:,}",
            *(number(value, 4) for value in (bucket.min, bucket.mean, bucket.max, bucket.last)),
            lost or "-",
        )
    out.print(table)


def _shown(bucket: light.BucketFields) -> float | None:
    # a bucket with anything that is not a number is marked, for a mean would hide it
    return None if bucket.nan or bucket.mean is None else bucket.mean
