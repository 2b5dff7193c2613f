"""`ps`, `show`, `stop`: the runs themselves."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from mosaic_cli import option, stopping
from mosaic_cli.errors import ValueRefused
from mosaic_cli.exit_code import ExitCode, code_of_state
from mosaic_cli.grouping import (
    counts_text,
    find_group,
    find_run_or_group,
    progress_text,
    state_of,
)
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run, no_runs_text
from mosaic_cli.searching import marking, search_of
from mosaic_cli.stack.layout import Layout
from mosaic_cli.summary import print_summary
from mosaic_cli.target import open_client, open_stack
from mosaic_cli.wording import (
    SAMPLE_NOTE,
    STALE_NOTE,
    STATE_STYLE,
    age,
    best_text,
    number,
    one_line,
    plural,
    run_duration,
    short_ids,
    state_words,
    steps_text,
)
from mosaic_client import light, reading
from mosaic_client.call import QueryValue
from mosaic_client.errors import StackUnavailable
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.choices import RunKind
from mosaic_contracts.group_words import GroupKind
from mosaic_contracts.run_names import distinct_names
from mosaic_contracts.states import RunState
from mosaic_contracts.tracking_words import TRACKING_RUN, TRACKING_UPLOAD

if TYPE_CHECKING:
    from mosaic_cli.wording import AnyRun

_NO_MATCH = "No run matches. `./mosaic ps` lists all; `--deleted` those that were deleted."
_MOST_BRANCHES = 20
"""Branches that `show` lists."""


class SortKey(StrEnum):
    """What the list is sorted by (docs/interfaces.md)."""

    CREATED = "created"
    STARTED = "started"
    ENDED = "ended"
    NAME = "name"
    STEPS = "steps"
    EPISODES = "episodes"
    LAST_RETURN = "last_return"
    BEST_RETURN = "best_return"
    MEAN_RETURN = "mean_return"


@dataclass(frozen=True)
class Filters:
    """Which runs are listed; each may be given several times and then takes any of them, tags all."""

    state: Annotated[
        list[RunState] | None,
        typer.Option(
            "--state",
            "-s",
            metavar="STATE",
            help=f"Only runs in this state: {', '.join(RunState)}.",
        ),
    ] = None
    worker: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Only runs of this worker."),
    ] = None
    algorithm: Annotated[
        list[str] | None,
        typer.Option("--algorithm", "-a", metavar="ID", help="Only runs with this algorithm."),
    ] = None
    environment: Annotated[
        list[str] | None,
        typer.Option("--environment", "-e", metavar="ID", help="Only runs in this environment."),
    ] = None
    kind: Annotated[
        list[RunKind] | None,
        typer.Option(metavar="KIND", help=f"Only runs of this kind: {', '.join(RunKind)}."),
    ] = None
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", metavar="TAG", help="Only runs with this tag."),
    ] = None
    text: Annotated[
        str | None,
        typer.Option("--text", help="Only runs with this text in name, id, note or a tag."),
    ] = None
    parent: Annotated[
        str | None, typer.Option(metavar="RUN", help="Only runs made from this run.")
    ] = None
    trials: Annotated[
        bool, typer.Option("--trials", help="List the runs of trials of sweeps, too.")
    ] = False
    group: Annotated[
        str | None,
        typer.Option(
            metavar="GROUP",
            help="Only runs of this group or sweep: id, beginning of it, name, or `last`.",
        ),
    ] = None
    flat: Annotated[bool, typer.Option("--flat", help="List the runs of groups one by one.")] = (
        False
    )
    deleted: Annotated[
        bool, typer.Option("--deleted", help="List deleted runs instead of the others.")
    ] = False

    def chosen(self, stack: StackConnection) -> dict[str, QueryValue]:
        """What was given, as a query of the run list."""
        found: dict[str, QueryValue | None] = {
            "state": [state.value for state in self.state or []],
            "worker": self.worker,
            "algorithm": self.algorithm,
            "environment": self.environment,
            "kind": [kind.value for kind in self.kind or []],
            "tag": self.tag,
            "text": self.text,
            "parent": find_run(stack, self.parent).run_id if self.parent else None,
            "group": find_group(stack, self.group).group_id if self.group else None,
            "deleted": self.deleted,
        }
        return {name: value for name, value in found.items() if value}

    @property
    def hides_trials(self) -> bool:
        """Whether runs of trials are left out: there are many of them, and their sweep is listed."""
        return not self.trials and self.parent is None and self.group is None


def ps(
    filters: Filters,
    search: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SEARCH]...",
            help="Terms that the runs must fulfil, e.g. 'lr>=1e-3 best>400 state:failed -tag:old' "
            "(quote them; docs/search.md lists the words).",
            show_default=False,
        ),
    ] = None,
    sort: Annotated[
        SortKey, typer.Option(metavar="KEY", help=f"What to sort by: {', '.join(SortKey)}.")
    ] = SortKey.CREATED,
    ascending: Annotated[
        bool,
        typer.Option("--asc", help="Smallest or oldest first; runs without a value come last."),
    ] = False,
    limit: option.Limit = 20,
    json: option.Json = False,
) -> None:
    """List runs, newest first. A filter with several values matches any of them; tags must all match."""
    text = search_of(search)
    with open_stack() as stack, marking(text):
        chosen = filters.chosen(stack)
        if text:
            chosen["q"] = text
        order = "asc" if ascending else "desc"
        page = min(limit + 1, reading.PAGE)  # one more than is shown: are there more?
        shown = {**chosen, "trials": False} if filters.hides_trials else chosen
        # who looks for runs, sorts them or reads JSON gets runs; else a group is one row
        folds = not (chosen or filters.flat or json or ascending) and sort is SortKey.CREATED
        groups = _groups(stack, limit) if folds else []
        if groups:
            shown["members"] = False
        asked = reading.each_run(stack, page=page, sort=sort.value, order=order, **shown)
        found = list(islice(asked, min(limit, sys.maxsize - 1) + 1))
        now = stack.now()
    runs = found[:limit]
    if json:
        emit(runs)
        return
    if groups:
        rows = _newest([*found, *groups])
        out.print(runs_table(rows[:limit], now))
        _say_more(len(rows), limit, [row for row in rows if isinstance(row, light.RunFields)])
        say("A group is one row; `--group GROUP` lists its runs, `--flat` those of all groups.")
        return
    if not runs:
        say(_NO_MATCH if chosen else no_runs_text())
        return
    out.print(runs_table(runs, now))
    if common := _in_common(runs):
        say(common)
    _say_more(len(found), limit, runs)
    if filters.hides_trials and any(run.spec.kind == RunKind.SWEEP for run in runs):
        say("Runs of trials are left out; `--trials` or `--parent SWEEP` lists them.")


def _say_more(found: int, limit: int, runs: Sequence[light.RunFields]) -> None:
    if any(run.summary and run.summary.is_sample for run in runs):
        say(SAMPLE_NOTE)
    if any(run.stale for run in runs):
        say(STALE_NOTE)
    if found > limit:
        say(f"The first {limit}; more with --limit.")


def _groups(stack: StackConnection, limit: int) -> list[light.GroupFields]:
    """The newest groups; a sweep is a run of the list already. None while the scheduler does not answer."""
    groups = (one for one in reading.each_group(stack) if one.kind is GroupKind.GROUP)
    try:
        return list(islice(groups, min(limit, sys.maxsize - 1) + 1))
    except StackUnavailable:  # the list itself says that it may be old
        return []


def _newest(
    rows: "Sequence[light.RunFields | light.GroupFields]",
) -> "list[light.RunFields | light.GroupFields]":
    """Runs and groups, newest first, by the ULIDs in their ids."""
    return sorted(rows, key=lambda row: _id_of(row).removeprefix("g"), reverse=True)


def _id_of(row: "AnyRun | light.GroupFields") -> str:
    return row.group_id if isinstance(row, light.GroupFields) else row.run_id


def show(run: option.Run, json: option.Json = False) -> None:
    """Show one run: state and cause, figures, telemetry, where its files lie."""
    with open_stack() as stack:
        view = find_run(stack, run)
        if json:
            emit(view)
            return
        artifacts = reading.artifacts(stack, view.run_id)
        children = reading.each_run(stack, parent=view.run_id)
        branches = list(islice((each for each in children if each.spec.start_from), _MOST_BRANCHES))
        tracking = _tracking(stack, view)
        code = _code(stack, view)
    out.print(
        Text.assemble(
            (one_line(view.name), "bold"), f"  ({view.worker_version or view.spec.worker})"
        )
    )
    if view.waiting_reason and view.state is RunState.QUEUED:
        say(f"It waits: {view.waiting_reason}")
    if view.unresponsive:
        say("Its trainer does not move at the moment.")
    if view.deleted_at:
        say(f"It is deleted; `./mosaic restore {view.run_id}` brings it back.")
    for alert in view.alerts:
        out.print(
            Text.assemble(("Alert: ", "red"), one_line(f"{alert.rule}: {alert.message}")),
            soft_wrap=True,
        )
    for note in view.notes:
        say(f"Note: {note}")
    print_summary(out, view, artifacts, Layout.of_environment().home)
    beside = (
        ("code", code),
        ("node", view.node),
        ("image", view.image),
        ("tags", ", ".join(view.tags)),
        ("note", view.note),
    )
    for name, value in (*beside, *tracking, *_tree(view, branches)):
        if value:
            out.print(Text.assemble((f"{name:<12} ", "dim"), value), soft_wrap=True)
    if view.spec.parent:
        out.print(Text.assemble((f"{'made from':<12} ", "dim"), view.spec.parent))
    if view.spec.parameters:
        out.print("\nParameters given:", style="dim")
        for key, given in view.spec.parameters.items():
            out.print(f"  {key} = {given}")


def _code(stack: StackConnection, run: light.RunFields) -> str:
    """The commit that a run had, and where the changes since are."""
    if run.summary is None:
        return ""
    events = reading.each_event(stack, run.run_id, ["config"])
    configs = (event["data"] for event in events if event["type"] == "config")
    config: Mapping[str, Any] = next(configs, {})
    git, installed = config.get("git"), config.get("installed")
    words = []
    if isinstance(git, Mapping) and git.get("commit"):
        changes = " and changes" if git.get("dirty") else ""
        words.append(f"commit {str(git['commit'])[:12]}{changes}")
    if isinstance(installed, Mapping):
        words.append(f"{len(installed)} packages")
    kept = " (source/ in its folder)" if config.get("script_file") else ""
    return one_line(", ".join(words) + kept) if words or kept else ""


def _tracking(stack: StackConnection, run: light.RunFields) -> list[tuple[str, str]]:
    """Where a tracked run is at its tracker, and what has become of its upload."""
    if not run.spec.parameters:
        return []  # tracking is asked for by a parameter
    place, upload = dict[str, Any](), dict[str, Any]()
    for event in reading.each_event(stack, run.run_id, [TRACKING_RUN, TRACKING_UPLOAD]):
        if event["type"] == TRACKING_RUN:
            place = event["data"]
        elif event["type"] == TRACKING_UPLOAD:
            upload = event["data"]
    where, state, error = (
        place.get("url") or place.get("folder"),
        upload.get("state"),
        upload.get("error"),
    )
    rows = ((place.get("tracker"), where), ("upload", f"{state} ({error})" if error else state))
    return [(one_line(str(name)), one_line(str(value))) for name, value in rows if value]


def _tree(run: light.RunFields, branches: Sequence[light.RunFields]) -> list[tuple[str, str]]:
    """Where a run goes on from another one's episode, and which runs go on from its own."""
    found = []
    if run.spec.start_from is not None:
        found.append(("begins at", _place(run.spec.start_from, with_run=True)))
    for place, branch in enumerate(branches):
        point = branch.spec.start_from
        words = "" if point is None else _place(point, with_run=False)
        found.append(("" if place else "branches", f"{branch.run_id}  {words}"))
    return found


