"""The worker keeps the contract; its runs are what their seeds decide, can be played, and can be rebuilt."""

import subprocess
import sys
from pathlib import Path
from typing import Any

from worker import RllibWorker

from mosaic_gymkit.testing import rebuild_episode
from mosaic_workerkit.testing.recorded import of_type, record_run

WORKER = RllibWorker()
SPEC = {
    "worker": WORKER.id,
    "algorithm": WORKER.algorithms[0].id,
    "environment": WORKER.environments[0].id,
    "seed": 1,
    "steps": 128,
    "parameters": {"batch_size": 64, "num_epochs": 1},
}


def train(folder: Path, **more: Any) -> list[dict[str, Any]]:
    return record_run(folder, WORKER.train, SPEC | more)


def test_it_keeps_the_contract() -> None:
    """What `./mosaic worker-check` checks."""
    command = [sys.executable, "-m", "mosaic_workerkit.check_worker", Path(__file__).parents[1]]
    done = subprocess.run([*command, "--steps", "300"], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_what_was_learned_can_be_played_and_trained_on(tmp_path: Path) -> None:
    """An evaluation of the checkpoint reports its episodes; a training begins with it."""
    saved = of_type(train(tmp_path / "trained"), "checkpoint")[-1]["path"]
    given = {"checkpoint": str(tmp_path / "trained" / saved)}
    assert of_type(train(tmp_path / "more", parameters=SPEC["parameters"] | given), "checkpoint")
    spec = SPEC | {"kind": "evaluate", "episodes": 3, "steps": None, "parameters": given}
    (result,) = of_type(record_run(tmp_path / "played", WORKER.play, spec), "evaluation.result")
    assert len(result["data"]["returns"]) == 3


def test_an_episode_is_rebuilt(tmp_path: Path) -> None:
    """Every step of a recorded episode comes out the same in a fresh environment."""
    trained = train(tmp_path / "trained", record="full")
    result = rebuild_episode(tmp_path / "replayed", WORKER.replay, trained, SPEC, episode=0)
    assert result["equal"] == result["steps"] > 0
