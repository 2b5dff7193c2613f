"""Checkpoints of a run as a person names them: a path, a name without ending, a step, `best` or `last`."""

from pathlib import PurePosixPath

from mosaic_cli.errors import NothingFound
from mosaic_cli.reference import did_you_mean
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection
from mosaic_contracts.checkpoint_words import REASON_BEST, CheckpointState
from mosaic_contracts.choices import BEST, LAST

CHECKPOINT = "checkpoint"


def find_checkpoint(stack: StackConnection, run: light.RunFields, text: str) -> str:
    """Path of a run's checkpoint by what a person calls it; of `best` and `last` the stack knows the path.

    Raises:
        NothingFound: it has none that is called so.
    """
    if text in (BEST, LAST):
        return text
    run_id = run_with_checkpoints(run)
    announced = reading.artifacts(stack, run_id)
    known = [row for row in announced if row.kind == CHECKPOINT and row.exists]
    for row in known:
        if text in _names(row):
            return row.path
    paths = [row.path for row in known]
    hint = did_you_mean(text, [PurePosixPath(path).stem for path in paths])
    has = f"It has: {', '.join(paths[-5:])}." if paths else "It has none."
    raise NothingFound(f"{run_id} has no checkpoint {text!r}. {hint} {has}".replace("  ", " "))


def checkpoint_path(stack: StackConnection, run: light.RunFields, text: str) -> str:
    """Path of a run's checkpoint as `find_checkpoint`; of `best` and `last` the one that is it now.

    Raises:
        NothingFound: it has none that is called so.
    """
    if text not in (BEST, LAST):
        return find_checkpoint(stack, run, text)
    rows = [
        row
        for row in reading.each_checkpoint(stack, run=[run.run_id])
        if row.state is CheckpointState.PRESENT
    ]
    if text == LAST:
        found = max(rows, key=lambda row: (row.step or 0, row.t or 0.0), default=None)
    else:
        rated = [row for row in rows if row.mean_return_20 is not None]
        kept = [row for row in rated if row.reason == REASON_BEST] or rated
        found = max(kept, key=lambda row: row.mean_return_20 or 0.0, default=None)
    if found is None:
        known = "none of its checkpoints has a mean return" if rows else "it has no checkpoint"
        raise NothingFound(f"{run.run_id} has no {text} checkpoint: {known}.")
    return found.path


def run_with_checkpoints(run: light.RunFields) -> str:
    """Id of the run that is meant where a run's checkpoints are: a run that plays has none, but its parent has."""
    return (run.spec.parent if run.spec.kind.plays else None) or run.run_id


def _names(row: light.ArtifactFields) -> set[str]:
    path = PurePosixPath(row.path)
    return {row.path, path.name, path.stem, str(row.step)}