def _place(point: light.StartFields, *, with_run: bool) -> str:
    env = f" of environment {point.env}" if point.env else ""
    run = f" of {point.run_id}" if with_run else ""
    actor = "" if point.actor is None else f" ({point.actor})"
    return f"step {point.step}, episode {point.episode}{env}{run}{actor}"


def stop(
    run: option.OneRun = None,
    all_: Annotated[
        bool, typer.Option("--all", help="Stop all runs, waiting ones included.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Wait until it has ended.")] = False,
    json: option.Json = False,
) -> None:
    """Ask a run, or all runs of a group, to stop at the next safe point. What has ended is not changed.

    With --all every run of the stack is stopped and waited for; exit code 6 when one did not end in time.
    """
    if (run is None) != all_:
        raise ValueRefused("Name a run, or give --all.")
    if run is None:
        _stop_all(json)
        return
    with open_stack() as stack:
        view = find_run_or_group(stack, run)
        if isinstance(view, light.GroupFields):
            _stop_group(stack, view, wait, json)
            return
        had_ended = view.state.is_final
        if not had_ended:
            view = reading.stop(stack, view.run_id)
        if wait and not had_ended:
            _wait_for(view.run_id)
            view = reading.run(stack, view.run_id)
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


def _stop_group(stack: StackConnection, group: light.GroupFields, wait: bool, json: bool) -> None:
    live = group.live
    if live:
        group = reading.stop_group(stack, group.group_id)
    if wait and live:
        mine = set(group.run_ids)
        left = stopping.stop_all(
            stack, [run for run in stopping.live_runs(stack) if run.run_id in mine]
        )
        group = reading.group(stack, group.group_id)
        if left:
            raise typer.Exit(ExitCode.NOT_NOW)
    if json:
        emit(group)
    elif live:
        say(
            f"{plural(live, 'run')} of {group.group_id} {'are' if live > 1 else 'is'} asked to stop."
        )
    else:
        say(f"{group.group_id} had ended already: {counts_text(group)}.")


