"""`status`: how the stack is."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.errors import NoStack
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, out, say
from mosaic_cli.stack.layout import Layout
from mosaic_cli.stack.lone_run import LoneRun, going_on_text, lone_runs, unknown_runs, unknown_text
from mosaic_cli.store_size import store_text
from mosaic_cli.target import is_elsewhere, open_stack
from mosaic_cli.wording import size
from mosaic_client import light, reading
from mosaic_client.errors import ClientError

if TYPE_CHECKING:
    from mosaic_cli.stack.state import KeptStack
    from mosaic_contracts.stack import StackFile

STATE_STYLE = {"up": "green", "starting": "cyan", "backing_off": "yellow", "stopped": "dim"}


def status(json: option.Json = False) -> None:
    """Show the state of the stack and its services; of a stack elsewhere, what its gateway reports."""
    layout = Layout.of_environment()
    running = None if is_elsewhere() else _running_here(layout)
    asked = _ask_stack(layout)
    answer, unknown, reason = asked.answer, asked.unknown, asked.reason
    if json:
        emit(
            {
                "running": running is not None or answer is not None,
                "stack": running,
                "status": answer,
                "unknown_runs": [run.run_id for run in unknown],
            }
        )
    elif running is not None:
        out.print(services_table(running))
    if is_elsewhere() and answer is None:
        raise NoStack(reason)
    if running is None and answer is None:
        going_on = [run.run_id for run in lone_runs(layout.home)]
        hint = f"\n{going_on_text(going_on)}" if going_on else ""
        raise NoStack(f"No stack is up for {layout.home}. Start one: ./mosaic up -d{hint}")
    if not json:
        _print_status(answer, reason, asked.now)
        if unknown:
            out.print(f"! {unknown_text(unknown)}", style="yellow", soft_wrap=True)
    if answer is None:
        raise typer.Exit(ExitCode.NO_STACK)


def services_table(stack: "StackFile | light.StackFileFields") -> RenderableType:
    """The services of a stack, one a row."""
    table = Table(box=None, pad_edge=False)
    for heading in ("SERVICE", "STATE", "PID", "RESTARTS", "LAST EXIT", "LOG"):
        table.add_column(heading, overflow="fold")
    for service in stack.services:
        table.add_row(
            service.name,
            Text(service.state.replace("_", " "), STATE_STYLE.get(service.state, "")),
            str(service.pid or "-"),
            str(service.restarts),
            Text(service.last_exit or "-", "yellow" if service.last_exit else ""),
            service.log,
        )
    word = Text("ready", "green") if stack.ready else Text("not ready", "yellow")
    head = Text.assemble(
        "Stack at ",
        (stack.gateway_url, "bold"),
        ", supervisor ",
        str(stack.supervisor_pid),
        ": ",
        word,
    )
    return Group(head, table)


def _running_here(layout: Layout) -> "KeptStack | None":
    """The stack of this data root; None when none is up."""
    from mosaic_cli.stack.state import running_stack  # needs Linux, and a stack elsewhere does not

    return running_stack(layout.home, layout.lock_file)


class _Asked(NamedTuple):
    """What a stack answered."""

    answer: light.StatusFields | None
    unknown: list[LoneRun]
    reason: str
    """Why there is no answer, or no more than that."""
    now: datetime
    """By the stack's clock."""


def _ask_stack(layout: Layout) -> _Asked:
    answer, now = None, datetime.now(UTC)
    try:
        with open_stack() as stack:
            answer = reading.status(stack)
            now = stack.now()
            return _Asked(answer, unknown_runs(stack, layout.home), "", now)
    except ClientError as error:
        return _Asked(answer, [], str(error), now)


def _print_status(answer: light.StatusFields | None, reason: str, now: datetime) -> None:
    if answer is None:
        say(f"The gateway gives no answer: {reason}")
        return
    scheduler: dict[str, Any] = dict(answer.scheduler or {})
    recorder: dict[str, Any] = dict(answer.recorder or {})
    if scheduler:
        out.print(
            f"Runs: {scheduler.get('live', 0)} live, {scheduler.get('queued', 0)} queued; "
            f"{scheduler.get('cpu_in_use', 0)} of {scheduler.get('cpu_limit', 0)} cores given away"
        )
    for volume in scheduler.get("volumes", []):
        level = "" if volume["level"] == "ok" else f", {volume['level']}"
        free = f"{size(volume['free_bytes'])} of {size(volume['total_bytes'])}"
        out.print(
            f"Disk: {free} free at {volume['path']} ({volume['label']}){level}", soft_wrap=True
        )
    if recorder:
        out.print(
            f"Recorder: {recorder.get('lag', 0)} messages behind, {recorder.get('quarantined', 0)} set aside"
        )
    if store := recorder.get("store"):
        out.print(f"Store: {store_text(store, now)}", soft_wrap=True)
    for finding in answer.findings:
        out.print(f"! {finding}", style="yellow")
