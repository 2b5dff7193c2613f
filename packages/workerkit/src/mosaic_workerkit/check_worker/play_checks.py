"""Checks a play of what a training has left."""

import shutil
from pathlib import Path
from typing import Any

from mosaic_contracts.launch import INPUTS_DIR
from mosaic_contracts.spec import RunKind
from mosaic_contracts.wire import Checkpoint, Config, Episode, EpisodeStart, Record, Step
from mosaic_workerkit.check_worker.event_checks import steps_fault
from mosaic_workerkit.check_worker.trial_run import TrialOutcome, TrialRun
from mosaic_workerkit.check_worker.worker_under_test import WorkerUnderTest

EPISODES = 2


def play(
    worker: WorkerUnderTest,
    spec: dict[str, Any],
    parameter: str,
    trained: TrialOutcome,
    timeout_s: float,
) -> TrialOutcome | None:
    """Play the newest checkpoint of a training, next to its folder; None when it left none."""
    saved = [record.path for record in trained.records if isinstance(record, Checkpoint)]
    if not saved:
        return None
    run_dir = trained.run_dir.with_name("play")
    place = Path(INPUTS_DIR) / parameter / Path(saved[-1]).name
    (run_dir / place).parent.mkdir(parents=True)
    shutil.copy(trained.run_dir / saved[-1], run_dir / place)
    asked = {name: value for name, value in spec.items() if name != "steps"} | {
        "kind": RunKind.PLAY.value,
        "episodes": EPISODES,
        "parameters": {**spec.get("parameters", {}), parameter: str(place)},
    }
    return TrialRun(worker, asked, run_dir, stop=False, timeout_s=timeout_s, verb="play").run()


def play_fault(records: list[Record], *, has_steps: bool) -> str | None:
    """Return what is missing or unexpected in the events of a play."""
    if not any(isinstance(record, Config) for record in records):
        return "there is no config"
    ends = [record for record in records if isinstance(record, Episode)]
    begins = [record for record in records if isinstance(record, EpisodeStart)]
    if len(ends) != EPISODES or (has_steps and len(begins) != EPISODES):
        return f"{len(begins)} episodes began and {len(ends)} ended, {EPISODES} were asked for"
    steps = sum(isinstance(record, Step) for record in records)
    taken = sum(record.length for record in ends)
    if has_steps and steps != taken:
        return f"{steps} of {taken} steps are recorded"
    if any(isinstance(record, Checkpoint) for record in records):
        return "it saved a checkpoint"
    return steps_fault(records)
