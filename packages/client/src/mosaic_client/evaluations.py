"""Evaluations as runs: the spec of random actions, and the result that a run recorded."""

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mosaic_client.client import Client
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

    Returns:
        A spec to submit.
    """
    from mosaic_contracts.spec import RunKind, RunSpec  # imports pydantic

    return RunSpec(
        worker="play",
        algorithm="random",
        environment=environment,
        kind=RunKind.EVALUATE,
        episodes=episodes,
        seed=seed,
        parameters={"options": compact_json(options)} if options else {},
    )


def read_result(client: "Client", run: "RunView") -> "EvaluationResult | None":
    """Return the result that an evaluation recorded.

    Args:
        client: of the stack.
        run: a run of kind `evaluate`.

    Returns:
        The newest result; None: it recorded none.
    """
    from mosaic_contracts.evaluations import EVALUATION_RESULT, EvaluationResult

    found = client.events(run.run_id, types=[EVALUATION_RESULT]).events
    return EvaluationResult.model_validate(found[-1]["data"]) if found else None


def compact_json(value: object) -> str:
    """Return a value as one line of strict JSON without spaces.

    Args:
        value: what JSON can hold.
    """
    return json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
