"""`compare`: policies on equal seeds, or trainings over their seeds, with intervals."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mosaic_cli import option
from mosaic_cli.errors import EvaluationFailed
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, say
from mosaic_cli.target import open_client

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.comparisons import ActorsDocument, ComparisonFile


@dataclass(frozen=True)
class ActorOptions:
    """Options of a comparison of policies; None is left to the file, then to the default."""

    episodes: Annotated[
        int | None, typer.Option("--episodes", "-n", min=1, help="Number of seeds; default 20.")
    ] = None
    seed: Annotated[
        int | None, typer.Option("--seed", "-s", min=0, help="First seed; default 1.")
    ] = None
    environment: Annotated[
        str | None,
        typer.Option("--environment", "-e", help="The environment that all actors must have."),
    ] = None
    again: Annotated[
        bool,
        typer.Option("--again", help="Evaluate again what was evaluated on these seeds before."),
    ] = False

    def fields(self) -> dict[str, Any]:
        """Fields of a comparison file that were given."""
        given = {"episodes": self.episodes, "seed": self.seed, "environment": self.environment}
        return {name: value for name, value in given.items() if value is not None}


def compare(
    actors: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE.yaml|ACTOR...",
            help="A comparison file, or two to six actors: RUN, RUN@CHECKPOINT (last@best), or `random`.",
            show_default=False,
        ),
    ],
    options: ActorOptions,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for result.json, table.md, table.tex and the picture."
        ),
    ] = None,
    json: option.Json = False,
) -> None:
    """Compare policies in episodes with the same seeds: paired differences with intervals.

    Each checkpoint is evaluated by a run of its own, as many at a time as the queue allows. A run that evaluated the
    same checkpoint on the same seeds before is reused. A play gives its recorded episodes with these seeds.
    Ctrl-C stops the runs. --json prints an ActorsResult.
    """
    from mosaic_cli.comparing.analysing import analyse, require_folder
    from mosaic_cli.comparing.plan import comparison_of
    from mosaic_cli.comparing.showing import print_actors
    from mosaic_contracts.comparisons import ActorsResult

    plan = comparison_of(actors, options.fields())
    require_folder(output)
    with open_client() as client:
        document, failed = _acted(client, plan, again=options.again)
    result = analyse(document, output)
    assert isinstance(result, ActorsResult)  # noqa: S101 - the kind of the document
    if json:
        emit(result)
    else:
        print_actors(result)
    if output is not None:
        say(f"Written to {output}: result.json, table.md, table.tex, picture.svg, picture.png.")
    raise typer.Exit(ExitCode.RUN_FAILED if failed else ExitCode.DONE)


def _acted(
    client: "Client", plan: "ComparisonFile", *, again: bool
) -> "tuple[ActorsDocument, bool]":
    """Let the actors act. Returns their returns, and whether one of them failed, which is said."""
    from mosaic_cli.comparing import returns as acts
    from mosaic_cli.comparing.actors import find_actors
    from mosaic_cli.comparing.evaluating import evaluate_all
    from mosaic_contracts.comparisons import ActorsDocument

    actors = find_actors(client, plan)
    sources = [actor.run.run_id for actor in actors if actor.run is not None]
    configs = [acts.config_of(client, run_id) for run_id in sources]
    arguments = [config.get("environment_arguments") for config in configs]
    made_with: dict[str, Any] = next((each for each in arguments if each), {})
    to_evaluate = [actor for actor in actors if not actor.is_recorded]
    evaluations = evaluate_all(client, to_evaluate, plan, made_with, again=again)
    by_name = {each.actor.name: each for each in evaluations}
    found: list[acts.ActorRecord] = []
    failed = False
    for actor in actors:
        evaluation = by_name.get(actor.name)
        if evaluation is None:
            acted: acts.ActorRecord | None = acts.recorded(client, actor, plan)
            problem = f"no complete episode of it has a seed from {plan.seed} to {plan.seed + plan.episodes - 1}."
        else:
            acted = acts.evaluated(client, evaluation)
            problem = evaluation.problem
        if acted is None or not acted.returns.returns:
            failed = True
            say(f"{actor.name} is left out: {problem}")
        else:
            found.append(acted)
    if len(found) < 2:
        raise EvaluationFailed("Fewer than two actors have returns, so that nothing is compared.")
    notes = [note for acted in found for note in acted.notes]
    notes += acts.pairing_notes(found) + acts.environment_notes(found)
    document = ActorsDocument(
        environment=actors[0].environment,
        actors=[acted.returns for acted in found],
        score_range=plan.score_range,
        notes=notes,
    )
    return document, failed