def _stop_all(json: bool) -> None:
    with open_stack() as stack:
        live = stopping.live_runs(stack)
        left = [run.run_id for run in stopping.stop_all(stack, live)] if live else []
    stopped = [run.run_id for run in live if run.run_id not in left]
    if json:
        emit({"stopped_runs": stopped, "live_runs": left})
    else:
        say(stopping.stop_message(stopped, left))
    if left:
        raise typer.Exit(ExitCode.NOT_NOW)


def _wait_for(run_id: str) -> None:
    from mosaic_cli.follow import (
        follow_run,  # imports the live connection and the contract's models
    )

    with open_client() as client:
        follow_run(client, client.run(run_id), err, cursor=None)


def runs_table(rows: "Sequence[AnyRun | light.GroupFields]", now: datetime) -> Table:
    """Runs and groups, one a row, with ids as short as they may be typed."""
    table = Table(box=None, pad_edge=False)
    table.add_column("RUN", no_wrap=True)
    table.add_column("WHAT", overflow="ellipsis", no_wrap=True)
    table.add_column("STATE", no_wrap=True)
    for heading in ("STEPS", "BEST", "TOOK", "BEGAN"):
        table.add_column(heading, justify="right", no_wrap=True)
    runs = [row for row in rows if not isinstance(row, light.GroupFields)]
    tagged = any(run.tags for run in runs)
    if tagged:
        table.add_column("TAGS", overflow="ellipsis", no_wrap=True)
    named = dict(zip([run.run_id for run in runs], distinct_names(runs), strict=True))
    ids = short_ids([_id_of(row) for row in rows])
    for row, short in zip(rows, ids, strict=True):
        if isinstance(row, light.GroupFields):
            table.add_row(short, *_group_cells(row, now))
            continue
        table.add_row(
            short,
            Text(one_line(named[row.run_id])),
            _state(row),
            steps_text(row),
            best_text(row),
            run_duration(row),
            age(row.created_at, now),
            *([Text(", ".join(row.tags))] if tagged else []),
        )
    return table


def _group_cells(group: light.GroupFields, now: datetime) -> list[Text | str]:
    state = state_of(group)
    words = f"{state.value} {progress_text(group)}"
    best = number(group.best_return, 1)
    return [
        Text(f"group {one_line(group.name)}"),
        Text(words, STATE_STYLE[state]),
        "",
        best,
        "",
        age(group.created_at, now),
    ]


def _in_common(runs: Sequence["AnyRun"]) -> str:
    """What is left out of the names because it is the same in all runs."""
    environments = {run.spec.environment for run in runs}
    if len(runs) < 2 or len(environments) > 1:
        return ""
    return f"All in {one_line(environments.pop())}."


def _state(run: "AnyRun") -> Text:
    words = state_words(run)
    if run.state is RunState.QUEUED and run.position:
        words += f" ({run.position})"
    if run.held and not run.state.is_final:
        words += ", held"
    if run.unresponsive:
        words += ", unresponsive"
    if run.alerts:
        words += f", {plural(len(run.alerts), 'alert')}"
    if run.telemetry_pending:
        words += ", shipping"
    return Text(words, STATE_STYLE[run.state])
