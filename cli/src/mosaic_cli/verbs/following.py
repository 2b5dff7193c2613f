"""What verbs that start a run do with it: follow it to its end, or only say its id."""

from typing import TYPE_CHECKING

import typer

from mosaic_cli.exit_code import code_of_state
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.stack.layout import Layout
from mosaic_cli.summary import print_summary, run_result
from mosaic_cli.wording import one_line

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.runs import RunView


def accompany(client: "Client", run: "RunView", detach: bool, json: bool) -> None:
    """Follow a run that was just started, or only say its id.

    Raises:
        typer.Exit: with the code of its end.
    """
    from mosaic_cli.follow import follow_run  # imports the live connection and its models

    if detach:
        emit(run) if json else out.print(run.run_id)
        if err.is_terminal:  # a script that reads the id needs no advice
            say(
                f"  ./mosaic logs -f {run.run_id}   follow it\n  ./mosaic show {run.run_id}      how it is"
            )
        return
    say(f"Run {run.run_id} ({one_line(run.name)}). Ctrl-C detaches from it.")
    try:
        run = follow_run(client, run, err)
    except KeyboardInterrupt:
        say(
            f"\nDetached; the run goes on.\n  ./mosaic show {run.run_id}   how it is\n"
            f"  ./mosaic logs -f {run.run_id}   follow it again\n  ./mosaic stop {run.run_id}   stop it"
        )
        if json:
            emit(run_result(client.run(run.run_id)))
        return
    if json:
        emit(run_result(run))
    else:
        print_summary(out, run, client.artifacts(run.run_id), Layout.of_environment().home)
    raise typer.Exit(code_of_state(run.state))
