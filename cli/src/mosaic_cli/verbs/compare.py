"""`compare`: policies on equal seeds, or trainings over their seeds, with intervals."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mosaic_cli import option
from mosaic_cli.errors import EvaluationFailed, NothingFound, ValueRefused
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
        document, failed = _gathered(client, plan, again=options.again)
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
    from mosaic_cli.comparing.analysing import analyse, require_folder
    from mosaic_cli.comparing.names import find_ids
    from mosaic_cli.comparing.showing import print_trainings
    from mosaic_client.comparing.trainings import find_trainings, training_document
    from mosaic_contracts.comparisons import TrainingResult

    if options.fields() or options.again:
        raise ValueRefused("--episodes, --seed, --environment and --again go with policies.")
    thresholds = dict(_threshold(text) for text in trainings.threshold or [])
    ranges = dict(_score_range(text) for text in trainings.score_range or [])
    require_folder(output)
    with open_client() as client, _refusals():
        runs = find_trainings(client, find_ids(client, words), trainings.tag or [])
        document = training_document(client, runs, thresholds, ranges)
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
        least = float(value)
    except ValueError:
        least = math.nan
    if not math.isfinite(least):
        raise ValueRefused(
            f"--threshold takes a return, e.g. 475 or CartPole-v1=475; not {text!r}."
        )
    return environment, least


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


def _gathered(
    client: "Client", plan: "ComparisonFile", *, again: bool
) -> "tuple[ActorsDocument, bool]":
    """Let the actors act. Returns their returns, and whether one of them failed, which is said."""
    from mosaic_cli.comparing.names import find_named
    from mosaic_cli.comparing.watching import evaluation_bars, say_going_on, stop_evaluations
    from mosaic_client.comparing.policies import PolicyComparison
    from mosaic_client.errors import ClientError

    comparison = PolicyComparison(find_named(client, plan), again)
    try:
        with _refusals(), evaluation_bars(plan.episodes) as bars:
            document = comparison.gather(client, bars)
    except KeyboardInterrupt:
        stop_evaluations(client, comparison.evaluations)
        raise
    except ClientError:
        say_going_on(comparison.evaluations)
        raise
    finally:
        for words in comparison.left_out:
            say(words)
    return document, bool(comparison.left_out)


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn what is wrong with a comparison into faults with an exit code."""
    from mosaic_client.comparing.errors import ComparisonRefused, NoReturns, NothingToCompare

    try:
        yield
    except ComparisonRefused as error:
        raise ValueRefused(str(error)) from error
    except NoReturns as error:
        raise EvaluationFailed(str(error)) from error
    except NothingToCompare as error:
        raise NothingFound(str(error)) from error
