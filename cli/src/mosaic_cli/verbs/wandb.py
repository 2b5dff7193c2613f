"""`wandb`: runs sent to W&B later, and what of them is there."""

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mosaic_cli import option
from mosaic_cli.errors import ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client
from mosaic_cli.wording import LEVEL_STYLE, one_line, plural

if TYPE_CHECKING:
    from mosaic_client import Client, Run
    from mosaic_contracts.runs import RunView
    from mosaic_contracts.sync_options import SyncOptions
    from mosaic_contracts.syncs import SyncPlan, SyncStatus

_LOOK_S = 1.0
Runs = Annotated[
    list[str] | None,
    typer.Argument(metavar="[RUN]...", help="Ids, beginnings of ids, names, or `last` (default)."),
]


@dataclass(frozen=True)
class SyncChoices:
    """Where runs are sent to, and what of them."""

    project: Annotated[
        str | None, typer.Option(help="Project at W&B; default: the run's own, else `mosaic`.")
    ] = None
    entity: Annotated[str | None, typer.Option(help="User or team at W&B.")] = None
    group: Annotated[
        str | None, typer.Option(help="Group at W&B, of runs that did not use W&B.")
    ] = None
    checkpoints: Annotated[
        bool, typer.Option(help="Send checkpoints of runs that did not use W&B.")
    ] = True
    videos: Annotated[bool, typer.Option(help="Send videos of runs that did not use W&B.")] = True
    address: Annotated[
        str | None, typer.Option(metavar="URL", help="W&B server; default: the stack's.")
    ] = None
    http_proxy: Annotated[
        str, typer.Option(metavar="URL", help="HTTP proxy; default: the stack's.")
    ] = ""
    https_proxy: Annotated[
        str, typer.Option(metavar="URL", help="HTTPS proxy; default: the stack's.")
    ] = ""
    again: Annotated[bool, typer.Option("--again", help="Send runs that are at W&B already.")] = (
        False
    )

    def options(self) -> "SyncOptions":
        """As the client takes them."""
        return {
            "project": self.project,
            "entity": self.entity,
            "group": self.group,
            "checkpoints": self.checkpoints,
            "videos": self.videos,
            "address": self.address,
            "http_proxy": self.http_proxy,
            "https_proxy": self.https_proxy,
            "again": self.again,
        }


def wandb() -> None:
    """Send ended runs to W&B, and show what of a run is there."""


def sync(
    choices: SyncChoices,
    runs: Runs = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Agree to what is sent, without being asked.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", "-w", help="Wait until the runs are sent.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Send ended runs to W&B in the background: those tracked offline, and those that never used W&B.

    What would be sent, and where to, is shown first, and nothing is sent before you agree. The key is the secret
    WANDB_API_KEY. A sync that was interrupted is started again by the same command; nothing is sent twice.
    """
    with open_client() as client:
        names = _names(client, runs)
        plans, is_refused = _plans(client, names, choices.options())
        if plans and not yes:
            _ask(plans)
        started = [client.sync(plan.run_id, plan.digest, **choices.options()) for plan in plans]
        if wait:
            started = [_follow(client, view.run_id) for view in started]
        elif not json:
            for plan in plans:
                name = names[plan.run_id]
                say(f"Sending {name} in the background: `./mosaic wandb status {plan.run_id}`.")
    if json:
        emit(started)
    elif wait:
        _say_ends(started)
    is_failed = any(view.state.is_final and view.state != "succeeded" for view in started)
    if is_refused or is_failed:
        raise typer.Exit(ExitCode.RUN_FAILED)


def status(runs: Runs = None, json: option.Json = False) -> None:
    """Show what of a run is at W&B: its page, the state of its upload, and its syncs."""
    with open_client() as client:
        found = _names(client, runs)
        statuses = {run_id: client.syncs(run_id) for run_id in found}
    if json:
        emit([{"run_id": run_id, **_plain(status)} for run_id, status in statuses.items()])
        return
    for run_id, status in statuses.items():
        out.print(f"{found[run_id]} ({run_id})", soft_wrap=True, markup=False)
        for line in _status_lines(status):
            out.print(f"  {line}", soft_wrap=True, markup=False)


def _names(client: "Client", runs: list[str] | None) -> dict[str, str]:
    """The name of each run by its id: several runs may have one name."""
    return {run.run_id: run.name for run in (find_run(client, r) for r in runs or ["last"])}


def _plans(
    client: "Client", names: dict[str, str], options: "SyncOptions"
) -> tuple[list["SyncPlan"], bool]:
    """The plan of each run, and whether one was refused. A run that cannot be sent holds up no other."""
    from mosaic_client import RunLive, SyncImpossible

    found: list[SyncPlan] = []
    is_refused = False
    for run_id, name in names.items():
        try:
            found.append(client.plan_sync(run_id, **options))
        except (RunLive, SyncImpossible) as error:
            if len(names) == 1:
                raise
            is_refused = True
            err.print(f"{name}: {error}", soft_wrap=True, markup=False)
    return found, is_refused


def _ask(plans: list["SyncPlan"]) -> None:
    for plan in plans:
        for line in plan.lines:
            style = LEVEL_STYLE[line.level]
            err.print(f"[{style}]{line.level:8}[/] {line.title}: ", end="")
            err.print(" ".join(part for part in (line.message, line.todo) if part), markup=False)
    say("You agree to:")
    for plan in plans:
        for need in plan.needs:
            say(f"  - {need}")
    if not sys.stdin.isatty():
        raise ValueRefused("Nothing was sent: `--yes` agrees where nobody can be asked.")
    typer.confirm("Go on?", abort=True, err=True)


def _follow(client: "Client", run_id: str) -> "RunView":
    """Wait for the end of a sync, and show what it does."""
    with err.status("Sending ...") as shown:
        while not (view := client.run(run_id)).state.is_final:
            shown.update(_doing(view))
            time.sleep(_LOOK_S)
    return view


def _say_ends(ended: "list[RunView | Run]") -> None:
    for view in ended:
        say(f"{view.name}: {view.state}. {_end_text(view)}".rstrip())
    say(f"{plural(len(ended), 'sync')}. `./mosaic wandb status` shows the pages.")


def _doing(view: "RunView") -> str:
    notes = ". ".join(view.notes)
    return view.waiting_reason or notes or f"{view.state} ..."


def _status_lines(status: "SyncStatus") -> list[str]:
    tracked, upload = status.tracked, status.upload
    if tracked is None and not status.syncs:
        return ["Nothing of it is at W&B. `./mosaic wandb sync` sends it."]
    lines = []
    if tracked is not None:
        is_sent_later = tracked.mode == "offline" and tracked.url is not None
        how = "sent after its end" if is_sent_later else f"tracked {tracked.mode}"
        lines.append(f"page: {tracked.url or 'none yet'} ({how})")
    if upload is not None:
        lines.append(f"upload: {upload.state}" + (f", {upload.error}" if upload.error else ""))
    for view in status.syncs:
        end = f". {text}" if (text := _end_text(view)) else ""
        doing = "" if view.state.is_final else f", {_doing(view)}"
        lines.append(f"sync {view.run_id}: {view.state}{doing}{end}")
    return lines


def _end_text(view: "RunView | Run") -> str:
    """Why a sync ended; of one that failed also the last line that it printed, which says why."""
    if view.end is None:
        return ""
    lines = view.end.last_lines if view.state == "failed" else []
    return " ".join([view.end.message, *(one_line(line) for line in lines[-1:])])


def _plain(status: "SyncStatus") -> dict[str, Any]:
    return status.model_dump(mode="json")
