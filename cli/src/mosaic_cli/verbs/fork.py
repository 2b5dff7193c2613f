"""`fork`: a run that goes on from a step of a recorded episode."""

from typing import Annotated, Any, Literal

import typer

from mosaic_cli import option
from mosaic_cli.episode_choice import WantedEpisode, find_episode
from mosaic_cli.human_play import show_play
from mosaic_cli.output import emit, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client
from mosaic_cli.verbs.following import accompany

HUMAN, POLICY = "human", "policy"


def fork(
    run: option.Run,
    episode: option.Episode,
    step: Annotated[
        int,
        typer.Option(
            "--step",
            "-k",
            min=0,
            metavar="K",
            help="The new run goes on after this step; 0: after the reset.",
            show_default=False,
        ),
    ],
    with_: Annotated[
        str,
        typer.Option(
            "--with",
            "-w",
            metavar="WHO",
            help="human: you. policy: the run's own. A checkpoint of another run, as RUN or RUN/PATH.",
        ),
    ] = HUMAN,
    env: option.EpisodeEnv = None,
    attempt: option.Attempt = None,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed",
            "-s",
            min=0,
            help="Seed of what the policy draws, and of episodes that follow; default: the run's own.",
        ),
    ] = None,
    episodes: Annotated[
        int | None,
        typer.Option("--episodes", "-n", min=1, help="Number of episodes; default: this one."),
    ] = None,
    pace: Annotated[
        float | None,
        typer.Option("--pace", metavar="STEPS/S", help="Maximum steps per second."),
    ] = None,
    detach: option.Detach = False,
    json: option.Json = False,
) -> None:
    """Go on from a step of a recorded episode: you, the same policy, or another checkpoint.

    The episode is rebuilt up to that step in a new run, every step is compared with the record, and the new run goes
    on. It fails, and names the first step that differs, if the episode cannot be rebuilt. With `human` the window
    opens at it.
    """
    given: dict[str, Any] = {"seed": seed, "episodes": episodes, "pace": pace}
    overrides = {name: value for name, value in given.items() if value is not None}
    with open_client() as client:
        view = find_run(client, run)
        row = find_episode(client, view.run_id, WantedEpisode(episode, env, attempt))
        actor: Literal["human", "policy"] = "human" if with_ == HUMAN else "policy"
        checkpoint = None
        if with_ not in (HUMAN, POLICY):
            other, slash, path = with_.partition("/")
            checkpoint = f"{find_run(client, other).run_id}{slash}{path}"
        started = client.fork(
            *(view.run_id, row.episode, step),
            actor=actor,
            checkpoint=checkpoint,
            env=row.env,
            attempt=row.attempt,
            **overrides,
        )
        if actor == "policy":
            accompany(client, started, detach, json)
            return
    if detach or json:
        emit(started) if json else out.print(started.run_id)
        return
    say(f"Run {started.run_id} goes on from step {step} of episode {row.episode}.")
    show_play(started.run_id)
