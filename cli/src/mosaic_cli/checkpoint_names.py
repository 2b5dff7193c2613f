"""Checkpoints of a run as a person names them: a path, a name without ending, a step, `best` or `last`."""

from pathlib import PurePosixPath

from mosaic_cli.errors import NothingFound
from mosaic_cli.reference import did_you_mean
from mosaic_client import light, reading
from mosaic_client.stack_connection import StackConnection
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


def run_with_checkpoints(run: light.RunFields) -> str:
    """Id of the run that is meant where a run's checkpoints are: a run that plays has none, but its parent has."""
    return (run.spec.parent if run.spec.kind.plays else None) or run.run_id


def _names(row: light.ArtifactFields) -> set[str]:
    path = PurePosixPath(row.path)
    return {row.path, path.name, path.stem, str(row.step)}
