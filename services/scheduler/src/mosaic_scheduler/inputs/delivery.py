"""A run's own copies of what it begins with: read-only, in its folder, which is all that a container sees."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from mosaic_scheduler.errors import InputUnusable, PlacementFailed
from mosaic_scheduler.inputs.checkpoint import RunInput
from mosaic_scheduler.inputs.source import open_inside


def deliver(run_dir: Path, inputs: Sequence[RunInput]) -> None:
    """Copy them. No hard link: the run that made a file could go on writing to it, and so could this one.

    Raises:
        PlacementFailed: one is gone.
        OSError: the disk refused.
    """
    for each in inputs:
        try:
            source = open_inside(run_dir.parent / each.run_id, each.path)
        except InputUnusable as error:
            raise PlacementFailed(
                f"{each.parameter}: {each.reference} cannot be had any more ({error}). Was run {each.run_id} deleted? "
                "Name another checkpoint."
            ) from error
        target = run_dir / each.place
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{target.name}.draft")
        draft.unlink(missing_ok=True)
        with os.fdopen(source, "rb") as file, draft.open("xb") as copy:
            shutil.copyfileobj(file, copy, 2**20)
        draft.chmod(0o444)
        draft.replace(target)
