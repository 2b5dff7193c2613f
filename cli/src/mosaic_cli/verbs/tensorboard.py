"""`tensorboard`: TensorBoard with a selection of runs, in the browser."""

import webbrowser
from typing import TYPE_CHECKING, Annotated

import typer

from mosaic_cli import option
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client
from mosaic_cli.wording import plural

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.runs import RunView


def tensorboard(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...", help="Ids, beginnings of ids, names, or `last` (default)."
        ),
    ] = None,
    no_open: Annotated[
        bool, typer.Option("--no-open", help="Print the link without opening a browser.")
    ] = False,
    stop: Annotated[
        bool,
        typer.Option(
            "--stop", help="Stop each TensorBoard that shows one of the runs; without RUN: all."
        ),
    ] = False,
    json: option.Json = False,
) -> None:
    """Open TensorBoard with these runs in the browser.

    The stack serves it on its own address, by a link that is valid for ten minutes. Runs that have not ended grow
    while you look. It ends after 15 minutes without a request.
    """
    with open_client() as client:
        named = [find_run(client, run).run_id for run in runs or ([] if stop else ["last"])]
        if stop:
            _stop(client, set(named), json)
            return
        with err.status("Starting TensorBoard ...") as status:
            entry = client.tensorboard(named, progress=lambda run: status.update(_phase(run)))
    if json:
        emit(entry)
        return
    out.print(entry.url, soft_wrap=True)
    if not no_open and not webbrowser.open(entry.url):
        say("No browser could be opened. Open this link in one; it works for ten minutes.")


def _phase(run: "RunView") -> str:
    waits = f" It waits: {run.waiting_reason}." if run.waiting_reason else ""
    return f"Starting TensorBoard ...{waits}"


def _stop(client: "Client", named: set[str], json: bool) -> None:
    stopped = []
    for entry in client.tensorboards():
        shown = entry.run.spec.dashboard
        if not named or (shown is not None and named & shown.run_ids):
            stopped.append(client.stop(entry.run.run_id))
    if json:
        emit(stopped)
    elif stopped:
        say(f"Stopping {plural(len(stopped), 'TensorBoard')}.")
    else:
        say("No TensorBoard of these runs is there." if named else "No TensorBoard is there.")
