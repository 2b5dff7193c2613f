"""The worker keeps the contract; its runs are what their seeds decide, can be played, and can be rebuilt."""

import os
from pathlib import Path

from worker import Sb3Worker

from mosaic_gymkit.testing import WorkerRuns, contract_findings
from mosaic_workerkit.testing.recorded import of_type

os.environ["OMP_NUM_THREADS"] = (
    "1"  # PyTorch is imported later: small networks are slower with more
)
SMALL = {"n_steps": 32, "batch_size": 32, "n_epochs": 1, "num_envs": 2, "normalize": True}
RUNS = WorkerRuns(
    Sb3Worker(),
    {
        "algorithm": "ppo",
        "environment": "CartPole-v1",
        "seed": 1,
        "steps": 64,
        "parameters": SMALL,
    },
)


def test_it_keeps_the_contract() -> None:
    """What `./mosaic worker-check` checks."""
    words = ("--algorithm", "ppo", "--only", "train", "--steps", "64")
    assert contract_findings(Path(__file__).parents[1], *words) == ""


def test_a_seed_decides_everything(tmp_path: Path) -> None:
    """The same seed gives the same returns, whatever is recorded."""
    first = RUNS.returns(tmp_path / "first")
    assert RUNS.returns(tmp_path / "full", record="full") == first
    assert RUNS.returns(tmp_path / "other", seed=2) != first


def test_what_was_learned_can_be_played_and_trained_on(tmp_path: Path) -> None:
    """An evaluation of the checkpoint acts in as many episodes as it is asked to; a training begins with it."""
    first = RUNS.train(tmp_path / "trained")
    (saved,) = [event["path"] for event in of_type(first, "checkpoint")]
    checkpoint = str(tmp_path / "trained" / saved)
    result = RUNS.evaluate(tmp_path / "played", checkpoint, episodes=3)
    assert len(result["returns"]) == 3
    assert result["normalized"]
    more = RUNS.train(tmp_path / "more", parameters=SMALL | {"checkpoint": checkpoint})
    assert of_type(more, "checkpoint")


def test_an_algorithm_that_keeps_transitions(tmp_path: Path) -> None:
    """DQN trains, logs curves and saves, too."""
    parameters = {"buffer_size": 1000, "learning_starts": 20}
    events = RUNS.train(tmp_path / "run", algorithm="dqn", steps=300, parameters=parameters)
    assert any(event["name"].startswith("train/") for event in of_type(events, "metric"))
    assert of_type(events, "checkpoint")


def test_an_episode_is_rebuilt(tmp_path: Path) -> None:
    """Every step of a recorded episode comes out the same in a fresh environment."""
    trained = RUNS.train(tmp_path / "trained", record="full")
    result = RUNS.rebuild(tmp_path / "replayed", trained, episode=0)
    assert result["equal"] == result["steps"] > 0
