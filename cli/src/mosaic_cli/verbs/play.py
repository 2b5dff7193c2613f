"""`play`: show what a run has learned."""

from pathlib import PurePosixPath
from typing import Annotated, Any

import typer

from mosaic_cli import option
from mosaic_cli.errors import NothingFound
from mosaic_cli.reference import did_you_mean, find_run, parse_parameters
from mosaic_cli.target import open_client
from mosaic_cli.verbs.following import accompany
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.choices import RecordLevel

EPISODES = 10
CHECKPOINT = "checkpoint"


def play(
    run: option.Run,
    checkpoint: Annotated[
        str | None,
        typer.Argument(
            help="Checkpoint: a path, a name without ending (`final`), or a step; default: the "
            "newest."
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option("--episodes", "-n", min=1, help="Number of episodes.")
    ] = EPISODES,
    seed: Annotated[
        int | None, typer.Option("--seed", "-s", help="Seed; default: the run's own.")
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
    """Show what a run has learned, in its own world, as a new run with every step recorded.

    `./mosaic events last -f` follows it step by step, `./mosaic beliefs last` explains it where an agent decided.
    """
    given: dict[str, Any] = {"seed": seed, "pace": pace, "record": record}
    overrides = {key: value for key, value in given.items() if value is not None}
    if param:
        overrides["parameters"] = parse_parameters(param)
    with open_client() as client:
        view = find_run(client, run)
        path = None if checkpoint is None else find_checkpoint(client, view, checkpoint)
        started = client.play(view.run_id, path, episodes=episodes, **overrides)
        accompany(client, started, detach, json)


def find_checkpoint(stack: StackConnection, run: light.RunFields, text: str) -> str:
    """Path of a run's checkpoint by what a person calls it.

    Raises:
        NothingFound: it has none that is called so.
    """
    announced = reading.artifacts(stack, run.run_id)
    known = [row for row in announced if row.kind == CHECKPOINT and row.exists]
    for row in known:
        if text in _names(row):
            return row.path
    paths = [row.path for row in known]
    hint = did_you_mean(text, [PurePosixPath(path).stem for path in paths])
    has = f"It has: {', '.join(paths[-5:])}." if paths else "It has none."
    raise NothingFound(f"{run.run_id} has no checkpoint {text!r}. {hint} {has}".replace("  ", " "))


def _names(row: light.ArtifactFields) -> set[str]:
    path = PurePosixPath(row.path)
    return {row.path, path.name, path.stem, str(row.step)}
