"""Runs and checkpoints of a comparison as a person names them, found on the stack."""

from collections.abc import Sequence

from mosaic_cli.checkpoint_names import find_checkpoint
from mosaic_cli.reference import find_run
from mosaic_client import Client
from mosaic_contracts.comparisons import ActorWish, ComparisonFile


def find_named(client: Client, plan: ComparisonFile) -> ComparisonFile:
    """Return the plan with whole ids of runs, and paths of checkpoints.

    Raises:
        RunNotFound: a run does not exist.
        NothingFound: it has no such checkpoint.
    """
    return plan.model_copy(update={"actors": [_found(client, wish) for wish in plan.actors]})


def find_ids(client: Client, words: Sequence[str]) -> list[str]:
    """Return the whole ids of runs.

    Raises:
        RunNotFound: a run does not exist.
    """
    return [find_run(client, word).run_id for word in words]


def _found(client: Client, wish: ActorWish) -> ActorWish:
    if wish.run is None:
        return wish
    run = find_run(client, wish.run)
    path = wish.checkpoint
    if path is not None and not run.spec.kind.plays:
        path = find_checkpoint(client, run, path)
    return wish.model_copy(update={"run": run.run_id, "checkpoint": path})
