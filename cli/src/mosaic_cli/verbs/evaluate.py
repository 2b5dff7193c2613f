"""`evaluate`: how good a checkpoint is, in episodes with given seeds and without a window."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from mosaic_cli import option
from mosaic_cli.checkpoint_names import find_checkpoint
from mosaic_cli.errors import EvaluationFailed, RunNotFound, ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.human_play import is_environment
from mosaic_cli.output import emit, err, out, say
from mosaic_cli.reference import find_run
from mosaic_cli.target import open_client
from mosaic_cli.wording import number, plural
from mosaic_client import light
from mosaic_client.evaluations import random_spec, read_result

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.evaluations import EvaluationResult
    from mosaic_contracts.runs import RunView

EPISODES = 20
SEED = 1


def evaluate(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|ENVIRONMENT",
            help="A run: an id, its beginning, a name or `last`. With --random an environment, e.g. CartPole-v1.",
            show_default=False,
        ),
    ],
    checkpoint: Annotated[
        str | None,
        typer.Argument(
            help="Checkpoint: `best`, `last`, a path, a name without ending (`final`), or a step; "
            "default: `last`."
        ),
    ] = None,
    episodes: Annotated[
        int, typer.Option("--episodes", "-n", min=1, help="Number of episodes.")
    ] = EPISODES,
    seed: Annotated[
        int,
        typer.Option(
            "--seed", "-s", min=0, help="Seed of the first episode; each next one has the next."
        ),
    ] = SEED,
    environment: Annotated[
        str | None,
        typer.Option(
            "--environment", "-e", metavar="ID", help="Environment; default: that of the training."
        ),
    ] = None,
    sampled: Annotated[
        bool,
        typer.Option(
            "--sampled", help="Draw actions as the training did; default: the best or most likely."
        ),
    ] = False,
    random: Annotated[
        bool, typer.Option("--random", help="Random actions in an environment, as a baseline.")
    ] = False,
    json: option.Json = False,
) -> None:
    """Evaluate what a run has learned: mean return with its standard error, and every return.

    The evaluation is a run like any other: `./mosaic replay last --episode worst` shows one of its episodes. Ctrl-C
    stops it. --json prints an EvaluationResult.
    """
    if random and (checkpoint is not None or sampled):
        raise ValueRefused("--random goes with an environment alone, e.g. CartPole-v1.")
    with open_client() as client:
        if random:
            started = client.submit(random_spec(run, episodes, seed))
            what = f"random actions in {run}"
        else:
            view = _run_to_evaluate(client, run)
            path = None if checkpoint is None else find_checkpoint(client, view, checkpoint)
            started = client.play(
                view.run_id,
                path,
                kind="evaluate",
                episodes=episodes,
                seed=seed,
                parameters={"sampled": True} if sampled else {},
                **({} if environment is None else {"environment": environment}),
            )
            what = view.run_id
        say(f"Run {started.run_id} evaluates {what} in {plural(episodes, 'episode')}.")
        if started.waiting_reason:
            say(f"It waits: {started.waiting_reason}")
        ended = _await_end(client, started)
        result = _required_result(client, ended)
    if json:
        emit(result)
    else:
        print_evaluation(result)
    is_whole = result.asked is None or len(result.returns) == result.asked
    raise typer.Exit(ExitCode.DONE if is_whole else ExitCode.CANCELLED)


def _run_to_evaluate(client: "Client", text: str) -> light.RunFields:
    try:
        return find_run(client, text)
    except RunNotFound as error:
        if is_environment(text):
            raise ValueRefused(
                f"{text} is an environment, not a run. For random actions in it: `./mosaic evaluate {text} --random`."
            ) from error
        raise


def _await_end(client: "Client", started: "RunView") -> "RunView":
    """Wait for the end of the run; Ctrl-C stops it."""
    try:
        with err.status("Evaluating ..."):
            return client.wait(started.run_id)
    except KeyboardInterrupt:
        say("Stopping the evaluation ...")
        client.stop(started.run_id)
        raise


def _required_result(client: "Client", run: "RunView") -> "EvaluationResult":
    result = read_result(client, run)
    if result is None:
        how = run.state.value if run.end is None else run.end.message
        raise EvaluationFailed(
            f"{run.run_id} recorded no result: {how} `./mosaic logs {run.run_id}` shows what it printed."
        )
    return result


def how_it_acted(result: "EvaluationResult") -> str:
    """Return in a word what chose the actions."""
    if not result.checkpoint:
        return "random actions"
    return {True: "greedy", False: "sampled", None: "its plans decided"}[result.greedy]


def print_evaluation(result: "EvaluationResult") -> None:
    """Print the mean with its standard error, how the policy acted, and every return."""
    acted = how_it_acted(result)
    steps = "" if result.trained_steps is None else f" after {result.trained_steps:,} steps"
    if result.mean is None:
        out.print(f"{result.algorithm}, {result.environment}{steps}: no episode was complete.")
        return
    error = "" if result.standard_error is None else f" ± {number(result.standard_error)}"
    line = f"{number(result.mean)}{error}"
    count = plural(len(result.returns), "episode")
    out.print(
        Text(line, "bold"), f"({acted}, {count}; {result.algorithm}, {result.environment}{steps})"
    )
    rows = [number(value) for value in result.returns]
    if result.seeds:
        rows = [f"seed {seed}: {row}" for seed, row in zip(result.seeds, rows, strict=True)]
    out.print("  ".join(rows), soft_wrap=True)
