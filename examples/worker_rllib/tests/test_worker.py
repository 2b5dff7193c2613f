"""The worker keeps the contract; its runs are what their seeds decide, can be played, and can be rebuilt."""

from pathlib import Path

from worker import RllibWorker

from mosaic_gymkit.testing import WorkerRuns, contract_findings
from mosaic_workerkit.testing.recorded import of_type

WORKER = RllibWorker()
SMALL = {"batch_size": 64, "num_epochs": 1}
RUNS = WorkerRuns(
    WORKER,
    {
        "algorithm": WORKER.algorithms[0].id,
        "environment": WORKER.environments[0].id,
        "seed": 1,
        "steps": 128,
        "parameters": SMALL,
    },
)


def test_it_keeps_the_contract() -> None:
    """What `./mosaic worker-check` checks."""
    assert contract_findings(Path(__file__).parents[1], "--steps", "300") == ""


def test_what_was_learned_can_be_played_and_trained_on(tmp_path: Path) -> None:
    """An evaluation of the checkpoint reports its episodes; a training begins with it."""
    checkpoint = RUNS.train_checkpoint(tmp_path / "trained")
    more = RUNS.train(tmp_path / "more", parameters=SMALL | {"checkpoint": checkpoint})
    assert of_type(more, "checkpoint")
    assert len(RUNS.evaluate(tmp_path / "played", checkpoint, episodes=3)["returns"]) == 3


def test_an_episode_is_rebuilt(tmp_path: Path) -> None:
    """Every step of a recorded episode comes out the same in a fresh environment."""
    trained = RUNS.train(tmp_path / "trained", record="full")
    result = RUNS.rebuild(tmp_path / "replayed", trained, episode=0)
    assert result["equal"] == result["steps"] > 0
