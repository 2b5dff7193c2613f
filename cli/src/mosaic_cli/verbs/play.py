"""`play`: a person acts in an environment, or a run shows what it has learned."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mosaic_cli import option
from mosaic_cli.checkpoint_names import find_checkpoint
from mosaic_cli.errors import RunNotFound, ValueRefused
from mosaic_cli.human_play import human_spec, is_environment, offer_choices, show_play
from mosaic_cli.output import emit, out
from mosaic_cli.reference import find_run, parse_parameters
from mosaic_cli.target import open_client
from mosaic_cli.verbs.following import accompany
from mosaic_client import light
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.choices import RecordLevel

if TYPE_CHECKING:
    from mosaic_client import Client

EPISODES = 10


def play(
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="[RUN|ENVIRONMENT]",
            help="A run: an id, its beginning, a name or `last`. An environment, e.g. CartPole-v1: you play it.",
            show_default=False,
        ),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Argument(
            help="Checkpoint: `best`, `last`, a path, a name without ending (`final`), or a step; "
            "default: `last`."
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option(
            "--episodes",
            "-n",
            min=1,
            help="Number of episodes; default: 10 of a run, as many as you like of an environment.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", "-s", help="Seed; default: the run's own.")
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment", "-e", metavar="ID", help="Environment; default: that of the training."
        ),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option(
            "--pace",
            metavar="STEPS/S",
            help="Maximum steps per second, for watching (4 is a good start).",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option("--param", "-p", metavar="KEY=VALUE", help="An argument of the algorithm."),
    ] = None,
    record: Annotated[
        RecordLevel | None, typer.Option("--record", help="How much is recorded; default: replay.")
    ] = None,
    detach: option.Detach = False,
    json: option.Json = False,
) -> None:
    """Play an environment yourself, or show what a run has learned, as a new run with every step recorded.

    `./mosaic play CartPole-v1` starts a play by you, and opens the window at it with the keyboard at the picture.
    Without an argument the window opens, and you choose an environment there.
    `./mosaic events last -f` follows it step by step, `./mosaic beliefs last` explains it where an agent decided.
    """
    if run is None:
        offer_choices()
        return
    given: dict[str, Any] = {
        "seed": seed,
        "environment": environment,
        "pace": pace,
        "record": record,
    }
    overrides = {key: value for key, value in given.items() if value is not None}
    if param:
        overrides["parameters"] = parse_parameters(param)
    with open_client() as client:
        view = _run_named(client, run)
        if view is None:
            if environment is not None:
                raise ValueRefused(
                    f"--environment goes with a run. To play {environment} yourself, `./mosaic play {environment}`."
                )
            fields = overrides | ({} if episodes is None else {"episodes": episodes})
            _play_yourself(client, run, fields, detach, json)
            return
        path = None if checkpoint is None else find_checkpoint(client, view, checkpoint)
        started = client.play(view.run_id, path, episodes=episodes or EPISODES, **overrides)
        accompany(client, started, detach, json)


def _run_named(stack: StackConnection, text: str) -> light.RunFields | None:
    """The run that a word names; None: it names an environment."""
    try:
        return find_run(stack, text)
    except RunNotFound:
        if is_environment(text):
            return None
        raise


def _play_yourself(
    client: "Client", environment: str, fields: dict[str, Any], detach: bool, json: bool
) -> None:
    started = client.submit(human_spec(environment, fields))
    if detach or json:
        emit(started) if json else out.print(started.run_id)
        return
    show_play(started.run_id)
