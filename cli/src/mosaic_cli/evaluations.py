"""Evaluations as runs: the spec of random actions, and the result that a run recorded."""

from typing import TYPE_CHECKING, Any

from mosaic_cli.output import json_line

if TYPE_CHECKING:
    from mosaic_client import Client
    from mosaic_contracts.evaluations import EvaluationResult
    from mosaic_contracts.runs import RunView
    from mosaic_contracts.spec import RunSpec


def random_spec(
    environment: str, episodes: int, seed: int, options: dict[str, Any] | None = None
) -> "RunSpec":
    """Return the spec of an evaluation of random actions.

    Args:
        environment: id of the environment.
        episodes: number of episodes.
        seed: of the first one.
        options: arguments of the environment.
    """
    from mosaic_contracts.spec import RunKind, RunSpec  # imports pydantic

    return RunSpec(
        worker="play",
        algorithm="random",
        environment=environment,
        kind=RunKind.EVALUATE,
        episodes=episodes,
        seed=seed,
        parameters={"options": json_line(options)} if options else {},
    )


def read_result(client: "Client", run: "RunView") -> "EvaluationResult | None":
    """Return the result that an evaluation recorded; None: it recorded none."""
    from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult

    found = client.events(run.run_id, types=[EVALUATION_RESULT]).events
    return EvaluationResult.model_validate(found[-1]["data"]) if found else None
