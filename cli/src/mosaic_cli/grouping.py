"""Groups of runs in the terminal: their plan, their progress, and what a person types for one."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from rich.text import Text

from mosaic_cli.errors import RunNotFound, ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import Among, find_run, nearest_hint
from mosaic_cli.wording import STATE_STYLE, number, one_line, plural
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.choices import RUN_ID_PATTERN, RunKind
from mosaic_contracts.group_words import GroupKind
from mosaic_contracts.states import RunState

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.groups import GroupPlan, GroupView

    AnyGroup = GroupView | light.GroupFields

_LOOK_S = 1.0
_SHOWN_NAMES = 12
LAST = "last"
_WORDS = {
    RunState.SUCCEEDED: "done",
    RunState.RUNNING: "running",
    RunState.QUEUED: "waiting",
    RunState.STARTING: "starting",
    RunState.STOPPING: "stopping",
    RunState.CANCELLED: "stopped",
    RunState.FAILED: "failed",
    RunState.CRASHED: "crashed",
    RunState.TIMED_OUT: "timed out",
    RunState.INTERRUPTED: "interrupted",
}


def is_group_id(text: str) -> bool:
    """Whether a text is the beginning of the id of a group."""
    return text[:1] in ("g", "G") and text[1:2].isdecimal()


def find_group(stack: StackConnection, text: str) -> light.GroupFields:
    """The group that an id, an unambiguous beginning of one, a whole name, or `last` means; also a sweep.

    Raises:
        RunNotFound: there is none.
        ValueRefused: several begin so.
    """
    groups = reading.each_group(stack)
    if text.lower() == LAST:
        newest = next(groups, None)
        if newest is None:
            raise RunNotFound("No groups yet. Try: ./mosaic run cleanrl ppo CartPole-v1 --seed 1-3")
        return newest
    if (whole := _whole_id(text)) is not None:
        return reading.group(stack, whole)
    names = {one.group_id: one for one in groups}
    found = _alike(text, {group_id: one.name for group_id, one in names.items()})
    if not found:
        raise RunNotFound(f"There is no group {text!r}. `./mosaic ps` lists groups and runs.")
    return names[_only(text, found)]


def find_deleted(stack: StackConnection, text: str) -> light.RunFields | light.GroupFields:
    """The deleted run that a text means or, where there is none, the group with deleted runs.

    Raises:
        RunNotFound: there is neither.
        ValueRefused: several begin so.
    """
    if (whole := _whole_id(text)) is not None:
        return reading.group(stack, whole)
    not_found: RunNotFound | None = None
    if not is_group_id(text):
        try:
            return find_run(stack, text, Among.DELETED)
        except RunNotFound as error:
            not_found = error
    places = [run.group for run in reading.each_run(stack, deleted=True)]
    found = _alike(text, {place.group_id: place.name for place in places if place is not None})
    if found:
        return reading.group(stack, _only(text, found))
    raise not_found or RunNotFound(
        f"No deleted run is of a group {text!r}. `./mosaic ps --deleted` lists deleted runs."
    )


def _whole_id(text: str) -> str | None:
    """The id of a group that a text is; None: it is none, or the beginning of one."""
    run_id = text[1:].upper()
    return f"g{run_id}" if is_group_id(text) and re.fullmatch(RUN_ID_PATTERN, run_id) else None


def _alike(text: str, names: Mapping[str, str]) -> list[str]:
    """Ids of groups that begin so, or have this name."""
    prefix = f"g{text[1:].upper()}" if is_group_id(text) else text
    return [
        group_id for group_id, name in names.items() if group_id.startswith(prefix) or name == text
    ]


def _only(text: str, ids: Sequence[str]) -> str:
    """The only one of these ids. Raises ValueRefused: there are several."""
    if len(ids) > 1:
        some = ", ".join(ids[:5])
        raise ValueRefused(f"{len(ids)} groups are like {text!r}: {some}. Give more characters.")
    return ids[0]


def find_run_or_group(stack: StackConnection, text: str) -> light.RunFields | light.GroupFields:
    """The run that a text means or, where there is none, the group.

    Raises:
        RunNotFound: there is neither.
        ValueRefused: several begin so.
    """
    if is_group_id(text):
        return find_group(stack, text)
    try:
        return find_run(stack, text)
    except RunNotFound as not_found:
        for group in reading.each_group(stack):
            if group.name == text:
                return group
        raise not_found


def find_with_members(stack: StackConnection, text: str) -> tuple[str, list[light.RunFields]]:
    """The name and all runs of what a text means: of a group its runs, of a sweep its run and those of its trials.

    Raises:
        RunNotFound: there is no such run or group, or it has no runs that are not deleted.
        ValueRefused: several begin so.
    """
    found = find_run_or_group(stack, text)
    if isinstance(found, light.RunFields):
        trials = found.spec.kind is RunKind.SWEEP
        members = reading.each_run(stack, group=found.run_id) if trials else ()
        return found.name, [found, *members]
    members = reading.each_run(stack, group=found.group_id)
    if found.kind is GroupKind.SWEEP:
        return found.name, [reading.run(stack, found.group_id), *members]
    runs = list(members)
    if not runs:
        raise RunNotFound(
            f"All runs of {one_line(found.name)} are deleted. `./mosaic restore {found.group_id}` brings them back."
        )
    return found.name, runs


def print_plan(plan: "GroupPlan") -> None:
    """How many runs, how long about, and what they are called.

    Raises:
        ValueRefused: they cannot be started.
    """
    if not plan.ok:
        words = [
            f"{one.where}: {one.message}{nearest_hint(one.nearest, one.message)}"
            for one in plan.findings
        ]
        raise ValueRefused("These runs cannot be started; none was.\n  " + "\n  ".join(words))
    say(f"{one_line(plan.name)}: {plan_text(plan)}.")


def print_names(plan: "GroupPlan") -> None:
    """What sets each run of a plan apart."""
    for name in plan.names[:_SHOWN_NAMES]:
        out.print(f"  {name}", highlight=False)
    if len(plan.names) > _SHOWN_NAMES:
        out.print(f"  and {len(plan.names) - _SHOWN_NAMES:,} more", style="dim")


def plan_text(plan: "GroupPlan") -> str:
    """`15 runs, about 9 min`."""
    if plan.expected_s is None:
        return f"{plural(plan.runs, 'run')}; how long they take is known after the first"
    return f"{plural(plan.runs, 'run')}, about {rough_duration(plan.expected_s)}"


def rough_duration(seconds: float) -> str:
    """`40 s`, `9 min`, `3 h`, `2 days`."""
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 1.5 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{max(seconds, 1):.0f} s"


def progress_text(group: "AnyGroup") -> str:
    """`3/5, 1 failed, 1 stopped`."""
    words = [f"{group.done:,}/{group.total:,}" if group.total else f"{group.done:,}"]
    if group.failed:
        words.append(f"{group.failed:,} failed")
    if group.stopped:
        words.append(f"{group.stopped:,} stopped")
    return ", ".join(words)


def state_of(group: "AnyGroup") -> RunState:
    """The state of a group as a whole."""
    counts = group.counts
    for state in (RunState.RUNNING, RunState.STARTING, RunState.STOPPING, RunState.QUEUED):
        if counts.get(state):
            return state
    for state in (RunState.CRASHED, RunState.FAILED, RunState.TIMED_OUT, RunState.INTERRUPTED):
        if counts.get(state):
            return state
    return RunState.CANCELLED if counts.get(RunState.CANCELLED) else RunState.SUCCEEDED


def counts_text(group: "AnyGroup") -> str:
    """`3 done, 1 failed, 1 running`."""
    order = list(_WORDS)
    counts = sorted(group.counts.items(), key=lambda one: order.index(one[0]))
    return ", ".join(f"{count:,} {_WORDS[state]}" for state, count in counts) or "no run"


def follow_group(client: "Client", group: "GroupView", json: bool) -> NoReturn:
    """Show each run of a group as it ends.

    Raises:
        typer.Exit: at the end of the group, 0 if all of its runs succeeded.
    """
    group_id = group.group_id
    say(f"Group {group_id} ({one_line(group.name)}). Ctrl-C detaches from it.")
    shown: set[str] = set()
    try:
        while True:
            for line in _ended(client, group, shown):
                err.print(line, highlight=False, soft_wrap=True)
            if not group.live:
                break
            time.sleep(_LOOK_S)
            group = client.group(group_id)
    except KeyboardInterrupt:
        say(
            f"\nDetached; the group goes on.\n  ./mosaic ps --group {group_id}   how it is\n"
            f"  ./mosaic stop {group_id}   stop it"
        )
        raise typer.Exit(ExitCode.DONE) from None
    if json:
        emit(group)
    else:
        best = "" if group.best_return is None else f"; best return {number(group.best_return)}"
        out.print(f"{counts_text(group)}{best}", highlight=False)
        if group.failed:
            say(f"`./mosaic retry {group_id}` starts again what failed.")
    raise typer.Exit(ExitCode.RUN_FAILED if group.failed or group.stopped else ExitCode.DONE)


def _ended(client: "Client", group: "GroupView", shown: set[str]) -> Iterator[Text]:
    """A line for each run that has ended since the last look."""
    from mosaic_contracts.run_names import distinct_names

    if len(shown) == sum(
        state.is_final for state in group.counts for _ in range(group.counts[state])
    ):
        return
    runs = list(client.each_run(group=group.group_id))
    names: dict[str, Any] = dict(
        zip([run.run_id for run in runs], distinct_names(runs), strict=True)
    )
    for run in reversed(runs):
        if run.state.is_final and run.run_id in group.run_ids and run.run_id not in shown:
            shown.add(run.run_id)
            best = number(run.summary.best_return) if run.summary else "-"
            state = Text(run.state.value, STATE_STYLE[run.state])
            yield Text.assemble(
                f"{len(shown)}/{group.total}  {names[run.run_id]}  ", state, f"  best {best}"
            )
