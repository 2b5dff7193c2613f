"""`compare`: policies on equal seeds, or trainings over their seeds, with intervals."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mosaic_cli import option
from mosaic_cli.errors import EvaluationFailed, ValueRefused
from mosaic_cli.exit_code import ExitCode
from mosaic_cli.output import emit, say
from mosaic_cli.target import open_client

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.comparisons import ActorsDocument, ComparisonFile, ScoreRange


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


@dataclass(frozen=True)
class TrainingOptions:
    """Options of a comparison of trainings."""

    training: Annotated[
        bool,
        typer.Option(
            "--training", help="Compare trainings, in groups of algorithm and environment."
        ),
    ] = False
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", "-t", help="With --training: all trainings with this tag."),
    ] = None
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ENV=]RETURN",
            help="With --training: return for the steps that a training needs to reach it.",
        ),
    ] = None
    score_range: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[ENV=]LOW:HIGH",
            help="With --training: returns that count as 0 and 1, for means over environments.",
        ),
    ] = None


def compare(
    actors: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="FILE.yaml|ACTOR...",
            help="A comparison file, or two to six actors: RUN, RUN@CHECKPOINT (last@best), or `random`.",
            show_default=False,
        ),
    ] = None,
    *,
    options: ActorOptions,
    trainings: TrainingOptions,
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
    Ctrl-C stops the runs. --json prints an ActorsResult, with --training a TrainingResult.

    `./mosaic compare --training --tag ablation` compares trainings over their seeds: learning curves, sample efficiency
    and final returns.
    """
    words = actors or []
    if trainings.training:
        _compare_trainings(words, options, trainings, output, json)
        return
    if trainings.tag or trainings.threshold or trainings.score_range:
        raise ValueRefused("--tag, --threshold and --score-range go with --training.")
    from mosaic_cli.comparing.analysing import analyse, require_folder
    from mosaic_cli.comparing.plan import comparison_of
    from mosaic_cli.comparing.showing import print_actors
    from mosaic_contracts.comparisons import ActorsResult

    plan = comparison_of(words, options.fields())
    require_folder(output)
    with open_client() as client:
        document, failed = _acted(client, plan, again=options.again)
    result = analyse(document, output)
    assert isinstance(result, ActorsResult)  # noqa: S101 - the kind of the document
    if json:
        emit(result)
    else:
        print_actors(result)
    _say_files(output)
    raise typer.Exit(ExitCode.RUN_FAILED if failed else ExitCode.DONE)


def _compare_trainings(
    words: list[str],
    options: ActorOptions,
    trainings: TrainingOptions,
    output: Path | None,
    json: bool,
) -> None:
    from mosaic_cli.comparing import trainings as groups
    from mosaic_cli.comparing.analysing import analyse, require_folder
    from mosaic_cli.comparing.showing import print_trainings
    from mosaic_contracts.comparisons import TrainingResult

    if options.fields() or options.again:
        raise ValueRefused("--episodes, --seed, --environment and --again go with policies.")
    thresholds = dict(_threshold(text) for text in trainings.threshold or [])
    ranges = dict(_score_range(text) for text in trainings.score_range or [])
    require_folder(output)
    with open_client() as client:
        runs = groups.trainings(client, words, trainings.tag or [])
        document = groups.training_document(client, runs, thresholds, ranges)
    result = analyse(document, output)
    assert isinstance(result, TrainingResult)  # noqa: S101 - the kind of the document
    if json:
        emit(result)
    else:
        print_trainings(result)
    _say_files(output)


def _threshold(text: str) -> tuple[str, float]:
    environment, _, value = text.rpartition("=")
    try:
        return environment, float(value)
    except ValueError as error:
        raise ValueRefused(
            f"--threshold takes a return, e.g. 475 or CartPole-v1=475; not {text!r}."
        ) from error


def _score_range(text: str) -> "tuple[str, ScoreRange]":
    from mosaic_contracts.comparisons import ScoreRange

    environment, _, value = text.rpartition("=")
    low, _, high = value.partition(":")
    try:
        return environment, ScoreRange(low=float(low), high=float(high))
    except ValueError as error:
        raise ValueRefused(
            f"--score-range takes LOW:HIGH with LOW below HIGH, e.g. 20:500 or CartPole-v1=20:500; not {text!r}."
        ) from error


def _say_files(output: Path | None) -> None:
    if output is not None:
        say(f"Written to {output}: result.json, table.md, table.tex, picture.svg, picture.png.")


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
