"""The worker keeps the contract; its runs are what their seeds decide, can be played, and can be rebuilt."""

from pathlib import Path

from worker import TableWorker

from mosaic_gymkit.testing import WorkerRuns, contract_findings

WORKER = TableWorker()
RUNS = WorkerRuns(
    WORKER,
    {
        "algorithm": WORKER.algorithms[0].id,
        "environment": WORKER.environments[0].id,
        "seed": 1,
        "steps": 300,
    },
)


def test_it_keeps_the_contract() -> None:
    """What `./mosaic worker-check` checks."""
    assert contract_findings(Path(__file__).parents[1], "--steps", "300") == ""


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    """The same seed gives the same returns, whatever is recorded."""
    first = RUNS.returns(tmp_path / "first")
    assert RUNS.returns(tmp_path / "full", record="full") == first
    assert RUNS.returns(tmp_path / "other", seed=2) != first


def test_what_was_learned_can_be_played(tmp_path: Path) -> None:
    """An evaluation of the checkpoint acts in as many episodes as it is asked to, and reports them."""
    checkpoint = RUNS.train_checkpoint(tmp_path / "trained")
    assert len(RUNS.evaluate(tmp_path / "played", checkpoint, episodes=3)["returns"]) == 3


def test_an_episode_is_rebuilt(tmp_path: Path) -> None:
    """Every step of a recorded episode comes out the same in a fresh environment."""
    trained = RUNS.train(tmp_path / "trained", record="full")
    result = RUNS.rebuild(tmp_path / "replayed", trained, episode=3)
    assert result["equal"] == result["steps"] > 0
